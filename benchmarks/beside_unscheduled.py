"""``python -m benchmarks.beside_unscheduled``: KernelBench by ``cpu.mlir`` beside the unscheduled payload.

Kernels of the same machine code are as fast. Others are timed in turn, on one thread; those below .99 once
more, longer and with three seeds, beside a second kernel of the unscheduled code, which says how far two times
of one code lie apart: slower is what is behind it by more than a hundredth, by the medians of the three.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import lhkit
from benchmarks import kernelbench_models
from lhkit.cli.terminal import say

PLAIN, AGAIN, SCHEDULED = "unscheduled", "the same again", "cpu.mlir"
_DOUBTED = 0.99


def ratios(
    kernels: Mapping[str, lhkit.Kernel], arrays: Sequence[Any], seconds: float, seed: int
) -> dict[str, float]:
    """Return how many times as fast as the unscheduled kernel each is: the median of ratios within rounds."""
    taken = lhkit.measure(kernels, arrays, seconds=seconds, seed=seed)
    samples = {name: dict(taken.measurement(name).samples_ns) for name in kernels}
    plain = samples.pop(PLAIN)
    return {name: statistics.median(plain[i] / of[i] for i in plain if i in of) for name, of in samples.items()}


def compare(number: str, seconds: float, known: Mapping[str, str]) -> tuple[str, bool, str]:
    """Compare one problem, unless its code is what is known of it.

    Returns:
        What to say, whether it is slower beyond doubt, and the hash of the code of both kernels.
    """
    example = kernelbench_models.example(number)
    payload = lhkit.from_torch(example.module, *example.inputs, name=number)
    kernels = {PLAIN: lhkit.compile(payload), SCHEDULED: lhkit.compile(payload, "cpu.mlir")}
    codes = [str(kernel.assembly()) for kernel in kernels.values()]
    code = hashlib.sha256("\0".join(codes).encode()).hexdigest()
    if codes[0] == codes[1]:
        return "the same machine code", False, code
    if known.get(number) == code:
        return "not slower before, and the same code since", False, code
    arrays = [each.numpy() for each in example.inputs]
    first = ratios(kernels, arrays, seconds, 0)[SCHEDULED]
    if first >= _DOUBTED:
        return f"{first:.3f}", False, code
    kernels[AGAIN] = lhkit.compile(payload)
    found = [ratios(kernels, arrays, 5 * seconds, seed) for seed in (1, 2, 3)]
    each = [f"{of[SCHEDULED]:.3f} (same code {of[AGAIN]:.3f})" for of in found]
    again = min(1, statistics.median(of[AGAIN] for of in found))
    is_slower = statistics.median(of[SCHEDULED] for of in found) < _DOUBTED * again
    return f"{first:.3f}, then {', '.join(each)}", is_slower, code


def main() -> None:
    """Compare the problems and print them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.beside_unscheduled", description=__doc__)
    parser.add_argument("numbers", nargs="*", help="such as 1.12; all without any")
    parser.add_argument("--seconds", type=float, default=0.6, help="of each first comparison")
    parser.add_argument("--known", type=Path, help="file of what is not slower: timed again with other code")
    options = parser.parse_args()
    numbers = options.numbers or list(kernelbench_models.problems())
    file = options.known
    known = json.loads(file.read_text()) if file is not None and file.exists() else {}
    slower = []
    for number in numbers:
        try:
            said, is_slower, code = compare(number, options.seconds, known)
        except lhkit.LhkitError as error:
            said, is_slower, code = f"not compared: {error.failure.message}", False, ""
        say(f"{number}: {said}")
        if file is not None:
            known[number] = "" if is_slower else code
            file.write_text(json.dumps(known))
        slower += [number] * is_slower
    say(f"{len(numbers)} problems; slower by the median of three comparisons: {', '.join(slower) or 'none'}")


if __name__ == "__main__":
    main()
