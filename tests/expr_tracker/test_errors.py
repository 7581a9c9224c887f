"""One tree of errors, each also the built-in that callers have always caught."""

from __future__ import annotations

import inspect

import pytest

from expr_tracker import errors

CAUGHT_AS = {
    "NoRunError": RuntimeError,
    "RunActiveError": RuntimeError,
    "RunFinishedError": RuntimeError,
    "ForkedObjectError": RuntimeError,
    "StreamInUseError": RuntimeError,
    "NameRefusedError": ValueError,
    "OptionError": ValueError,
    "UnknownOptionError": TypeError,
    "StepError": TypeError,
    "StepOrderError": ValueError,
    "QueryError": ValueError,
    "QuestionTypeError": TypeError,
    "RescueError": ValueError,
    "RunNotFoundError": FileNotFoundError,
    "ArtifactNotFoundError": FileNotFoundError,
    "ArtifactError": ValueError,
    "MissingExtraError": ImportError,
    "TrackerError": Exception,
}


def test_the_module_exports_exactly_its_errors() -> None:
    defined = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and value.__module__ == errors.__name__
    }
    assert defined == set(errors.__all__)
    assert set(CAUGHT_AS) <= defined


@pytest.mark.parametrize(("name", "builtin"), CAUGHT_AS.items())
def test_an_error_is_caught_by_its_built_in_name_and_by_the_root(
    name: str, builtin: type[Exception]
) -> None:
    error = getattr(errors, name)
    assert issubclass(error, builtin)
    assert issubclass(error, errors.TrackerError)


@pytest.mark.parametrize("name", sorted(set(errors.__all__) - {"TrackerError"}))
def test_every_error_has_a_built_in_name_too(name: str) -> None:
    error = getattr(errors, name)
    assert issubclass(error, errors.TrackerError)
    builtins = [base for base in error.__mro__ if base.__module__ == "builtins"]
    assert len(builtins) > len(Exception.__mro__)


@pytest.mark.parametrize("name", errors.__all__)
def test_an_error_s_text_is_its_sentence(name: str) -> None:
    assert str(getattr(errors, name)("One sentence.")) == "One sentence."


def test_the_tree_in_the_docstring_is_complete() -> None:
    assert errors.__doc__ is not None
    for name in errors.__all__:
        assert name in errors.__doc__
