"""Kinds of payload ops as far as a schedule names them: ops and interfaces of a match, types of handles."""

from __future__ import annotations

import re

# Names of ops, and of interfaces in angle brackets; None where nothing is known.
Kinds = frozenset[str] | None

LINALG, TILING, LOOPS = "<LinalgOp>", "<TilingInterface>", "<LoopLikeInterface>"
# The values of transform.structured.match's `interface` attribute.
INTERFACES = (LINALG, TILING, LOOPS)
MODULE: Kinds = frozenset({"builtin.module"})
FUNCTION: Kinds = frozenset({"func.func"})

_LOOP_NAMES = ("scf.for", "scf.forall", "scf.parallel", "scf.while", "affine.for", "affine.parallel")
# What is called linalg and is no LinalgOp; it can be tiled all the same, but for terminators and the like.
_OTHER_LINALG = (
    "linalg.softmax",
    "linalg.pack",
    "linalg.unpack",
    "linalg.winograd_filter_transform",
    "linalg.winograd_input_transform",
    "linalg.winograd_output_transform",
)
_NO_STRUCTURE = ("linalg.yield", "linalg.index")
_TYPE = re.compile(r'!transform\.op<"([^"]+)">')
_OUTSIDE = frozenset({"builtin.module", "func.func"})


def kinds_of_type(type_: str) -> Kinds:
    """Return the kind of op that a handle type names, None for ``any_op`` and others."""
    match = _TYPE.fullmatch(type_)
    return frozenset({match[1]}) if match else None


def _implements(name: str, interface: str) -> bool:
    if name == interface:
        return True
    if interface not in INTERFACES:
        return False
    if name in INTERFACES:
        return (name, interface) == (LINALG, TILING)
    if interface == LOOPS:
        return name in _LOOP_NAMES
    if name in _OTHER_LINALG or name == "tensor.pad":
        return interface == TILING
    return name.startswith("linalg.") and name not in _NO_STRUCTURE


def kinds_meet(a: Kinds, b: Kinds) -> bool:
    """Return True if both are known and an op can be of both."""
    if a is None or b is None:
        return False
    return any(_implements(x, y) or _implements(y, x) for x in a for y in b)


def kinds_within(a: Kinds, b: Kinds) -> bool:
    """Return True if every op of kinds ``a`` is of kinds ``b``."""
    if a is None or b is None:
        return False
    return all(any(_implements(x, y) for y in b) for x in a)


def is_outer(kinds: Kinds) -> bool:
    """Return True for functions and modules: ops do not leave them, and they lie in no loop."""
    return kinds is not None and kinds <= _OUTSIDE


def is_plain(kinds: Kinds) -> bool:
    """Return True for structured ops: they are no loops, and have none of their like inside."""
    return kinds is not None and kinds_within(kinds, frozenset({TILING}))


def is_loop(kinds: Kinds) -> bool:
    """Return True for loops."""
    return kinds is not None and kinds_within(kinds, frozenset({LOOPS}))
