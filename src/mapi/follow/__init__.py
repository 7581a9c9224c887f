"""From run directories to the platform: the files are the queue, the server knows how far it has them.

::

    directories → pushing → opened → run            a run of the platform for each directory
                               └→ sources → streams  its files, a piece at a time → queues → deliveries

`front` is what commands call, `live` what a run calls that is brought there while it goes on. `pushing` goes through the runs that `directories` finds, once, and
`watching` again and again; `projects` says where a run belongs. `opened` is one on its way, and reports what
became of it; `run` makes it on the platform and brings its status to what its files say. `sources` are its
files: `streams` delivers the metrics of one producer, whose
`attempts` it tells of; `pieces` cuts whole lines, as many as fit a request, `rows` makes them points and
`texts` lines of the log, both pure; `line_files` reads what is one queue: files of `items`, which are
`spans` and `console`, and `media`, which uploads what rows refer to (`references`); `documents` are
configuration, environment and `pins`.
All that is sent goes through `deliveries`, which tries again while
that helps, and what is not kept as it stands in the files is counted in `losses`. `instants` are times, and
`faults` says what is wrong with one file.

Every line file is one queue (`queues`), and the offset behind a line, with a mark of what stands before
it, is its number (`numbers`): a request says from where to where of the file it is, and the server takes
it only while the queue stands at its beginning (``docs/decisions/0029``). So nothing is remembered here.
Whatever happens to the client, the server, the database or the network, the next push asks where the
queues stand and goes on from there; two at once take turns; a request that comes late, or twice, changes
nothing. A file that is not the one that was delivered, because it was cut, lines were put into it or
another one has its name, begins a queue of its own (`queues.current_queue`), and the queue before takes
nothing any more. It is looked at once more: points and media replace what differs, and lines and spans
are sent where the platform has none that is the same (`known`, by their `likeness`).

**To add a source of items** (spans, console lines, media): write a module with a class that derives from
`line_files.LineFileSource` or `items.ItemSource`, and name it in `sources.Sources`. It makes whole
lines items by a pure function, and sends them by `Queue.send`, which moves the queue to where the server
says that it stands then: always go on from ``queue.offset``, never from where the piece ended. What is not delivered as it stands in the file is counted
(`Losses.add`) with a reason that a person can read; what keeps the run from being whole is
`Losses.fail`. Items that have no queue (documents, the status) are compared with what the platform has,
and sent where they differ.

The room `proof` compares what the platform has with the files, and changes nothing.

This room reads by the library's reading side and asks by `mapi.sdk`; it writes into no run directory,
and knows neither the database nor the log's own rooms.
"""
