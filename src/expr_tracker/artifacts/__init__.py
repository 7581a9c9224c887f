r"""Artifacts: named, numbered, content-addressed sets of files that runs make and use.

::

    <project>/artifacts/
        index.jsonl           every version and every move of an alias, one line each (`index`)
        .lock                 held for the short moments in which the store changes
        .incoming/            copies that are being made; never read, cleaned when their maker died
        <name>/v<N>/<files>   one folder per version, there only when it is complete

A file is hashed while it is copied, so the digest names the bytes that were stored, whatever
happened to the original since. A finished folder is renamed into place and only then listed: a
process that is killed at any instant leaves no version behind, or a whole one.

`names` says what artifacts, aliases and versions may be called; `entries` resolves the paths of
files, the only code that does; `copying` moves bytes and `snapshot` takes the files of a version;
`staging` owns ``.incoming`` and the lock, `index` the list, and `registry` changes both together;
`selection` finds the version that a text means; `verification` compares what is stored with what
was listed. `artifact` is what users hold, `store` what a run holds.
This room fetches nothing over a network: a remote reference is only a name.
"""

from __future__ import annotations

from expr_tracker.artifacts.artifact import Artifact
from expr_tracker.artifacts.entries import Entry
from expr_tracker.artifacts.store import ArtifactStore, StoreMode, find_store
from expr_tracker.artifacts.verification import Problem, Verification

__all__ = [
    "Artifact",
    "ArtifactStore",
    "Entry",
    "Problem",
    "StoreMode",
    "Verification",
    "find_store",
]
