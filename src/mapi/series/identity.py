"""Which series a batch means: keys and labels checked, foreign names mapped, the writer added."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mapi.errors import Fault, InvalidError
from mapi.series.name_map import full_name, series_from_name, with_writer
from mapi.series.names import (
    Labels,
    canonical_labels,
    check_key,
    check_label_count,
    check_labels,
    check_stream,
)
from mapi.wire.decoding import FAULTS_MAX, pointer

if TYPE_CHECKING:
    from mapi.wire.metric_columns import MetricColumns, SentSeries

__all__ = ["IdentifiedBatch", "identify"]


@dataclass(frozen=True, slots=True)
class IdentifiedBatch:
    """What the series of a batch are."""

    series: list[tuple[str, Labels]]
    """Each once, in the order of first mention."""
    index: npt.NDArray[np.int64]
    """Which of ``series`` each point of the batch belongs to."""
    full_names: dict[int, str]
    """By place in ``series``: names that were too long for a label, to be kept in full."""


def identify(columns: MetricColumns) -> IdentifiedBatch:
    """Return which series the points of a batch belong to.

    Raises:
        InvalidError: a key, a label or the stream breaks its rule.
    """
    wrong = check_stream(columns.stream)
    if wrong is not None:
        raise InvalidError(Fault("/stream", wrong))
    faults: list[Fault] = []
    places: dict[tuple[str, Labels], int] = {}
    full_names: dict[int, str] = {}
    index = np.zeros(len(columns.series), dtype=np.int64)
    for at, sent in enumerate(columns.series):
        found = _series_of(sent)
        if isinstance(found, Fault):
            faults.append(found)
            if len(faults) == FAULTS_MAX:
                break
            continue
        key, labels = found
        labels = with_writer(labels, stream=columns.stream, rank=columns.rank)
        place = places.setdefault((key, labels), len(places))
        kept = None if sent.name is None else full_name(sent.name, labels)
        if kept is not None:
            full_names[place] = kept
        index[at] = place
    if faults:
        raise InvalidError(faults)
    return IdentifiedBatch(list(places), index[columns.index], full_names)


def _series_of(sent: SentSeries) -> tuple[str, Labels] | Fault:
    wrong = check_labels(sent.labels)
    if wrong is not None:
        return Fault(_label_pointer(sent), wrong)
    if sent.name is None:
        assert sent.key is not None  # the wire has one of the two
        wrong = check_key(sent.key)
        if wrong is not None:
            return Fault(f"{sent.pointer}/key", wrong)
        return sent.key, canonical_labels(sent.labels)
    key, named = series_from_name(sent.name)
    for name, value in named:
        if sent.labels.get(name, value) != value:
            message = f"the name says {name}={value}, the labels {name}={sent.labels[name]}"
            return Fault(f"{sent.pointer}/labels{pointer(name)}", message)
    labels = {**dict(named), **sent.labels}
    wrong = check_label_count(labels)
    if wrong is not None:
        return Fault(f"{sent.pointer}/labels", wrong)
    return key, canonical_labels(labels)


def _label_pointer(sent: SentSeries) -> str:
    """Return where the label stands that is wrong by itself, or all of them."""
    for name, value in sent.labels.items():
        if check_labels({name: value}) is not None:
            return f"{sent.pointer}/labels{pointer(name)}"
    return f"{sent.pointer}/labels"
