from __future__ import annotations

import os
import signal

import pytest

from expr_tracker.cli.ending import until_told

ENDS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("number", ENDS)
def test_it_is_over_at_a_signal_and_the_handlers_are_put_back(number: signal.Signals) -> None:
    before = [signal.getsignal(one) for one in ENDS]
    with until_told() as is_over:
        assert not is_over(0)
        os.kill(os.getpid(), number)
        assert is_over(0)
    assert [signal.getsignal(one) for one in ENDS] == before


def test_what_the_program_was_started_to_ignore_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with until_told() as is_over:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not is_over(0)
            os.kill(os.getpid(), signal.SIGTERM)
            assert is_over(0)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
