"""The structs of what runs are gathered in: experiments and saved views."""

from datetime import datetime
from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from mapi.wire.decoding import Answer, Request
from mapi.wire.runs import ProjectName

__all__ = [
    "VIEWS_MAX",
    "ExperimentCreate",
    "ExperimentFacts",
    "ExperimentPage",
    "ExperimentPatch",
    "ViewCreate",
    "ViewFacts",
    "ViewPage",
    "ViewPatch",
]

#: Saved views of one project.
VIEWS_MAX = 200

_Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200)]
_Text: TypeAlias = Annotated[str, Meta(max_length=20_000)]
_Search: TypeAlias = Annotated[str, Meta(max_length=16_384)]


class ExperimentCreate(Request, kw_only=True):
    """`POST /v1/experiments`."""

    name: Annotated[_Name, Meta(description="Unique in the project.")]
    description: Annotated[_Text, Meta(description="Markdown.")] = ""
    project: Annotated[ProjectName | None, Meta(description="By default the token's.")] = None


class ExperimentPatch(Request, kw_only=True):
    """`PATCH /v1/experiments/{id}`."""

    name: Annotated[_Name | UnsetType, Meta(description="Unique in the project.")] = UNSET
    description: Annotated[_Text | UnsetType | None, Meta(description="Null empties it.")] = UNSET


class ExperimentFacts(Answer, kw_only=True):
    """One experiment."""

    id: Annotated[str, Meta(description="Its id.")]
    project: Annotated[str, Meta(description="The project's name.")]
    name: Annotated[str, Meta(description="Unique in the project.")]
    description: Annotated[str, Meta(description="Markdown.")]
    archived: Annotated[datetime | None, Meta(description="Since then it takes no new runs.")]
    runs: Annotated[int, Meta(description="How many it has, those in the trash left out.")]
    runs_active: Annotated[int, Meta(description="Of those, how many have not ended.")]
    last_activity: Annotated[
        datetime | None,
        Meta(
            description="When one of them was made or gave its last sign of life; null: no runs."
        ),
    ]
    created: Annotated[datetime, Meta(description="When it was made.")]
    etag: Annotated[str, Meta(description="The version, for `If-Match`.")]


class ExperimentPage(Answer, kw_only=True):
    """`GET /v1/experiments`."""

    experiments: Annotated[list[ExperimentFacts], Meta(description="Newest first.")]
    next_cursor: Annotated[str | None, Meta(description="Null at the end.")] = None


class ViewCreate(Request, kw_only=True):
    """`POST /v1/saved-views`."""

    name: Annotated[_Name, Meta(description="Unique in the project.")]
    filter: Annotated[_Search, Meta(description="A filter.")] = ""
    sort: Annotated[_Search, Meta(description="A sort.")] = ""
    columns: Annotated[_Search, Meta(description="Columns.")] = ""
    experiment: Annotated[_Name | None, Meta(description="Whose view it is; may be none.")] = None
    project: Annotated[ProjectName | None, Meta(description="By default the token's.")] = None


class ViewPatch(Request, kw_only=True):
    """`PATCH /v1/saved-views/{id}`; needs `If-Match`."""

    name: Annotated[_Name | UnsetType, Meta(description="Unique in the project.")] = UNSET
    filter: Annotated[_Search | UnsetType | None, Meta(description="Null empties it.")] = UNSET
    sort: Annotated[_Search | UnsetType | None, Meta(description="Null empties it.")] = UNSET
    columns: Annotated[_Search | UnsetType | None, Meta(description="Null empties it.")] = UNSET
    experiment: Annotated[_Name | UnsetType | None, Meta(description="Null takes it out.")] = UNSET


class ViewFacts(Answer, kw_only=True):
    """One saved view."""

    id: Annotated[str, Meta(description="Its id.")]
    project: Annotated[str, Meta(description="The project's name.")]
    name: Annotated[str, Meta(description="Unique in the project.")]
    filter: Annotated[str, Meta(description="As it was saved.")]
    sort: Annotated[str, Meta(description="As it was saved.")]
    columns: Annotated[str, Meta(description="As it was saved.")]
    experiment: Annotated[str | None, Meta(description="Whose view it is.")]
    created: Annotated[datetime, Meta(description="When it was made.")]
    etag: Annotated[str, Meta(description="The version, for `If-Match`.")]


class ViewPage(Answer, kw_only=True):
    """`GET /v1/saved-views`: all of them, there are at most 200."""

    views: Annotated[list[ViewFacts], Meta(description="By name.")]
