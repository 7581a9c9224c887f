"""What a shell offers: what the server that is meant knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.mapi.callers import make_token
from tests.mapi.cli.completing import completed

if TYPE_CHECKING:
    from tests.mapi.tenants import Tenant

    from mapi import Client


def test_the_shell_is_offered_commands_runs_and_fields(
    mapi: Any, run: str, url: str, tenant: Tenant
) -> None:
    mapi("runs", "log-metric", run, "loss=1", "--label", "split=val")
    token = make_token(tenant)
    assert completed(url, token, "mapi ex") == ["experiments"]
    assert {"log-metric", "log-param", "log-line", "log-image", "log-table"} <= set(
        completed(url, token, "mapi runs log-")
    )
    assert completed(url, token, "mapi runs show run_") == [run]
    assert completed(url, token, "mapi runs points x lo") == ["loss"]
    assert completed(url, token, "mapi runs groups lo") == ["loss"]
    assert completed(url, token, "mapi runs ls --columns params.l") == ["params.lr"]
    assert completed(url, token, "mapi runs ls --columns name,metrics.l") == [
        "name,metrics.loss{split=val}"
    ]
    assert completed("http://127.0.0.1:1", token, "mapi runs show run_") == []
    assert completed(url, token, "mapi runs ls --project def") == ["default"]
    assert completed(url, token, "mapi runs groups loss --by params.l") == ["params.lr"]
    assert {"export", "import", "groups", "spans"} <= set(completed(url, token, "mapi runs "))
    assert {"limits", "usage"} <= set(completed(url, token, "mapi "))
    mapi("runs", "rm", run)
    assert completed(url, token, "mapi runs restore run_") == [run]
    assert completed(url, token, "mapi runs show run_") == []


def test_a_field_that_falls_is_offered_where_an_order_is_asked_for(
    mapi: Any, run: str, url: str, tenant: Tenant
) -> None:
    mapi("runs", "log-metric", run, "loss=1")
    token = make_token(tenant)
    assert completed(url, token, "mapi runs ls --sort -metrics.l") == ["-metrics.loss"]
    assert completed(url, token, "mapi runs ls --sort name,-metrics.l") == ["name,-metrics.loss"]
    assert completed(url, token, "mapi runs ls --sort -name,-cr") == ["-name,-created"]
    assert completed(url, token, "mapi runs ls --sort = -metrics.l") == ["-metrics.loss"]
    assert "-created" in completed(url, token, "mapi runs ls --sort -")
    assert completed(url, token, "mapi views create v --sort -cr") == ["-created"]
    # Elsewhere a minus begins an option, and columns do not fall.
    assert completed(url, token, "mapi runs ls --sort created --col") == ["--columns"]
    assert completed(url, token, "mapi runs ls --trashed --col") == ["--columns"]
    assert completed(url, token, "mapi runs ls --columns -cr") == []
    assert completed(url, token, "mapi runs ls --sort --col") == ["--columns"]


def test_labels_tags_streams_and_ranks_are_offered(
    mapi: Any, api: Client, run: str, url: str, tenant: Tenant
) -> None:
    from mapi import Producer

    mapi("runs", "log-metric", run, "loss=1", "acc=1", "--label", "split=val")
    mapi("runs", "tag", run, "stage=final")
    producer = Producer(stream="data", rank=3)
    api.runs.log_metrics(run, {"wait": 1.0}, step=0, producer=producer)
    token = make_token(tenant)
    assert completed(url, token, f"mapi runs metrics {run} --label sp") == ["split=val"]
    assert completed(url, token, f"mapi runs points {run} loss --label sp") == ["split=val"]
    assert completed(url, token, f"mapi runs log-metric {run} x=1 --label sp") == ["split=val"]
    assert completed(url, token, f"mapi runs tag {run} --delete st") == ["stage"]
    assert completed(url, token, f"mapi runs compare {run} {run} --keys loss,a") == ["loss,acc"]
    assert completed(url, token, f"mapi runs spans {run} --stream d") == ["data"]
    assert completed(url, token, f"mapi runs spans {run} --rank ") == ["0", "3"]
    assert completed(url, token, "mapi runs spans run_1 --rank ") == []
