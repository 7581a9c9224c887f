"""What is known of the run as a whole: status, beginning, end, name, note, tags.

Status, beginning and end are what the files say, whoever changes them there. The name, the note and the
tags a run is only made with: people change them on the platform. Of a name the platform keeps who changed
it, so one that nobody changed has to be the files'. Of a note and of tags it tells nobody that: others than
the files' are notes, and no difference.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from expr_tracker.history.status import status_of
from mapi.follow.instants import instant_of
from mapi.follow.proof.differences import Difference, shown_text
from mapi.follow.run import AS_FILES_SAY, ENDS, end_of
from mapi.wire.enums import LifeKind, RunStatus

if TYPE_CHECKING:
    from datetime import datetime

    from mapi.follow.directories import RunDirectory
    from mapi.follow.proof.differences import Differences
    from mapi.sdk.synchronous.runs import Runs
    from mapi.wire.runs import RunFacts

__all__ = ["compare_facts"]

#: Between an end that the platform's own clock said and the entry of it in the run's life: a database may be
#: on another machine.
_HEARD: Final = timedelta(seconds=2)


def compare_facts(
    runs: Runs, facts: RunFacts, directory: RunDirectory, *, differences: Differences
) -> None:
    """Compare what is known of the run as a whole.

    Args:
        runs: of a client.
        facts: what the platform says.
        directory: what the files say.
        differences: takes in what is found.
    """
    status: str = status_of(directory.path)
    _compare_status(facts, status, differences)
    _compare_beginning(facts, directory, differences)
    if status in ENDS and _is_as_files_say(facts, status):
        _compare_end(runs, facts, directory, differences=differences)
    if directory.has_name:
        _compare_name(runs, facts, directory, differences=differences)
    _compare_about(runs, facts, directory, differences=differences)
    if facts.trashed is not None:
        differences.note("", "it is in the trash of the platform")
    if status == "running":
        differences.note("", "it goes on: what was not pushed yet is missing")


def _compare_status(facts: RunFacts, status: str, differences: Differences) -> None:
    differences.compare("fact")
    if facts.status is RunStatus.CANCELLED and facts.reason != AS_FILES_SAY:
        differences.note(
            "", f"it was cancelled on the platform and stays so; its files say that it is {status}"
        )
    elif facts.status.value != status:
        _add(differences, "status", mine=status, theirs=facts.status.value)


def _is_as_files_say(facts: RunFacts, status: str) -> bool:
    is_by_hand = facts.status is RunStatus.CANCELLED and facts.reason != AS_FILES_SAY
    return facts.status.value == status and not is_by_hand


def _compare_beginning(facts: RunFacts, directory: RunDirectory, differences: Differences) -> None:
    began = instant_of(directory.created)
    if began is None:
        return
    differences.compare("fact")
    if facts.started == facts.created < began:
        differences.note(
            "", "it began ahead of the platform's clock, which says when it heard of it"
        )
    elif facts.started != began:
        _add(differences, "started", mine=began, theirs=facts.started)


def _compare_end(
    runs: Runs, facts: RunFacts, directory: RunDirectory, *, differences: Differences
) -> None:
    """Compare when a run ended that has."""
    ended = instant_of(end_of(directory.path))
    if ended is None:
        return
    differences.compare("fact")
    if facts.finished == ended:
        return
    if ended < (facts.started or facts.created):
        differences.note(
            "", "it ended before it began, by its files: the platform says when it heard of it"
        )
    elif (
        facts.finished is not None
        and _was_heard_at(runs, facts, facts.finished)
        and facts.finished < ended
    ):
        differences.note(
            "", "it ended ahead of the platform's clock, which says when it heard of it"
        )
    else:
        _add(differences, "finished", mine=ended, theirs=facts.finished)


def _was_heard_at(runs: Runs, facts: RunFacts, time: datetime) -> bool:
    """Say whether the platform heard of the run's end at a time."""
    heard = [
        one.time
        for one in runs.life(facts.id)
        if one.kind is LifeKind.STATUS and one.after == facts.status.value
    ]
    return bool(heard) and abs(heard[-1] - time) <= _HEARD


def _compare_name(
    runs: Runs, facts: RunFacts, directory: RunDirectory, *, differences: Differences
) -> None:
    """Compare the name that the run was made with."""
    differences.compare("fact")
    if facts.name == directory.name:
        return
    renamed = [one for one in runs.life(facts.id) if one.kind is LifeKind.RENAMED]
    if renamed and renamed[0].before == directory.name:
        by = f" by {renamed[-1].user}" if renamed[-1].user else ""
        differences.note("", f"it was renamed on the platform{by}: {shown_text(facts.name)}")
        return
    _add(differences, "name", mine=directory.name, theirs=facts.name)


def _compare_about(
    runs: Runs, facts: RunFacts, directory: RunDirectory, *, differences: Differences
) -> None:
    """Note where note and tags are others."""
    for change in directory.changes:
        differences.note("", change)
    if directory.note and facts.note != directory.note:
        differences.note("", "its note on the platform is another one than that of its files")
    there = runs.tags(facts.id) if directory.tags else {}
    for tag in directory.tags:
        if tag not in there:
            differences.note(
                "",
                f"the platform has not its tag {shown_text(tag)}: somebody took it away, or there was no room",
            )
        elif there[tag]:
            differences.note(
                "",
                f"its tag {shown_text(tag)} has a value on the platform: {shown_text(there[tag])}",
            )


def _add(differences: Differences, name: str, *, mine: object, theirs: object) -> None:
    differences.add(
        Difference(
            "fact",
            "value",
            "",
            name,
            files=shown_text(str(mine)),
            platform=shown_text(str(theirs)),
        )
    )
