"""``python -m benchmarks.call_costs``: a call of a kernel through its worker's wall beside NumPy, as a table.

A kernel runs in another process: its arguments travel there, and its results back. From what size that is worth
it depends on the machine.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

import lhkit
from lhkit.cli.terminal import say
from lhkit.draw.tables import format_ns
from lhkit.load.target_choice import describe_environment, find_target

_SIZES = (4, 64, 128, 256, 512, 1024, 2048)
_ROUNDS, _BATCH_NS = 15, 20_000_000


def main() -> None:
    """Print the table as Markdown."""
    say(
        f"{dict(describe_environment())['cpu']}, {find_target(None).name}, one thread, square products of f32\n"
    )
    say("| n | NumPy | kernel(…) | times NumPy | with lhkit.empty |\n| --- | --- | --- | --- | --- |")
    for n in _SIZES:
        kernel = lhkit.compile(lhkit.payloads.matmul(n, n, n), "matmul.mlir")
        random = np.random.default_rng(0)
        lhs, rhs = (random.random((n, n), np.float32) for _ in range(2))
        near = [lhkit.empty((n, n)) for _ in range(2)]
        near[0][...], near[1][...] = lhs, rhs
        calls = (lambda: lhs @ rhs, lambda: kernel(lhs, rhs), lambda: kernel(*near))  # noqa: B023
        plain, copied, shared = _medians_ns(calls)
        cells = (str(n), format_ns(plain), format_ns(copied), f"{plain / copied:.2f}", format_ns(shared))
        say(f"| {' | '.join(cells)} |")


def _medians_ns(calls: tuple[Callable[[], object], ...]) -> list[float]:
    """Return the median time of each call, sampled in the same rounds."""
    counts = [max(round(_BATCH_NS / _taken_ns(call, 3)), 1) for call in calls]
    pairs = list(zip(calls, counts, strict=True))
    rounds = [[_taken_ns(call, count) for call, count in pairs] for _ in range(_ROUNDS)]
    return [statistics.median(column) for column in zip(*rounds, strict=True)]


def _taken_ns(call: Callable[[], object], count: int) -> float:
    started = time.perf_counter_ns()
    for _ in range(count):
        call()
    return (time.perf_counter_ns() - started) / count


if __name__ == "__main__":
    main()
