"""Upgrade rules for ops of IREE's util dialect that have an equal in MLIR: globals, and functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from lhkit.text.op_tree import OpSyntax
from lhkit.text.parser import first_outside, source_of
from lhkit.text.upgrades.rule_edits import Finding, between, rename, replaced, rewrite_op


def global_of_program(op: OpSyntax) -> Iterable[Finding]:
    """A global of IREE's util dialect is one of ml_program; its value stands behind its name."""
    name = next((t for t in op.head if t.kind == "symbol"), None)
    if name is None:
        return
    words = [t.text for t in op.head if t.start < name.start and t.text in ("private", "public", "mutable")]
    visibility = "public" if "public" in words else "private"
    behind = [t for t in op.head if t.start > name.start]
    colon, sign = first_outside(behind, ":"), first_outside(behind, "=")
    if colon is None:
        return
    if sign is not None and sign > colon:  # the value behind the type
        type_, value = source_of(behind[colon + 1 : sign]), source_of(behind[sign + 1 :])
        value = value if " : " in value else f"{value} : {type_}"
    else:
        type_ = source_of(behind[colon + 1 :])
        value = "" if sign is None else f"{source_of(behind[sign + 1 : colon])} : {type_}"
    if not value and "mutable" not in words:
        value = f"#ml_program.extern : {type_}"
    mutable = " mutable" if "mutable" in words else ""
    given = f"({value})" if value else ""
    text = f"ml_program.global {visibility}{mutable} {name.text}{given} : {type_}"
    yield rewrite_op(op, op.spelling, "ml_program.global", text)


def load_of_global(op: OpSyntax) -> Iterable[Finding]:
    """``util.global.load`` said whether the global is immutable."""
    yield rename(op, "ml_program.global_load", *(replaced(t, "") for t in op.head[:1] if t.text == "immutable"))


def store_of_global(op: OpSyntax) -> Iterable[Finding]:
    """``util.global.store %value, @name``: the name comes first."""
    value, name = (next((t for t in op.head if t.kind == kind), None) for kind in ("value", "symbol"))
    if value is not None and name is not None:
        yield rename(op, "ml_program.global_store", between(value, name, f"{name.text} = {value.text}"))


def function_of_util(op: OpSyntax) -> Iterable[Finding]:
    """Functions of the util dialect are those of func, but for tied results."""
    yield rename(op, f"func.{op.spelling.partition('.')[2]}")


UTIL_RULES: Mapping[str, tuple[Callable[[OpSyntax], Iterable[Finding]], ...]] = {
    "util.global": (global_of_program,),
    "util.global.load": (load_of_global,),
    "util.global.store": (store_of_global,),
    **dict.fromkeys(("util.func", "util.return", "util.call"), (function_of_util,)),
}
