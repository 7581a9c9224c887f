from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.mapi.search.language import NOW, series_from_name

from mapi.errors import InvalidError
from mapi.search import (
    LIMIT_DEFAULT,
    Node,
    column_text,
    evaluate,
    filter_text,
    join_filters,
    parse_columns,
    parse_filter,
    parse_limit,
    parse_sort,
    sort_text,
)
from mapi.search.nodes import (
    EVERYTHING,
    Ago,
    And,
    Attribute,
    Compare,
    Metric,
    MetricAt,
    Not,
    Or,
    Param,
    Tag,
)

A, B, C = (Compare(Tag(name), "=", "1") for name in "abc")


def parsed(text: str) -> Node:
    return parse_filter(text, series_from_name=series_from_name)


def value_of(text: str) -> object:
    tree = parsed(text)
    assert isinstance(tree, Compare)
    return tree.value


def test_not_binds_before_and_and_and_before_or() -> None:
    tree = parsed("NOT tags.a = 1 AND tags.b = 1 OR tags.c = 1")
    assert tree == Or((And((Not(A), B)), C))
    assert filter_text(tree) == '((NOT (tags.a = "1")) AND tags.b = "1") OR tags.c = "1"'


def test_keywords_take_any_case_and_white_space_is_free_between_words() -> None:
    text = "\n not tags.a='1'aNd(tags.b\t=\t1)Or tags.c=1 "
    assert parsed(text) == Or((And((Not(A), B)), C))


def test_a_quoted_metric_is_put_through_the_name_map_and_takes_labels_too() -> None:
    tree = parsed('metrics."eval/loss"{stream=data}.min < 1')
    labels = (("scope", "eval"), ("stream", "data"))
    assert tree == Compare(Metric("loss", labels, "min"), "<", 1.0)
    raw = parsed('metrics."f1-score" < 1')
    assert raw == Compare(Metric("xf1_score", (("raw", "f1-score"),)), "<", 1.0)


def test_a_label_of_the_name_map_cannot_be_given_again() -> None:
    with pytest.raises(InvalidError, match="scope is given twice"):
        parsed('metrics."eval/loss"{scope=x} < 1')


def test_reserved_labels_do_not_count_towards_the_eight() -> None:
    eight = ",".join(f"{letter}=1" for letter in "abcdefgh")
    tree = parsed(f'metrics."eval/loss"{{{eight}}} < 1')
    assert isinstance(tree, Compare)
    assert isinstance(tree.field, Metric)
    assert len(tree.field.labels) == 9


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1.0),
        ("+1.", 1.0),
        ("-.5", -0.5),
        ("1e3", 1000.0),
        ("1E-3", 0.001),
        ("inf", float("inf")),
        ("-inf", float("-inf")),
    ],
)
def test_a_number_is_the_nearest_float(text: str, number: float) -> None:
    assert value_of(f"metrics.loss = {text}") == number


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-11-20", datetime(2026, 11, 20, tzinfo=UTC)),
        ("2026-11-20T10:30", datetime(2026, 11, 20, 10, 30, tzinfo=UTC)),
        ("2026-11-20T10:30:15.25Z", datetime(2026, 11, 20, 10, 30, 15, 250_000, tzinfo=UTC)),
        ("2026-11-20T00:30:00+01:00", datetime(2026, 11, 19, 23, 30, tzinfo=UTC)),
        ('"2026-11-20"', datetime(2026, 11, 20, tzinfo=UTC)),
    ],
)
def test_a_time_is_a_moment_in_utc(text: str, time: datetime) -> None:
    assert value_of(f"created >= {text}") == time


@pytest.mark.parametrize("time", ["0001-01-01T00:00+23:00", "9999-12-31T23:59-23:00"])
def test_a_time_beyond_the_calendar_is_a_fault(time: str) -> None:
    with pytest.raises(InvalidError, match="there is no time"):
        parsed(f"created >= {time}")


@pytest.mark.parametrize(
    ("number", "unit"),
    [
        ("1795953600", "seconds"),
        ("1795953600000", "milliseconds"),
        ("1795953600000000", "microseconds"),
        ("1795953600000000000", "nanoseconds"),
    ],
)
def test_a_number_in_place_of_a_time_is_answered_with_the_time(number: str, unit: str) -> None:
    with pytest.raises(InvalidError) as caught:
        parsed(f"created >= {number}")
    (fault,) = caught.value.faults
    assert fault.message == f"{number} looks like {unit} since 1970: write 2026-11-29T12:00:00Z"
    assert fault.expected == ("2026-11-29T12:00:00Z",)
    assert value_of(f"created >= {fault.expected[0]}") == datetime(2026, 11, 29, 12, tzinfo=UTC)


