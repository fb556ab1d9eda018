"""Functions as another compiler sees them from outside: buffer views taken in and given back, now tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lhkit.text.lexer import Token
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import Replacement
from lhkit.text.upgrades.rule_edits import Finding, between, replaced, rewrite
from lhkit.text.upgrades.signatures import signature_of

_VIEW = "!hal.buffer_view"
_IMPORT, _EXPORT = "hal.tensor.import", "hal.tensor.export"


def tensors_for_views(function: OpSyntax) -> Iterable[Finding]:
    """Give a function tensors for the buffer views that it does nothing with but import and export.

    A view that is used for more is left, and so is the whole function then.
    """
    if not any(t.text == _VIEW for t in function.head) or len(function.regions) != 1:
        return
    body = function.regions[0].ops
    imports = {_operand(s): s for s in body if s.spelling == _IMPORT}
    exports = {s.results[0].text: s for s in body if s.spelling == _EXPORT and s.results}
    edits = [*_arguments(function, imports), *_results(function, body, exports)]
    views = sum(t.text == _VIEW for t in function.head)
    if sum(1 for e in edits if e.text and e.start < function.regions[0].start) != views:
        return
    if any(_used(body, name) != 1 for name in (*imports, *exports)):
        return
    gone = [*imports.values(), *exports.values()]
    edits += [_removed(s, body[i + 1]) for i, s in enumerate(body[:-1]) if any(s is g for g in gone)]
    yield rewrite(function.at, f"{_VIEW} with {_IMPORT}", "tensors", *edits)


def _arguments(function: OpSyntax, imports: dict[str, OpSyntax]) -> Iterator[Replacement]:
    tokens = function.head
    for i, token in enumerate(tokens[:-2]):
        if token.kind == "value" and tokens[i + 2].text == _VIEW and token.text in imports:
            imported = imports[token.text]
            types = signature_of(imported).results or ()
            if len(types) == 1 and "{" not in types[0] and imported.results:
                yield between(token, tokens[i + 2], f"{imported.results[0].text}: {types[0]}")


def _results(
    function: OpSyntax, body: Sequence[OpSyntax], exports: dict[str, OpSyntax]
) -> Iterator[Replacement]:
    ending = body[-1] if body else None
    if ending is None or ending.spelling not in ("return", "func.return"):
        return
    values = [t for t in ending.head if t.kind == "value"]
    types = [t for t in ending.head if t.kind == "type"]
    arrow = next((i for i, t in enumerate(function.head) if t.text == "->"), len(function.head))
    places: list[Token] = [t for t in function.head[arrow:] if t.text == _VIEW]
    if not len(values) == len(types) == len(places):
        return
    for value, type_, place in zip(values, types, places, strict=True):
        exported = exports.get(value.text)
        source = signature_of(exported).operands if exported else ()
        if exported is None or len(source) != 1 or "{" in source[0]:
            continue
        yield replaced(place, source[0])
        yield replaced(value, _operand(exported))
        yield replaced(type_, source[0])


def _operand(op: OpSyntax) -> str:
    return next((t.text for t in op.head if t.kind == "value"), "")


def _used(body: Sequence[OpSyntax], name: str) -> int:
    tokens = (t for s in body for inner in s.walk() for t in inner.tokens)
    return sum(t.text == name for t in tokens)


def _removed(op: OpSyntax, following: OpSyntax) -> Replacement:
    """Return the edit that takes out a op, with its line where nothing else is between the two."""
    start = op.start
    if following.first.line == op.last.line + 1:
        return Replacement(start - op.first.column + 1, following.start - following.first.column + 1, "")
    return Replacement(start, op.end, "")
