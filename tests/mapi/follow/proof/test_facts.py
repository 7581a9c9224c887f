"""What a push says of a run as a whole is proven; what people have changed there since is no difference."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from tests.mapi.follow.test_hostile_files import handmade, row
from tests.mapi.tenants_access import value_of

from mapi.follow.proof.against import prove

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mapi.follow.conftest import Push
    from tests.mapi.tenants import Tenant

    import mapi
    from mapi.follow.proof.against import Proof


def ended(root: Path, *, ahead_seconds: float = 0.0) -> Path:
    """Write a run of one attempt that has ended, with a note, tags and pins."""
    end = {"_attempt_end": 1, "_status": "succeeded", "_time": time.time() - 5 + ahead_seconds}
    path = handmade(root, [row(0, loss=1.0), row(1, loss=0.5), end])
    (path / "about.json").write_text(json.dumps({"notes": "mine", "tags": ["t1", "t2"]}))
    pins = {"best": 0.5, "who": "me", "_pinned": ["best", "who"]}
    (path / "summary.json").write_text(json.dumps(pins))
    return path


def seen(proof: Proof) -> list[tuple[str, str, str]]:
    return [(one.what, one.kind, one.name) for one in proof.differences]


def change(tenant: Tenant, run: str | None, text: str) -> None:
    """Change the platform's rows of a run past every rule."""
    value_of(tenant, text, (run or "").removeprefix("run_"))


def test_when_the_run_and_its_attempt_ended_is_compared(
    api: mapi.Client, pushed: Push, tmp_path: Path, tenant: Tenant
) -> None:
    path = ended(tmp_path)
    (report,) = pushed(path)
    proof = prove(api, path)
    assert (proof.is_equal, proof.notes) == (True, [])
    for by in ("1 microsecond", "-1 hour"):
        change(
            tenant, report.run,
            f"update mapi.runs set finished = finished + interval '{by}' where id = %s",
        )  # fmt: skip
        assert seen(prove(api, path)) == [("fact", "value", "finished")]
        pushed(path)
        assert prove(api, path).is_equal
    change(
        tenant, report.run,
        "update mapi.run_attempts set finished = finished + interval '1 second' where run_id = %s",
    )  # fmt: skip
    assert seen(prove(api, path)) == [("attempt", "value", "attempt 1: ended")]


def test_an_end_ahead_of_the_clock_is_a_note_when_the_present_has_caught_up(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    path = ended(tmp_path, ahead_seconds=3_600)
    (report,) = pushed(path)
    assert prove(api, path).is_equal
    facts = api.runs.get(report.run or "")
    assert facts.finished is not None
    # The file as it is an hour later: its end is past, and later than the platform heard of it.
    end = {"_attempt_end": 1, "_status": "succeeded", "_time": time.time()}
    lines = (path / "metrics.jsonl").read_text().splitlines()
    (path / "metrics.jsonl").write_text("\n".join([*lines[:-1], json.dumps(end)]) + "\n")
    proof = prove(api, path)
    assert proof.is_equal, proof.differences
    assert proof.notes == [
        "1 attempt with a time of its delivery: the clock that wrote it was ahead",
        "it ended ahead of the platform's clock, which says when it heard of it",
    ]


def test_a_run_that_ended_again_ends_there_when_it_did_last(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    path = ended(tmp_path)
    pushed(path)
    more = [
        {"_attempt": 2, "_from_step": None, "_time": time.time() - 3, "_pid": 1},
        row(2, loss=0.25),
        {"_attempt_end": 2, "_status": "succeeded", "_time": time.time() - 1},
    ]
    with (path / "metrics.jsonl").open("a") as file:
        file.write("".join(json.dumps(one) + "\n" for one in more))
    pushed(path)
    proof = prove(api, path)
    assert proof.is_equal, proof.differences


def test_a_name_is_the_files_unless_somebody_changed_it_there(
    api: mapi.Client, pushed: Push, tmp_path: Path, tenant: Tenant
) -> None:
    path = ended(tmp_path)
    (report,) = pushed(path)
    api.runs.update(report.run or "", name="better")
    proof = prove(api, path)
    assert proof.is_equal
    (note,) = proof.notes
    assert note.startswith("it was renamed on the platform")
    assert note.endswith(": better")
    value_of(
        tenant, "delete from mapi.run_events where run_id = %s and type = 'renamed'",
        (report.run or "").removeprefix("run_"),
    )  # fmt: skip
    assert seen(prove(api, path)) == [("fact", "value", "name")]


def test_note_and_tags_that_people_changed_are_notes(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    path = ended(tmp_path)
    (report,) = pushed(path)
    run = report.run or ""
    api.runs.update(run, note="another")
    api.runs.delete_tag(run, "t1")
    api.runs.set_tags(run, {"t2": "two", "more": ""})
    proof = prove(api, path)
    assert proof.is_equal
    assert proof.notes == [
        "its note on the platform is another one than that of its files",
        "the platform has not its tag t1: somebody took it away, or there was no room",
        "its tag t2 has a value on the platform: two",
    ]


def test_a_tag_of_a_pin_is_the_files_whoever_changed_it(
    api: mapi.Client, pushed: Push, tmp_path: Path
) -> None:
    path = ended(tmp_path)
    (report,) = pushed(path)
    run = report.run or ""
    api.runs.set_tags(run, {"summary/who": "you"})
    assert seen(prove(api, path)) == [("tag", "value", "summary/who")]
    api.runs.delete_tag(run, "summary/who")
    assert seen(prove(api, path)) == [("tag", "missing", "summary/who")]
    pushed(path)
    assert prove(api, path).is_equal
