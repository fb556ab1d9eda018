"""Breakages by a wrong word or number: names to match, scopes, tile sizes, numbers of operands."""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchmarks.intents.edits import (
    MATCH,
    PRODUCER,
    TILE_AND_FUSE,
    TILES,
    Change,
    change,
    in_place_of,
    ops,
    seen_before,
    use_text,
)
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import Replacement, Script
from lhkit.text.step_arguments import arguments_of, elements_of

_SIZED = (*TILES, TILE_AND_FUSE)


def misspelled_match(script: Script, payload: str) -> Iterator[Change]:
    """Misspell the name of the op to match. Silent, or loud at the step that is given nothing."""
    del payload
    for op, name, start in _matched_names(script):
        dialect, _, short = name.partition(".")
        longer = {"mul": "mult", "div": "divide", "sub": "subtract", "max": "maximum", "add": "addf"}
        wrong = (
            *(f"{dialect}.{longer.get(short, short + short[-1])}", f"{dialect}.{short[:-1]}"),
            f"{'tensor' if dialect == 'linalg' else 'scf'}.{short}",
        )
        for other in wrong:
            yield change(
                script, op, [Replacement(start, start + len(name), other)], f"matches {other}, not {name}"
            )


def other_match(script: Script, payload: str) -> Iterator[Change]:
    """Match another op that the payload has. Loud or silent."""
    present = sorted(set(re.findall(r"linalg\.\w+", payload)) - {"linalg.yield", "linalg.index"})
    for op, name, start in _matched_names(script):
        for other in present if name.startswith("linalg.") else ():
            if other != name:
                what = f"matches {other}, not {name}"
                yield change(script, op, [Replacement(start, start + len(name), other)], what)


def _matched_names(script: Script) -> Iterator[tuple[OpSyntax, str, int]]:
    for op in ops(script, MATCH):
        if name := op.string:
            yield op, name, script.text.index(f'"{name}"', op.start) + 1


def wrong_scope(script: Script, payload: str) -> Iterator[Change]:
    """Match inside an op or a loop that lacks such an op. Silent, or loud at the step that is given nothing."""
    del payload
    for op in ops(script, MATCH):
        scope = op.operands[-1]
        for other, _, _ in seen_before(script, op)[-3:]:
            if other != use_text(script, scope):
                what = f"matches {op.string or 'an interface'} in {other}, not in {scope.text}"
                yield change(script, op, [in_place_of(scope, other)], what)


def _sizes(script: Script) -> Iterator[tuple[OpSyntax, int, int, list[str]]]:
    """Yield the steps that tile, with span and elements of their sizes; only those written as numbers."""
    for op in ops(script, *_SIZED):
        for argument in arguments_of(op):
            if argument.name == "tile_sizes" and argument.form == "list":
                spans = elements_of(op, argument.start, argument.end)
                sizes = [script.text[a:b] for a, b in spans]
                if all(size.isdigit() for size in sizes):
                    yield op, argument.start, argument.end, sizes


def _with_sizes(script: Script, op: OpSyntax, start: int, end: int, sizes: list[str], why: str) -> Change:
    new = f"[{', '.join(sizes)}]"
    what = f"{op.name}: sizes {new} instead of {script.text[start:end]} ({why})"
    return change(script, op, [Replacement(start, end, new)], what)


def too_large_tile(script: Script, payload: str) -> Iterator[Change]:
    """Write a tile size that is the largest extent, or above it. Silent: the loop runs once."""
    shapes = re.findall(r"tensor<((?:\d+x)+)", payload)
    largest = max(int(n) for shape in shapes for n in shape.rstrip("x").split("x"))
    for op, start, end, sizes in _sizes(script):
        for i, size in enumerate(sizes):
            for new in (largest, 2 * largest):
                if size != "0":
                    changed = [*sizes[:i], str(new), *sizes[i + 1 :]]
                    yield _with_sizes(script, op, start, end, changed, "too large")


def wrong_dimension(script: Script, payload: str) -> Iterator[Change]:
    """Write the tile sizes in another order, so that other dimensions are tiled. Usually silent."""
    del payload
    for op, start, end, sizes in _sizes(script):
        orders = [sizes[::-1], [*sizes[1:], sizes[0]], sizes[1:] if sizes[0] == "0" else ["0", *sizes]]
        for order in orders:
            if order != sizes:
                yield _with_sizes(script, op, start, end, order, "another dimension")


def recomputed_producer(script: Script, payload: str) -> Iterator[Change]:
    """Tile a dimension more, so that each iteration computes a whole fused producer. Usually silent."""
    del payload
    for op, start, end, sizes in _sizes(script):
        if op.name == TILES[1] and len(sizes) < 3:
            for size in ("2", "4"):
                yield _with_sizes(script, op, start, end, [*sizes, size], "producers recomputed")
    for op in ops(script, *TILES):
        name = op.results[-1]
        if name.count > 1:
            for definition in script.results_of(op):
                for use, user in definition.uses_of(f"{name.text}#{name.count - 1}"):
                    what = f"{user.name} given the outer loop instead of the inner"
                    yield change(script, user, [in_place_of(use, f"{name.text}#0")], what)


def wrong_operand_number(script: Script, payload: str) -> Iterator[Change]:
    """Ask for the producer of another operand. Loud or silent."""
    del payload
    for op in ops(script, PRODUCER):
        written = script.text[op.start : op.end]
        for found in re.finditer(r"\[(\d)\]", written):
            number = int(found[1])
            for other in {0, 1, 2, 3} - {number}:
                place = Replacement(op.start + found.start(1), op.start + found.end(1), str(other))
                yield change(script, op, [place], f"producer of operand {other}, not {number}")
