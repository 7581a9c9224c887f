"""Disk: every file of a run directory, its names, its format, its writer and its readers.

`paths` says what is a path at all and where it leads, `names` what may become a file's name, `files`
names every file, and `producers` finds those that are meant; `bounds` is where a run's directory
ends. `lines` is the format, `markers` are its lines about attempts. `writer` appends: `live_file` is
the file it holds open, `descriptor` tells whether that is still ours, `place` opens, repairs and puts
it back, `place_watch` sees when it is gone, `backlog` is what waits for it, `pace` decides when it
buffers, `troubles` is what it says, and `rescue_file` where the lines go that found no room. `parts`
are what rotation set aside, `part_notes` what a writer remembers of it. `reader` reads whole lines and
only those, `joined` makes out damaged line ends; `regular` opens what is a regular file, and `enclosure` keeps
it within one directory for those who hand on what they read; `index` says
where steps lie, `index_document` is how that is written, and `sidecar` keeps it beside the file, with
the `checkpoints` that tell a changed byte. `lock` keeps a second writer out of a stream, `holders` says
who held it, and `thread_locks` are the locks among threads. `journal` holds the open row; `live` is what
the running process shows of a stream; `documents` are the small JSON files that are replaced whole, of
which `summary_document` says what of the rows it knows; `seconds` reads the times in all of them; `output` is where a file goes that a user asked
for.

Nothing above this room writes a line file or a document of a run by itself. The contents of
``media/`` and of the artifact store are written in the rooms of their names.
"""
