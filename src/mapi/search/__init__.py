"""The search language of runs: texts of a request in, trees, statements and cursors out.

    text ─ `parsing` (`source`, `literals`, `fields`, `comparisons`, `grammar`) → `nodes`
    nodes → `printing`      the canonical text, which parses to the same tree
          → `evaluation`    true, false or unknown for a row in memory
          → `pages`         a `statement`, by way of `conditions` (filter) and `order`; `columns`
                            beside it, and `identity` for how ids are written
          → `occurrence`    which of the names in it any run has
    end of a page ↔ `cursor`
    unfinished text → `completion` → `candidates`   with what the caller knows of the project

Nothing here reads or writes: the statements are run by whoever has a connection, in a transaction
of the tenant.
"""

from mapi.search.candidates import Lookup, candidates_of, expected_of, lookup_of
from mapi.search.columns import column_statement
from mapi.search.completion import Completion, complete
from mapi.search.cursor import Given, cursor_content, search_from_cursor
from mapi.search.evaluation import Row, Truth, evaluate, in_order
from mapi.search.fields import SeriesFromName
from mapi.search.nodes import Column, Field, Node, Search, SortKey
from mapi.search.occurrence import fields_of_filter, named_fields, occurrence_statement
from mapi.search.order import Position, position_of
from mapi.search.pages import count_statement, page_statements
from mapi.search.parsing import (
    DEFAULT_SORT,
    LIMIT_DEFAULT,
    LIMIT_MAX,
    join_filters,
    parse_columns,
    parse_filter,
    parse_limit,
    parse_sort,
)
from mapi.search.printing import (
    column_text,
    columns_text,
    field_text,
    filter_parts,
    filter_text,
    sort_text,
)
from mapi.search.source import Expectation
from mapi.search.statement import Statement

__all__ = [
    "DEFAULT_SORT",
    "LIMIT_DEFAULT",
    "LIMIT_MAX",
    "Column",
    "Completion",
    "Expectation",
    "Field",
    "Given",
    "Lookup",
    "Node",
    "Position",
    "Row",
    "Search",
    "SeriesFromName",
    "SortKey",
    "Statement",
    "Truth",
    "candidates_of",
    "column_statement",
    "column_text",
    "columns_text",
    "complete",
    "count_statement",
    "cursor_content",
    "evaluate",
    "expected_of",
    "field_text",
    "fields_of_filter",
    "filter_parts",
    "filter_text",
    "in_order",
    "join_filters",
    "lookup_of",
    "named_fields",
    "occurrence_statement",
    "page_statements",
    "parse_columns",
    "parse_filter",
    "parse_limit",
    "parse_sort",
    "position_of",
    "search_from_cursor",
    "sort_text",
]
