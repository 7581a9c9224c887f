"""Every route of the interface is reached by the client, in a type, against a live server."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING, Any

import pytest
from tests.mapi.api.media_calls import png
from tests.mapi.sdk.asking import METRICS_TOKEN
from tests.mapi.storing import temporary_objects

from mapi.api.app import build_app
from mapi.database.door import Database
from mapi.sdk.asynchronous.transport import AsyncTransport
from mapi.sdk.points import Points
from mapi.sdk.synchronous.transport import Transport
from mapi.sdk.tables import FoundPage
from mapi.wire import (
    administration,
    comparison,
    events,
    experiments,
    media,
    metrics,
    notes,
    parsing,
    runs,
)
from mapi.wire.sessions import SessionFacts

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.mapi.sdk.asking import Asking

#: What only browsers do: they sign in with a form and have a cookie, programs have a token.
OF_BROWSERS = {
    ("GET", "/"),
    ("POST", "/sign-out"),
    ("GET", "/sign-in"),
    ("POST", "/sign-in"),
    ("GET", "/sign-in/oidc"),
    ("GET", "/sign-in/oidc/callback"),
    ("POST", "/v1/session"),
    ("DELETE", "/v1/session"),
}


@dataclass
class World:
    """What a call can be about."""

    ask: Asking

    def __post_init__(self) -> None:
        self.run = self.ask("runs.create", name="a", params={"lr": 1}, tags={"team": "ads"}).id
        self.ask("runs.log_series", self.run, "loss", [1.0, 0.5])

    @property
    def trashed(self) -> Any:
        self.ask("runs.delete", self.run)
        return self.run

    @property
    def ended(self) -> Any:
        self.ask("runs.update", self.run, status="failed")
        return self.run

    @property
    def other(self) -> str:
        found: str = self.ask("runs.create", params={"lr": 2}).id
        return found

    @property
    def item(self) -> Any:
        return self.ask("runs.log_image", self.run, "picture", png())

    @property
    def experiment(self) -> Any:
        return self.ask("experiments.create", "one")

    @property
    def view(self) -> Any:
        return self.ask("views.create", "one")

    @property
    def attempt(self) -> Any:
        self.ask("runs.begin_attempt", self.run, 1)
        return self.run

    @property
    def told(self) -> Any:
        """A run with documents."""
        self.ask("runs.put_config", self.run, {"a": 1})
        self.ask("runs.put_environment", self.run, {"python": "3"})
        return self.run

    @property
    def timed(self) -> Any:
        """A run with a span and a line."""
        self.ask(
            "runs.log_spans",
            self.run,
            [{"name": "s", "start_ns": 1_790_000_000_000_000_000, "duration_ns": 2}],
        )
        self.ask("runs.log_line", self.run, "hello")
        return self.run

    @property
    def file(self) -> io.BytesIO:
        found = io.BytesIO()
        self.ask("runs.export", found, run=self.run)
        found.seek(0)
        return found


@dataclass
class Reach:
    """How a route is reached, and in which type its answer comes."""

    call: Callable[[Asking, World], Any]
    kind: Any = NoneType
    is_step: bool = False
    """Whether it is a step on the way of a call, not its end."""


REACHED: dict[tuple[str, str], Reach] = {
    ("GET", "/healthz"): Reach(lambda ask, _: ask("server.check_alive")),
    ("GET", "/readyz"): Reach(lambda ask, _: ask("server.readiness"), dict),
    ("GET", "/metrics"): Reach(lambda ask, _: ask("server.meters", token=METRICS_TOKEN), str),
    ("GET", "/v1/openapi.json"): Reach(lambda ask, _: ask("server.description"), dict),
    ("GET", "/v1/session"): Reach(lambda ask, _: ask("session"), SessionFacts),
    ("GET", "/v1/tokens"): Reach(lambda ask, _: ask("tokens.list"), [administration.TokenFacts]),
    ("POST", "/v1/tokens"): Reach(
        lambda ask, _: ask("tokens.create", "t", ["runs:read"], is_service=True),
        administration.TokenMade,
    ),
    ("DELETE", "/v1/tokens/{token}"): Reach(
        lambda ask, _: ask("tokens.revoke", ask("tokens.create", "t", ["runs:read"]))
    ),
    ("GET", "/v1/members"): Reach(
        lambda ask, _: ask("members.set", "anna", "viewer") and ask("members.list"),
        [administration.MemberFacts],
    ),
    ("PUT", "/v1/members"): Reach(
        lambda ask, _: ask("members.set", "anna", "runner", project="default"),
        administration.MemberFacts,
    ),
    ("DELETE", "/v1/members"): Reach(
        lambda ask, _: ask("members.set", "anna", "admin") and ask("members.remove", "anna")
    ),
    ("GET", "/v1/projects"): Reach(
        lambda ask, _: ask("projects.list"), [administration.ProjectFacts]
    ),
    ("POST", "/v1/projects"): Reach(
        lambda ask, _: ask("projects.create", "other"), administration.ProjectFacts
    ),
    ("GET", "/v1/limits"): Reach(lambda ask, _: ask("limits.get"), administration.LimitsAnswer),
    ("PUT", "/v1/limits"): Reach(
        lambda ask, _: ask("limits.set", {"tags": 7, "points": None}, project="default"),
        administration.LimitsAnswer,
    ),
    ("GET", "/v1/usage"): Reach(lambda ask, _: ask("limits.usage"), administration.UsageAnswer),
    ("GET", "/v1/retention"): Reach(
        lambda ask, _: ask("limits.retention"), administration.RetentionAnswer
    ),
    ("GET", "/v1/audit"): Reach(
        lambda ask, _: ask("members.set", "anna", "viewer") and ask("audit.list"),
        [administration.AuditEntry],
    ),
    ("GET", "/v1/events"): Reach(lambda ask, _: ask.first("runs.changes"), events.ProjectFrame),
    ("GET", "/v1/runs"): Reach(lambda ask, _: ask("runs.page", trashed=True), FoundPage),
    ("POST", "/v1/runs"): Reach(lambda ask, _: ask("runs.create").facts, runs.RunFacts),
    ("POST", "/v1/runs/search"): Reach(lambda ask, _: ask("runs.page"), FoundPage),
    ("GET", "/v1/runs/fields"): Reach(lambda ask, _: ask("runs.fields", "l"), runs.RunFields),
    ("POST", "/v1/search/parse"): Reach(
        lambda ask, _: ask("search.parse", "params.lr > 1"), parsing.ParsedFilter
    ),
    ("GET", "/v1/runs/{run}"): Reach(lambda ask, world: ask("runs.get", world.run), runs.RunFacts),
    ("PATCH", "/v1/runs/{run}"): Reach(
        lambda ask, world: ask("runs.update", world.run, name="b"), runs.RunFacts
    ),
    ("DELETE", "/v1/runs/{run}"): Reach(lambda ask, world: ask("runs.delete", world.run)),
    ("GET", "/v1/runs/{run}/life"): Reach(
        lambda ask, world: ask("runs.life", world.ended), [runs.LifeEntry]
    ),
    ("POST", "/v1/runs/{run}/cancel"): Reach(
        lambda ask, world: ask("runs.cancel", world.run), runs.RunFacts
    ),
    ("POST", "/v1/runs/{run}/retry"): Reach(
        lambda ask, world: ask("runs.retry", world.ended).facts, runs.RunFacts
    ),
    ("POST", "/v1/runs/{run}/restore"): Reach(
        lambda ask, world: ask("runs.restore", world.trashed), runs.RunFacts
    ),
    ("POST", "/v1/runs/{run}/purge"): Reach(
        lambda ask, world: ask("runs.purge", world.trashed), administration.Deleted
    ),
    ("POST", "/v1/runs/{run}/heartbeat"): Reach(
        lambda ask, world: ask("runs.heartbeat", world.run), runs.Heartbeat
    ),
    ("GET", "/v1/runs/{run}/events"): Reach(
        lambda ask, world: ask.first("runs.events", world.run), events.StatusFrame
    ),
    ("POST", "/v1/runs/{run}/attempts"): Reach(
        lambda ask, world: ask("runs.begin_attempt", world.run, 2, from_step=1), runs.AttemptFacts
    ),
    ("PATCH", "/v1/runs/{run}/attempts"): Reach(
        lambda ask, world: ask("runs.end_attempt", world.attempt, 1, "failed"), runs.AttemptFacts
    ),
    ("GET", "/v1/runs/{run}/attempts"): Reach(
        lambda ask, world: ask("runs.attempts", world.attempt), [runs.AttemptFacts]
    ),
    ("GET", "/v1/runs/{run}/budgets"): Reach(
        lambda ask, world: ask("runs.budgets", world.timed), dict
    ),
    ("GET", "/v1/runs/{run}/writers"): Reach(
        lambda ask, world: ask("runs.writers", world.timed), dict
    ),
    ("PUT", "/v1/runs/{run}/config"): Reach(
        lambda ask, world: ask("runs.put_config", world.run, {"a": 1})
    ),
    ("GET", "/v1/runs/{run}/config"): Reach(
        lambda ask, world: ask("runs.config", world.told), dict
    ),
    ("PUT", "/v1/runs/{run}/environment"): Reach(
        lambda ask, world: ask("runs.put_environment", world.run, {"a": 1})
    ),
    ("GET", "/v1/runs/{run}/environment"): Reach(
        lambda ask, world: ask("runs.environment", world.told), dict
    ),
    ("GET", "/v1/runs/{run}/documents"): Reach(
        lambda ask, world: ask("runs.documents", world.told), [notes.DocumentPlace]
    ),
    ("POST", "/v1/runs/{run}/metrics"): Reach(
        lambda ask, world: ask("runs.log_metric", world.run, "acc", 1), metrics.BatchAnswer
    ),
    ("GET", "/v1/runs/{run}/metrics"): Reach(
        lambda ask, world: ask("runs.metrics", world.run), [metrics.SeriesSummary]
    ),
    ("GET", "/v1/runs/{run}/metrics/points"): Reach(
        lambda ask, world: ask("runs.points", world.run, "loss"), Points
    ),
    ("GET", "/v1/runs/{run}/metrics/columns"): Reach(
        lambda ask, world: ask("runs.columns", world.run), [Points]
    ),
    ("POST", "/v1/runs/{run}/metrics/corrections"): Reach(
        lambda ask, world: ask("runs.correct_series", world.run, "loss", [7], steps=[1]),
        metrics.BatchAnswer,
    ),
    ("POST", "/v1/runs/{run}/corrections"): Reach(
        lambda ask, world: ask("runs.delete_param", world.run, "lr", reason="wrong"),
        administration.Deleted,
    ),
    ("POST", "/v1/runs/{run}/params"): Reach(
        lambda ask, world: ask("runs.log_params", world.run, {"b": 2}), metrics.BatchAnswer
    ),
    ("GET", "/v1/runs/{run}/params"): Reach(
        lambda ask, world: ask("runs.params", world.run), {str: notes.ParamFacts}
    ),
    ("PUT", "/v1/runs/{run}/tags"): Reach(
        lambda ask, world: ask("runs.set_tags", world.run, {"b": "2"}), metrics.BatchAnswer
    ),
    ("GET", "/v1/runs/{run}/tags"): Reach(lambda ask, world: ask("runs.tags", world.run), dict),
    ("DELETE", "/v1/runs/{run}/tags/{key}"): Reach(
        lambda ask, world: ask("runs.delete_tag", world.run, "team")
    ),
    ("POST", "/v1/runs/{run}/logs"): Reach(
        lambda ask, world: ask("runs.log_line", world.run, "hello"), metrics.BatchAnswer
    ),
    ("GET", "/v1/runs/{run}/logs"): Reach(
        lambda ask, world: ask("runs.lines", world.timed), [notes.LogLineFacts]
    ),
    ("POST", "/v1/runs/{run}/spans"): Reach(
        lambda ask, world: ask(
            "runs.log_spans",
            world.run,
            [{"name": "s", "start_ns": 1_790_000_000_000_000_000, "duration_ns": 2}],
        ),
        metrics.BatchAnswer,
    ),
    ("GET", "/v1/runs/{run}/spans"): Reach(
        lambda ask, world: ask("runs.spans", world.timed), [notes.SpanFacts]
    ),
    ("POST", "/v1/runs/{run}/media"): Reach(
        lambda ask, world: ask("runs.log_image", world.run, "a", png()), media.MediaFacts
    ),
    ("GET", "/v1/runs/{run}/media"): Reach(
        lambda ask, world: world.item and ask("runs.media", world.run), [media.MediaFacts]
    ),
    ("POST", "/v1/runs/{run}/media/uploads"): Reach(
        lambda ask, world: ask("runs.upload_media", world.run, "a", png()),
        media.MediaFacts,
        is_step=True,
    ),
    ("POST", "/v1/uploads"): Reach(
        lambda ask, world: ask("runs.upload_media", world.run, "a", png()),
        media.MediaFacts,
        is_step=True,
    ),
    ("GET", "/v1/runs/{run}/media/{media}/content"): Reach(
        lambda ask, world: ask("runs.media_content", world.run, world.item), bytes
    ),
    ("GET", "/v1/runs/{run}/export"): Reach(
        lambda ask, world: ask("runs.export", io.BytesIO(), run=world.run), int
    ),
    ("GET", "/v1/export/runs"): Reach(lambda ask, _: ask("runs.export", io.BytesIO()), int),
    ("POST", "/v1/import"): Reach(
        lambda ask, world: ask("runs.import_file", world.file), administration.ImportAnswer
    ),
    ("GET", "/v1/run-compare"): Reach(
        lambda ask, world: ask("runs.compare", world.run, world.other), comparison.Comparison
    ),
    ("GET", "/v1/run-groups"): Reach(
        lambda ask, _: ask("runs.groups", "loss", by="params.lr"), comparison.RunGroups
    ),
    ("GET", "/v1/experiments"): Reach(
        lambda ask, world: world.experiment and ask("experiments.list"),
        [experiments.ExperimentFacts],
    ),
    ("POST", "/v1/experiments"): Reach(
        lambda ask, _: ask("experiments.create", "a"), experiments.ExperimentFacts
    ),
    ("GET", "/v1/experiments/{experiment}"): Reach(
        lambda ask, world: ask("experiments.get", world.experiment), experiments.ExperimentFacts
    ),
    ("PATCH", "/v1/experiments/{experiment}"): Reach(
        lambda ask, world: ask("experiments.update", world.experiment, name="b"),
        experiments.ExperimentFacts,
    ),
    ("DELETE", "/v1/experiments/{experiment}"): Reach(
        lambda ask, world: ask("experiments.delete", world.experiment)
    ),
    ("POST", "/v1/experiments/{experiment}/archive"): Reach(
        lambda ask, world: ask("experiments.archive", world.experiment),
        experiments.ExperimentFacts,
    ),
    ("POST", "/v1/experiments/{experiment}/unarchive"): Reach(
        lambda ask, world: ask("experiments.unarchive", world.experiment),
        experiments.ExperimentFacts,
    ),
    ("GET", "/v1/saved-views"): Reach(
        lambda ask, world: world.view and ask("views.list"), [experiments.ViewFacts]
    ),
    ("POST", "/v1/saved-views"): Reach(
        lambda ask, _: ask("views.create", "a"), experiments.ViewFacts
    ),
    ("GET", "/v1/saved-views/{view}"): Reach(
        lambda ask, world: ask("views.get", world.view), experiments.ViewFacts
    ),
    ("PATCH", "/v1/saved-views/{view}"): Reach(
        lambda ask, world: ask("views.update", world.view, name="b"), experiments.ViewFacts
    ),
    ("DELETE", "/v1/saved-views/{view}"): Reach(
        lambda ask, world: ask("views.delete", world.view)
    ),
}


def routes() -> set[tuple[str, str]]:
    app = build_app(
        Database("host=nowhere", connections=2), version="0", objects=temporary_objects()
    )
    return {
        (method.upper(), path)
        for path, methods in app.state.description["paths"].items()
        for method in methods
    }


def test_every_route_is_in_the_client_or_for_browsers_only() -> None:
    assert {*REACHED, *OF_BROWSERS} == routes()
    assert not REACHED.keys() & OF_BROWSERS


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What clients ask, in order."""
    found: list[tuple[str, str]] = []
    for transport in (Transport, AsyncTransport):
        real: Any = transport.stream

        def stream(self: Any, call: Any, *args: Any, real: Any = real, **kwargs: Any) -> Any:
            found.append((call.method, call.path.partition("?")[0]))
            return real(self, call, *args, **kwargs)

        monkeypatch.setattr(transport, "stream", stream)
    return found


@pytest.mark.parametrize("route", REACHED, ids=" ".join)
def test_a_route_is_reached_and_its_answer_has_a_type(
    route: tuple[str, str], asking: Asking, asked: list[tuple[str, str]]
) -> None:
    reach = REACHED[route]
    answer = reach.call(asking, World(asking))
    pattern = re.sub(r"{\w+}", "[^/]+", route[1])
    matches = [method == route[0] and bool(re.fullmatch(pattern, path)) for method, path in asked]
    assert any(matches) if reach.is_step else matches[-1], asked
    if isinstance(reach.kind, list):
        assert answer
        assert {type(one) for one in answer} == set(reach.kind)
    elif isinstance(reach.kind, dict):
        assert {type(one) for one in answer.values()} == set(reach.kind.values())
    else:
        assert isinstance(answer, reach.kind)
