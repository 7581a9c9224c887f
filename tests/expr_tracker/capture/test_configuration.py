from __future__ import annotations

import argparse
import dataclasses
import logging
import math
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from expr_tracker.capture.configuration import config_from
from expr_tracker.errors import OptionError
from expr_tracker.store.documents import read_document, write_document


class Warnings(list[tuple[str, str]]):
    """Collects what degrades."""

    def __call__(self, key: str, text: str) -> None:
        self.append((key, text))

    @property
    def keys(self) -> list[str]:
        return [key for key, _ in self]


def test_every_awkward_value_is_kept_and_reads_back_equal(tmp_path: Path) -> None:
    thing = object()
    config = {
        "cmd": "x" * 780, "two": "a\nb\r\nc", "nan": math.nan, "n": np.int64(3), "t": (1, 2),
        "p": Path("/a"), "fn": len, "obj": thing, "uni": "日本 ✓", "a": {"b": 2}, "a.b": 1,
        "empty": "", "none": None, "big": "y" * 60_000,
    }  # fmt: skip
    warnings = Warnings()
    write_document(tmp_path / "config.json", config_from(config, warnings))
    plain = read_document(tmp_path / "config.json")
    assert plain is not None
    assert math.isnan(plain.pop("nan"))
    assert plain == {
        "cmd": "x" * 780, "two": "a\nb\r\nc", "n": 3, "t": [1, 2], "p": "/a", "fn": repr(len),
        "obj": repr(thing), "uni": "日本 ✓", "a": {"b": 2}, "a.b": 1, "empty": "", "none": None,
        "big": "y" * 60_000,
    }  # fmt: skip
    assert warnings.keys == ["fn", "obj"]


def test_one_bad_value_leaves_its_neighbours_alone() -> None:
    warnings = Warnings()
    plain = config_from({"model": {"act": len, "lr": 0.1, "layers": [1, len]}}, warnings)
    assert plain == {"model": {"act": repr(len), "lr": 0.1, "layers": [1, repr(len)]}}
    assert warnings.keys == ["model.act", "model.layers.1"]


def test_the_warning_goes_to_the_log_by_default(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "expr_tracker"):
        config_from({"fn": len})
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "'fn'" in caplog.text


def test_nothing_is_an_empty_config() -> None:
    assert config_from(None) == {}


@pytest.mark.parametrize("value", [{1, 2}, object(), dict, b"lr", len, 1j])
def test_what_is_no_mapping_is_refused_with_what_is_accepted(value: object) -> None:
    with pytest.raises(OptionError, match=r"config=.*expected a dict, a dataclass instance"):
        config_from(value)


def test_the_refusal_does_not_repeat_a_secret() -> None:
    with pytest.raises(OptionError) as refusal:
        config_from(b"api_key=s3cr3t")
    assert "s3cr3t" not in str(refusal.value)


@pytest.mark.parametrize("value", [[1, 2], [], "lr=0.1", "", 3, 0.5, False, [{"lr": 0.1}, None]])
def test_json_without_a_name_is_kept_under_the_name_value(value: object) -> None:
    assert config_from(value) == {"value": value}


def test_json_without_a_name_loses_its_secrets_too() -> None:
    assert config_from(["--token", "s3cr3t1", {"api_key": "s3cr3t2"}]) == {
        "value": ["--token", "s3cr3t1", {"api_key": "[redacted]"}]
    }


def test_secrets_are_gone_however_the_config_is_made() -> None:
    @dataclasses.dataclass
    class Service:
        api_key: str = "s3cr3t"
        url: str = "postgresql://u:s3cr3t@h/db"

    class Client:
        def __repr__(self) -> str:
            return "Client(api_key='s3cr3t')"

    plain = config_from({"service": Service(), "client": Client(), "n": 1}, Warnings())
    assert "s3cr3t" not in repr(plain)
    assert plain["service"]["url"].endswith("@h/db")


class Optimizer(pydantic.BaseModel):
    name: str = "adam"
    path: Path = Path("/a")
    key: pydantic.SecretStr = pydantic.SecretStr("s3cr3t")


@dataclasses.dataclass
class Training:
    lr: float = 0.1
    optimizer: Optimizer = dataclasses.field(default_factory=Optimizer)


