"""The answer to a request that went wrong: RFC 9457, ``application/problem+json``."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, field

from mapi.wire.decoding import Answer
from mapi.wire.enums import Budget, ProblemCode

__all__ = ["PROBLEM_MEDIA_TYPE", "Problem", "ProblemFault", "no_room_fault"]

PROBLEM_MEDIA_TYPE = "application/problem+json"


class ProblemFault(Answer, kw_only=True, omit_defaults=True):
    """One thing that is wrong."""

    pointer: Annotated[str, Meta(description="JSON pointer into the body, or `/query/<name>`.")]
    message: Annotated[str, Meta(description="What is wrong, by which rule, and what is right.")]
    code: Annotated[str, Meta(description="The rule, where it has a name of its own.")] = ""
    offset: Annotated[int | None, Meta(description="Where in a text, in code points.")] = None
    length: Annotated[int | None, Meta(description="How many code points.")] = None
    expected: Annotated[list[str], Meta(description="What could stand there.")] = field(
        default_factory=list
    )


def no_room_fault(pointer: str, budget: Budget) -> ProblemFault:
    """Return what is told of an item that a budget had no room for."""
    return ProblemFault(
        pointer=pointer,
        message=f"the budget {budget.value} has no room for it",
        code=budget.value,
    )


class Problem(Answer, kw_only=True, omit_defaults=True):
    """What went wrong."""

    type: Annotated[str, Meta(description="A page that explains the code.")]
    title: Annotated[str, Meta(description="The code in words.")]
    status: Annotated[int, Meta(description="The HTTP status.")]
    detail: Annotated[str, Meta(description="This case: the value, the rule, the fix.")]
    code: Annotated[ProblemCode, Meta(description="For programs.")]
    errors: Annotated[list[ProblemFault], Meta(description="Each fault, at most 20.")] = field(
        default_factory=list
    )
    request_id: Annotated[str, Meta(description="For the operator's log.")] = ""
    retryable: Annotated[
        bool | UnsetType,
        Meta(
            description="False where a client would repeat the call in vain; left out where none would."
        ),
    ] = UNSET
    accepted: Annotated[int | None, Meta(description="Of a batch over a budget.")] = None
    duplicates: Annotated[int | None, Meta(description="Of a batch over a budget.")] = None
    conflicts: Annotated[int | None, Meta(description="Of a batch over a budget.")] = None
    rejected: Annotated[int | None, Meta(description="Of a batch over a budget.")] = None
    accepted_seq: Annotated[
        int | None,
        Meta(description="Of a batch over a budget, or out of turn: where its writer stands."),
    ] = None
