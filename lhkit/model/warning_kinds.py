"""The kinds of warnings about silent mistakes, and how each is switched off by name.

By argument (``no_warnings=["zero-match"]``), by option (``--no-warning zero-match``), or in the text of the
schedule: a comment ``// lhkit: allow zero-match`` on the line of an op's name or on the line before it is for
that op; above the first line of code it is for the whole file. Several kinds are separated by commas.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lhkit.model.errors import usage_error

WARNING_KINDS: Mapping[str, str] = {
    "zero-match": "A step that looks for payload ops finds none; later steps on its result do nothing.",
    "no-effect": "A step consumes its operand and leaves the payload as it was, or acts on empty handles.",
    "tile-size-zero": "Every tile size, or number of threads, is zero: nothing is tiled.",
    "tile-size-negative": "A tile size is negative: the payload will not verify.",
    "tile-size-too-large": "A tile size is larger than the static extent of its dimension: the loop runs once.",
    "repeated-payload": "A handle lists one op twice; a step that consumes it will fail.",
    "unused-handle": "A step only finds something, and nothing uses what it found.",
    "lost-contraction": "Vectorization left a contraction as product and reduction, not as vector.contract.",
    "scalar-code-left": "Beside vectorized ops, structured ops are left that will run element by element.",
    "vector-too-large": "A vector has so many elements that LLVM may take minutes over it.",
    "knob-without-effect": "Every option of a knob gives the same payload (looked for on request).",
}

# Above this LLVM slows down: to add vectors of 65,536 elements took 40 times as long to compile as of 2,048,
# and a vector of 262,144 takes minutes.
MOST_VECTOR_ELEMENTS = 16_384


def check_kinds(kinds: Iterable[str]) -> frozenset[str]:
    """Return the kinds as a set.

    Raises:
        UsageError: One of them does not exist.
    """
    chosen = frozenset(kinds)
    if unknown := sorted(chosen - WARNING_KINDS.keys()):
        raise usage_error(f"no warning is called {unknown[0]!r}", f"There are {', '.join(WARNING_KINDS)}.")
    return chosen
