"""Opening a run of a million rows again, without its sidecar.

A sidecar is a hint and may be missing after a crash or a copy; then the file itself has to be read
before the first row can be appended. `with_sidecar_ms` is the same with it. The project promises no
number here but that it is not slower than the peer.
"""

from __future__ import annotations

from peer import Target, arguments_of, run_pair

PROGRAM = r"""
import json, pathlib, time
import expr_tracker as et

rows = settings["rows"]
et.init(project="bench", name="resume", dir=root, backends=[])
for index in range(rows):
    value = 1.0 / (index + 1)
    et.log({"train/loss": value, "train/lr": 0.001, "a": value, "b": value, "c": value})
et.finish()


def resume_ms(expected):
    start = time.perf_counter()
    run = et.init(project="bench", name="resume", dir=root, backends=[])
    took = (time.perf_counter() - start) * 1000
    assert run.step == expected, (run.step, expected)
    et.log({"train/loss": 1.0})
    et.finish()
    return took


with_sidecar = resume_ms(rows)
sidecars = list(pathlib.Path(root, "bench", "resume").glob("metrics*.meta.json"))
assert sidecars, "no sidecar was written, so its absence cannot be measured"
for path in sidecars:
    path.unlink()
print()
print(json.dumps({"without_sidecar_ms": resume_ms(rows + 1), "with_sidecar_ms": with_sidecar}))
"""


def main() -> None:
    """Run the bench."""
    options = arguments_of(__doc__, rows=1_000_000, rounds=1)
    run_pair(
        PROGRAM,
        "" if options.no_peer else PROGRAM,
        options.rounds,
        name="resume",
        settings={"rows": options.rows},
        targets=[Target("without_sidecar_ms", "not slower than the peer", ratio_at_least=1)],
    )


if __name__ == "__main__":
    main()
