"""Rescued rows on their way home: what a full disk kept out of a run's files, put where it belongs.

`target` finds the file that a rescue file's lines are of, `placing` the place in it, and `putting`
makes the file anew with them; `owners` sees to it that it still belongs to whom it did::

    from expr_tracker.rescue import put_back
    report = put_back("/tmp/expr-tracker-metrics-k3x9q2ab.jsonl", "runs/llm/sft-1")

The rescue file itself is `expr_tracker.store.rescue_file`.
"""

from __future__ import annotations

from expr_tracker.rescue.putting import RescueReport, put_back
from expr_tracker.store.rescue_file import is_rescue_name

__all__ = ["RescueReport", "is_rescue_name", "put_back"]
