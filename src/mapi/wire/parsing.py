"""``POST /v1/search/parse``: how the texts of a search are read, and what could stand at a caret."""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, field

from mapi.wire.decoding import Answer, Request
from mapi.wire.enums import CandidateKind
from mapi.wire.problems import ProblemFault
from mapi.wire.runs import ProjectName

__all__ = ["Candidate", "Completing", "FilterCompletion", "ParseBody", "ParsedFilter"]

#: A filter's limit in the search language; a longer one is refused there with an offset.
_FilterText: TypeAlias = Annotated[str, Meta(max_length=16_384)]
#: Which of the three texts a caret stands in.
Completing: TypeAlias = Literal["filter", "sort", "columns"]


class ParseBody(Request, kw_only=True):
    """`POST /v1/search/parse`: is it right, how is it read, and how could it go on?"""

    filter: Annotated[_FilterText, Meta(description="A filter.")] = ""
    sort: Annotated[_FilterText | None, Meta(description="A sort.")] = None
    columns: Annotated[_FilterText | None, Meta(description="Columns.")] = None
    caret: Annotated[
        Annotated[int, Meta(ge=0, le=16_384)] | None,
        Meta(
            description="Where somebody types, in code points. With it a wrong text is answered "
            "with 200 and `faults`, and `completion` says what could stand there."
        ),
    ] = None
    completing: Annotated[Completing, Meta(description="The text that the caret is in.")] = (
        "filter"
    )
    project: Annotated[
        ProjectName | None,
        Meta(description="Whose names complete the text; by default the token's."),
    ] = None
    limit: Annotated[int, Meta(ge=1, le=500, description="Candidates at most.")] = 50


class Candidate(Answer, kw_only=True):
    """One thing that could stand at the caret."""

    text: Annotated[str, Meta(description="As it is written, quoted where it has to be.")]
    kind: Annotated[CandidateKind, Meta(description="What it is.")]


class FilterCompletion(Answer, kw_only=True):
    """What could stand at the caret, judged by the text before it."""

    start: Annotated[
        int, Meta(description="Candidates replace the text from here, in code points ...")
    ]
    end: Annotated[int, Meta(description="... to here: where the caret stands.")]
    candidates: Annotated[list[Candidate], Meta(description="The likeliest first.")]
    expected: Annotated[
        list[str], Meta(description="What else could stand there, described: `a number`.")
    ]
    is_complete: Annotated[bool, Meta(description="False: there are more candidates.")]


class ParsedFilter(Answer, kw_only=True):
    """How a search is read."""

    tree: Annotated[Any, Meta(description="The filter's nodes; null where it is empty or wrong.")]
    canonical: Annotated[str, Meta(description="The filter, fully bracketed; empty if wrong.")]
    parts: Annotated[
        list[str],
        Meta(description="The conditions that all hold, each as it is joined to others by AND."),
    ]
    sort: Annotated[list[str], Meta(description="In canonical spelling.")]
    columns: Annotated[list[str], Meta(description="In canonical spelling.")]
    faults: Annotated[
        list[ProblemFault], Meta(description="With a caret: the first fault of each text.")
    ] = field(default_factory=list)
    completion: Annotated[
        FilterCompletion | None, Meta(description="With a caret: what could stand there.")
    ] = None