def test_a_span_ago_stays_relative_until_the_search_is_run() -> None:
    assert value_of("created >= -7d") == Ago(7, "d")
    row = {"created": NOW - timedelta(days=7)}
    tree = parsed("created >= -7d")
    assert evaluate(tree, row, NOW) is True
    assert evaluate(tree, row, NOW + timedelta(seconds=1)) is False


def test_a_duration_is_in_seconds_and_may_be_spelled_with_a_unit() -> None:
    assert parsed("duration > 2h") == Compare(Attribute("duration"), ">", 7200.0)


def test_a_param_takes_a_bare_number_as_number_and_a_quoted_one_as_text() -> None:
    assert parsed("params.lr = 0.10") == Compare(Param("lr"), "=", 0.1)
    assert parsed("params.lr = '0.10'") == Compare(Param("lr"), "=", "0.10")


def test_a_tag_takes_a_bare_number_or_time_by_its_spelling() -> None:
    assert value_of("tags.a = 0.10") == "0.10"
    assert value_of("tags.a = 2026-11-20") == "2026-11-20"
    assert value_of("tags.a = -7d") == "-7d"


def test_escapes_stand_for_their_characters_also_in_pairs() -> None:
    text = r'tags.a = "\"\\\n\t\u00e9\ud834\udd1e"'
    assert value_of(text) == '"\\\n\té𝄞'
    assert value_of(r"tags.a = 'it\'s'") == "it's"


def test_an_offset_counts_code_points() -> None:
    with pytest.raises(InvalidError) as caught:
        parsed('tags.a = "𝄞𝄞" AND nam = 1')
    assert caught.value.faults[0].offset == 18


def test_the_pointer_is_the_callers() -> None:
    with pytest.raises(InvalidError) as caught:
        parse_filter("x", series_from_name=series_from_name, pointer="/filter/1")
    assert caught.value.faults[0].pointer == "/filter/1"


def test_a_run_is_named_with_its_prefix_or_without() -> None:
    plain = "01900000-0000-7000-8000-000000000001"
    for text in (plain, f"run_{plain}", plain.replace("-", "").upper()):
        assert value_of(f"id = {text}") == f"run_{plain}"


def test_repeated_filters_are_joined_by_and_without_a_level_more() -> None:
    joined = join_filters([parsed("tags.a = 1 AND tags.b = 1"), EVERYTHING, parsed("tags.c = 1")])
    assert joined == And((A, B, C))
    assert join_filters([]) == EVERYTHING
    assert join_filters([EVERYTHING, A]) == A


def test_joined_filters_keep_the_limit_of_predicates() -> None:
    half = parsed(" OR ".join(["tags.a = 1"] * 30))
    with pytest.raises(InvalidError, match="at most 50 predicates"):
        join_filters([half, half])


def test_redundant_brackets_up_to_the_limit_change_nothing() -> None:
    assert parsed("(" * 10 + "tags.a = 1" + ")" * 10) == A


def test_columns_may_show_a_series_where_another_one_is_best() -> None:
    text = "name , metric.acc at max metrics.loss{split=val}"
    name, place = parse_columns(text, series_from_name=series_from_name)
    assert name == Attribute("name")
    assert place == MetricAt("acc", (), "max", "loss", (("split", "val"),))
    assert column_text(place) == "metrics.acc AT MAX metrics.loss{split=val}"


def test_a_sort_order_is_printed_in_canonical_spelling() -> None:
    sort = parse_sort(
        "-metric.loss{split=val, fold=3}.min, created", series_from_name=series_from_name
    )
    assert sort_text(sort) == "-metrics.loss{fold=3,split=val}.min,created"
    assert sort_text(parse_sort("", series_from_name=series_from_name)) == "-created"


def test_a_canonical_text_that_would_be_too_long_to_send_is_a_fault() -> None:
    text = "tags.x IN (" + ",".join(["a" * 20] * 100) + ") OR tags.x = " + '"' + "\t" * 1100 + '"'
    with pytest.raises(InvalidError, match="written out in full"):
        parsed(text)


@pytest.mark.parametrize("limit", [0, -1, 501])
def test_a_limit_outside_of_its_range_is_a_fault(limit: int) -> None:
    with pytest.raises(InvalidError, match="1 to 500"):
        parse_limit(limit)


def test_a_limit_that_is_not_given_is_fifty() -> None:
    assert parse_limit(None) == LIMIT_DEFAULT == 50
    assert parse_limit(500) == 500
