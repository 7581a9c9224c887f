"""Documents, params and pins: equal after a push, and each change on the platform is seen."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.tenants_access import value_of

import expr_tracker as et
from mapi.follow.proof.against import prove

if TYPE_CHECKING:
    from tests.mapi.follow.conftest import Push
    from tests.mapi.tenants import Tenant

    import mapi

CONFIG: dict[str, Any] = {"lr": 0.1, "a": {"b": [1, math.nan]}, "text": "nul\0", "big": 1e300}


def configured(root: Path, config: dict[str, Any], **about: Any) -> Path:
    run = et.init(project="p", name="r", dir=root, config=config, system_metrics=False, **about)
    et.log({"loss": 1.0})
    run.summary["best"] = 0.5
    run.summary["word"] = "good"
    et.finish()
    return Path(run.dir)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return configured(tmp_path, CONFIG)


def test_documents_params_and_pins_are_equal_after_a_push(
    api: mapi.Client, pushed: Push, run: Path
) -> None:
    pushed(run)
    proof = prove(api, run)
    assert (proof.differences, proof.is_equal) == ([], True)
    assert proof.compared["document"] == 2
    assert proof.compared["param"] == 4
    assert (proof.compared["scalar"], proof.compared["tag"]) == (1, 1)


def test_a_param_that_came_first_is_no_difference_and_the_document_is_the_newest(
    api: mapi.Client, pushed: Push, run: Path, tmp_path: Path
) -> None:
    pushed(run)
    configured(tmp_path, CONFIG | {"lr": 0.2}, resume="must")
    missing = prove(api, run)
    assert ("document", "value", "config: lr") in {
        (one.what, one.kind, one.name) for one in missing.differences
    }
    pushed(run)
    proof = prove(api, run)
    assert proof.is_equal, proof.differences
    assert "1 param as an earlier attempt had it: what came first stays" in proof.notes


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            "update mapi.run_params set text = '0.2' where run_id = %s and key = 'lr'",
            ("param", "value", "lr"),
        ),
        (
            "delete from mapi.run_params where run_id = %s and key = 'lr'",
            ("param", "missing", "lr"),
        ),
        (
            "update mapi.run_metric_summary set last_value = 0.25 where run_id = %s and is_scalar",
            ("scalar", "value", "best"),
        ),
        (
            "update mapi.run_tags set text = 'bad' where run_id = %s",
            ("tag", "value", "summary/word"),
        ),
    ],
)
def test_one_change_is_seen(
    api: mapi.Client,
    pushed: Push,
    run: Path,
    tenant: Tenant,
    statement: str,
    expected: tuple[str, str, str],
) -> None:
    (report,) = pushed(run)
    value_of(tenant, statement, (report.run or "").removeprefix("run_"))
    (found,) = prove(api, run).differences
    assert (found.what, found.kind, found.name) == expected


def test_a_document_that_was_put_by_others_is_seen(
    api: mapi.Client, pushed: Push, run: Path
) -> None:
    (report,) = pushed(run)
    api.runs.put_environment(report.run or "", {"host": "another"})
    api.runs.log_params(report.run or "", {"theirs": 1})
    found = {(one.what, one.kind, one.name) for one in prove(api, run).differences}
    assert ("document", "value", "environment: host") in found
    assert ("param", "extra", "theirs") in found
