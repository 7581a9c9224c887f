"""Disk: every file of a run directory, its names, its format, its writer and its readers.

`files` names every file; `lines` is the format; `writer` appends, `reader` reads whole lines and
only those; `index` says where steps lie; `lock` keeps a second writer out; `journal` holds the open
row; `documents` are the small JSON files that are replaced whole. Nothing above this room opens a
file of a run by itself.
"""
