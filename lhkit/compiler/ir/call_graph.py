"""Which functions of a payload call which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.functions import symbol_name
from lhkit.compiler.ir.parsing import walk


def functions_in(op: Any) -> list[Any]:
    """Return the functions with a body that an op is or holds, in order."""
    found = [o for o in (op, *walk(op)) if o.name == "func.func"]
    return [f for f in found if len(f.regions[0].blocks)]


def called_by(op: Any) -> str | None:
    """Return the name of the function that an op calls, None if it is no ``func.call``."""
    return str(ir.FlatSymbolRefAttr(op.attributes["callee"]).value) if op.name == "func.call" else None


def calls_of(function: Any) -> list[Any]:
    """Return the calls of a function in the module around it, in order."""
    name = symbol_name(function)
    return [op for op in walk(function.parent.operation) if called_by(op) == name]


def other_references(function: Any) -> list[Any]:
    """Return what refers to a function otherwise than by calling it."""
    mention = f"@{symbol_name(function)}"
    found = []
    for op in walk(function.parent.operation):
        skipped = ("callee",) if op.name == "func.call" else ()
        names = [n for n in op.attributes if n not in skipped]
        if any(_is_reference(op.attributes[n], mention) for n in names):
            found.append(op)
    return found


def _is_reference(attribute: Any, mention: str) -> bool:
    if isinstance(attribute, ir.ArrayAttr):
        return any(_is_reference(a, mention) for a in attribute)
    return isinstance(attribute, ir.FlatSymbolRefAttr | ir.SymbolRefAttr) and str(attribute) == mention


def callees_first(functions: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return functions so that each stands after those it calls, and the recursive ones among them."""
    by_name = {symbol_name(f): f for f in functions}
    calls = {n: _called(f, by_name) for n, f in by_name.items()}
    ordered: list[Any] = []
    done: set[str] = set()

    def visit(name: str, around: tuple[str, ...]) -> None:
        if name in done or name in around:
            return
        for callee in calls[name]:
            visit(callee, (*around, name))
        done.add(name)
        ordered.append(by_name[name])

    for name in by_name:
        visit(name, ())
    recursive = [by_name[n] for n in by_name if n in _reached(calls, n)]
    return ordered, recursive


def _called(function: Any, names: dict[str, Any]) -> list[str]:
    found = (called_by(op) for op in walk(function))
    return list(dict.fromkeys(n for n in found if n in names))


def _reached(calls: dict[str, list[str]], start: str) -> set[str]:
    found: set[str] = set()
    open_names = list(calls[start])
    while open_names:
        name = open_names.pop()
        if name not in found:
            found.add(name)
            open_names.extend(calls[name])
    return found