def test_dataclasses_pydantic_models_and_namespaces_nest() -> None:
    plain = config_from(argparse.Namespace(training=Training(), extra=SimpleNamespace(seed=1)))
    assert plain["training"]["lr"] == 0.1
    assert plain["training"]["optimizer"]["name"] == "adam"
    assert plain["training"]["optimizer"]["path"] == "/a"
    assert plain["extra"] == {"seed": 1}
    assert "s3cr3t" not in repr(plain)


def test_a_secret_of_pydantic_is_hidden_outside_its_model_too() -> None:
    assert config_from({"value": pydantic.SecretStr("s3cr3t")}) == {"value": "[redacted]"}


def test_a_pydantic_model_without_a_json_form_keeps_its_other_fields() -> None:
    class Model(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
        thing: object = len
        lr: float = 0.1

    warnings = Warnings()
    assert config_from(Model(), warnings) == {"thing": repr(len), "lr": 0.1}
    assert warnings.keys == ["thing"]


class FakeFlags:
    """absl's FLAGS, as far as it is asked."""

    def flag_values_dict(self) -> dict[str, Any]:
        return {"lr": 0.1, "password": "s3cr3t"}


class FakeConfigDict:
    """ml_collections' ConfigDict, as far as it is asked."""

    def __init__(self, **members: Any) -> None:
        self._members = members

    def to_dict(self) -> dict[str, Any]:
        return self._members


def test_flags_and_config_dicts_are_opened() -> None:
    plain = config_from({"flags": FakeFlags(), "model": FakeConfigDict(width=4)})
    assert plain == {"flags": {"lr": 0.1, "password": "[redacted]"}, "model": {"width": 4}}
    assert config_from(FakeFlags())["lr"] == 0.1
    assert config_from(FakeConfigDict(width=4)) == {"width": 4}


class FakeOmegaNode:
    def __init__(self, content: Any) -> None:
        self._content = content


class FakeOmegaConf:
    @staticmethod
    def to_container(node: FakeOmegaNode, *, resolve: bool) -> Any:
        if resolve and node._content == {"a": "${missing}"}:
            raise KeyError("missing")
        return node._content


def test_omegaconf_is_opened_through_the_program_that_imported_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = ModuleType("omegaconf")
    module.OmegaConf = FakeOmegaConf  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "omegaconf", module)
    assert config_from(FakeOmegaNode({"lr": 0.1})) == {"lr": 0.1}
    assert config_from({"m": FakeOmegaNode({"lr": 0.1})}) == {"m": {"lr": 0.1}}
    assert config_from(FakeOmegaNode({"a": "${missing}"})) == {"a": "${missing}"}
    assert config_from(FakeOmegaNode([1, 2])) == {"value": [1, 2]}


def test_an_object_that_fails_while_opened_becomes_its_repr() -> None:
    class Broken:
        def to_dict(self) -> dict[str, Any]:
            raise RuntimeError("no")

        def __repr__(self) -> str:
            return "Broken()"

    warnings = Warnings()
    plain = config_from({"x": Broken(), "y": 1}, warnings)
    assert plain == {"x": "Broken()", "y": 1}
    with pytest.raises(OptionError):
        config_from(Broken(), warnings)


def failing(attribute: str) -> object:
    """Return an object that raises where its ``attribute`` is asked for: any one, for ``*``."""

    class Failing:
        def __getattribute__(self, name: str) -> Any:
            if attribute in {name, "*"}:
                raise RuntimeError("working outside of its context")
            return object.__getattribute__(self, name)

    return Failing()


class FailingItems(dict[str, Any]):
    def items(self) -> Any:
        raise ValueError("items")

    keys = __iter__ = values = items


