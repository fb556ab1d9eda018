"""Warnings that the interpreter finds while a schedule runs; `lhkit.traces.warnings` finds the others."""

from __future__ import annotations

from collections.abc import Mapping

INTERPRETER_WARNINGS: Mapping[str, str] = {
    "zero-match": "A step that looks for payload ops finds none; later steps on its result do nothing.",
    "no-effect": "A step consumes its operand and leaves the payload as it was, or acts on empty handles.",
    "tile-size-zero": "Every tile size, or number of threads, is zero: nothing is tiled.",
    "tile-size-negative": "A tile size is negative: the payload will not verify.",
    "tile-size-too-large": "A tile size is larger than the static extent of its dimension: the loop runs once.",
}

# Above this LLVM slows down: to add vectors of 65,536 elements took 40 times as long to compile as of 2,048,
# and a vector of 262,144 takes minutes.
MOST_VECTOR_ELEMENTS = 16_384
