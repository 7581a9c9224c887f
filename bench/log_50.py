"""`et.log` of fifty numbers; the program is the one of `log_5.py`.

Promise: at least 5 times faster than the peer at the median.
"""

from __future__ import annotations

from log_5 import PROGRAM
from peer import Target, arguments_of, run_pair


def main() -> None:
    """Run the bench."""
    options = arguments_of(__doc__, rows=20_000, rounds=3)
    run_pair(
        PROGRAM,
        "" if options.no_peer else PROGRAM,
        options.rounds,
        name="log_50",
        settings={"rows": options.rows, "metrics": 50},
        targets=[Target("p50_us", "p50 >= 5 x faster than the peer", ratio_at_least=5)],
    )


if __name__ == "__main__":
    main()
