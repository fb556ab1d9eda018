"""Recipes: named sequences over op handles that are included as one step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from lhkit.compose.form_text import kind_of_type
from lhkit.model.schedule import DEFAULT_ENTRY
from lhkit.text.knob_text import needed_sequences
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import (
    SEQUENCE,
    Edited,
    Replacement,
    Script,
    StepRef,
    indent_of,
    indented,
    line_end,
    lines_of,
    symbol_name,
    with_replacements,
)
from lhkit.text.step_arguments import result_types_of
from lhkit.text.step_edits import insert_step


@dataclass(frozen=True, slots=True)
class Recipe:
    """A named sequence whose arguments are handles to ops.

    Attributes:
        sentence: The first line of the comment above it.
        sequences: The named sequences to add to the schedule; empty if it has them.
        clash: The symbol of one of them that means something else there; empty if none does.
    """

    name: str
    sentence: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    sequences: str = ""
    clash: str = ""


def own_recipes(script: Script, entry: str, around: Iterable[str]) -> Iterator[Recipe]:
    """Yield the recipes of a schedule itself, private ones included."""
    sequences = _sequences(script)
    for name in sequences:
        if f"@{symbol_name(name)}" != entry and not needed_sequences(script, sequences, {name}) & set(around):
            yield from _recipe(script, sequences[name], "", "")


def recipes_to_declare(script: Script, library: Script) -> Iterator[Recipe]:
    """Yield the public recipes of a library that a schedule has already, with the declarations they lack."""
    known = {op.symbol for op in script.steps if op.name == SEQUENCE}
    for name, op in _sequences(library).items():
        if _is_public(op):
            yield from _recipe(library, op, "" if name in known else _declaration(library, op), "")


def recipes_to_copy(script: Script, source: Script, taken: Iterable[str] = ()) -> Iterator[Recipe]:
    """Yield the public recipes of another file that the schedule has no copy of, with their sequences."""
    theirs = _sequences(source)
    texts = {name: lines_of(source.text, op, op) for name, op in theirs.items()}
    ours = dict.fromkeys(taken, "")
    ours |= {op.symbol: lines_of(script.text, op, op) for op in script.steps if op.name == SEQUENCE}
    for name, op in theirs.items():
        if name in ours or not _is_public(op):
            continue
        needed = needed_sequences(source, theirs, {name})
        missing = [n for n in theirs if n in needed and ours.get(n) != texts[n]]
        clash = next((n for n in missing if n in ours), "")
        yield from _recipe(source, op, "\n\n".join(texts[n] for n in missing), clash)


def insert_recipe(script: Script, lines: str, sequences: str, **place: StepRef) -> Edited:
    """Insert steps, and the named sequences that they include behind the enclosing sequence."""
    edited = insert_step(script, lines, **place)
    if not sequences:
        return edited
    at = script.find(next(iter(place.values()))).start
    home = next(op for op in script.steps if op.name == SEQUENCE and op.start <= at < op.end)
    end = line_end(script.text, home.end)
    text = "\n\n" + indented(sequences, indent_of(script.text, home.start)).removesuffix("\n")
    placed = Replacement(end, end, text)
    return script.edited([*edited.replacements, placed], edited.title, edited.notes)


def _sequences(script: Script) -> Mapping[str, OpSyntax]:
    """Return the top-level named sequences with a body, by symbol."""
    found = {}
    for top in script.syntax.ops:
        inner = [op for r in top.regions for op in r.ops] if top.name == "builtin.module" else [top]
        found.update({op.symbol: op for op in inner if op.name == SEQUENCE and op.regions})
    return found


def _is_public(op: OpSyntax) -> bool:
    return not op.is_generic and op.head[0].text != "private" and op.symbol != f"@{DEFAULT_ENTRY}"


def _declaration(script: Script, op: OpSyntax) -> str:
    """Return the private declaration of a sequence: its head without the names of its arguments."""
    symbol = next(token for token in op.head if token.kind == "symbol")
    names = [Replacement(a.start, a.type_span[0], "") for a in op.arguments if a.type_span is not None]
    head = with_replacements(
        script.text[: op.regions[0].start], [Replacement(symbol.start, symbol.start, "private "), *names]
    )
    return head[op.start :].rstrip()


def _recipe(script: Script, op: OpSyntax, sequences: str, clash: str) -> Iterator[Recipe]:
    spans = [a.type_span for a in op.arguments]
    arguments = tuple(script.text[s[0] : s[1]] for s in spans if s is not None)
    if op.is_generic or not arguments or any(kind_of_type(a) != "op" for a in arguments):
        return
    results = tuple(script.text[start:end] for start, end in result_types_of(op))
    comment = script.text[op.lead : op.start].strip().partition("\n")[0]
    sentence = comment.lstrip("/ ") if comment.startswith("//") else ""
    yield Recipe(op.symbol, sentence, arguments, results, sequences, clash)