class FailingText(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise ValueError("text")

    def __len__(self) -> int:
        raise ValueError("length")


class FailingList(list[Any]):
    def __iter__(self) -> Any:
        raise ValueError("iteration")


class FailingMapping(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


class FailingProxy:
    """What werkzeug's and Django's lazy objects do outside of their context."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("working outside of its context")


@dataclasses.dataclass
class FailingField:
    lr: float = 0.1

    def __getattribute__(self, name: str) -> Any:
        if name == "lr":
            raise RuntimeError("no")
        return object.__getattribute__(self, name)


#: By name, as the test runner would ask the objects what they are.
FAILING = {
    "proxy": FailingProxy(),
    "list": FailingList([1]),
    "mapping": FailingMapping(),
    "field": FailingField(),
    **{
        name: failing(name)
        for name in (
            "*", "__class__", "__dict__", "get_secret_value", "__array__", "to_dict",
            "model_dump", "__attrs_attrs__", "tolist",
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("name", FAILING)
def test_a_value_whose_own_code_fails_is_stored_as_a_text_and_said_so(name: str) -> None:
    value = FAILING[name]
    warnings = Warnings()
    plain = config_from({"lr": 0.1, "x": {"app": value, "y": [value, 1]}}, warnings)
    assert plain["lr"] == 0.1
    assert plain["x"]["y"][1] == 1
    assert isinstance(plain["x"]["app"], (str, dict))
    assert isinstance(plain["x"]["app"], dict) or "x.app" in warnings.keys


def test_a_subclass_of_dict_or_str_is_read_past_its_failing_methods() -> None:
    warnings = Warnings()
    config = {"members": FailingItems(lr=0.1), "text": FailingText("adam")}
    assert config_from(config, warnings) == {"members": {"lr": 0.1}, "text": "adam"}
    assert config_from(FailingItems(lr=0.1), warnings) == {"lr": 0.1}
    assert warnings == []


@pytest.mark.parametrize("name", FAILING)
def test_a_whole_configuration_whose_own_code_fails_is_refused_like_any_other_or_read(
    name: str,
) -> None:
    try:
        assert isinstance(config_from(FAILING[name], Warnings(), argument="metadata"), dict)
    except OptionError as refusal:
        assert str(refusal).startswith("metadata=")  # noqa: PT017 - both ends are right


def test_the_exception_of_a_signal_handler_passes() -> None:
    def time_out(_number: int, _frame: object) -> None:
        raise TimeoutError("the program's own")

    class Interrupted:
        def __getattr__(self, name: str) -> Any:
            signal.raise_signal(signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, time_out)
    try:
        for config in ({"x": Interrupted()}, Interrupted()):
            with pytest.raises(TimeoutError):
                config_from(config, Warnings())
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_cycle_ends_with_a_warning_and_two_of_them_do_not_unfold_without_end() -> None:
    config: dict[str, Any] = {"lr": 0.1}
    config["a"] = config["b"] = config
    warnings = Warnings()
    plain = config_from(config, warnings)
    assert plain["lr"] == 0.1
    assert warnings.keys == ["a", "b"]
    assert plain["a"].startswith("{'lr': 0.1")


def test_shared_parts_that_would_unfold_to_billions_of_values_are_cut() -> None:
    shared: list[Any] = [1]
    for _ in range(40):
        shared = [shared, shared]
    warnings = Warnings()
    config_from({"lr": 0.1, "shared": shared}, warnings)
    assert any("200000 values" in text for _, text in warnings)


def test_two_keys_with_one_text_are_reported() -> None:
    warnings = Warnings()
    assert config_from({1: "a", "1": "b"}, warnings) == {"1": "b"}
    assert warnings.keys == ["1"]


class Mute:
    """An object that does not say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__
    __hash__ = object.__hash__


def test_a_key_or_value_that_cannot_be_shown_still_has_a_type() -> None:
    name = "<unrepresentable Mute>"
    assert config_from({Mute(): 1, "x": Mute()}, Warnings()) == {name: 1, "x": name}
    with pytest.raises(OptionError, match=r"config='<unrepresentable Mute>' \(Mute\)"):
        config_from(Mute())


def test_an_attrs_instance_is_opened() -> None:
    class Attrs:
        """What attrs makes, as far as it is asked."""

        __attrs_attrs__ = (SimpleNamespace(name="lr"),)
        lr = 0.1

    assert config_from(Attrs()) == {"lr": 0.1}


def test_a_text_beyond_the_limit_is_cut_with_a_mark() -> None:
    warnings = Warnings()
    text = config_from({"text": "x" * (8 * 1024 * 1024 + 5)}, warnings)["text"]
    assert text.endswith("x... [cut: 5 more characters]")
    assert warnings.keys == ["text"]


def test_a_frame_or_array_is_a_value_not_a_section() -> None:
    plain = config_from({"weights": np.ones(2), "zero": np.float32(0)})
    assert plain == {"weights": [1.0, 1.0], "zero": 0.0}


plain_trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)
    | st.text(alphabet="abc日 \n", max_size=8),
    lambda children: st.lists(children, max_size=3)
    | st.dictionaries(st.sampled_from(["a", "a.b", "", "lr"]), children, max_size=3),
    max_leaves=20,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(["a", "a.b", "", "lr"]), plain_trees))
def test_what_is_plain_already_and_no_secret_is_returned_equal(config: dict[str, Any]) -> None:
    assert config_from(config) == config
