"""Breakages by a wrong handle: a consumed one, a loop for an op, two exchanged, a number of results."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from benchmarks.intents.edits import (
    CONSUMING,
    FUSE,
    INCLUDE,
    SPLIT,
    TILE_AND_FUSE,
    TILES,
    VECTORIZE,
    Change,
    change,
    in_place_of,
    is_loop,
    loops_before,
    ops,
    seen_before,
    use_text,
    uses_of,
)
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import Replacement, Script, indent_of


def consumed_again(script: Script, payload: str) -> Iterator[Change]:
    """Give a later step the handle that was consumed instead of the result. Usually loud."""
    del payload
    for op in ops(script, *CONSUMING):
        if op.values and op.operands:
            old = use_text(script, op.operands[0])
            for use, user in uses_of(script, op, 0):
                what = f"{user.name} given the consumed {old} instead of {use.text}"
                yield change(script, user, [in_place_of(use, old)], what)


def consumed_argument(script: Script, payload: str) -> Iterator[Change]:
    """Use what an include consumed: its argument, or one marked consumed by mistake. Usually loud."""
    del payload
    for op in ops(script, INCLUDE):
        for result in range(len(op.values)):
            for use, user in uses_of(script, op, result):
                for argument in op.operands:
                    what = (
                        f"{user.name} given {argument.text}, which an include consumed, instead of {use.text}"
                    )
                    yield change(script, user, [in_place_of(use, use_text(script, argument))], what)
        owner = next((o for o in script.steps if o.symbol == op.symbol and o.arguments), None)
        if owner is not None:
            mark = script.text.find("transform.readonly", owner.start, owner.end)
            if mark >= 0:
                swapped = Replacement(mark, mark + len("transform.readonly"), "transform.consumed")
                yield change(script, owner, [swapped], f"an argument of {op.symbol} marked consumed")


def loop_for_op(script: Script, payload: str) -> Iterator[Change]:
    """Give a step the loop in place of the tiled op, or the op in place of the loop. Usually loud."""
    del payload
    for op in ops(script, *TILES, FUSE, TILE_AND_FUSE):
        values = list(op.values)
        for result in range(len(values)):
            for use, user in uses_of(script, op, result):
                for other in range(len(values)):
                    if is_loop(op, result) != is_loop(op, other):
                        what = f"{user.name} given {values[other]} instead of {use.text}"
                        yield change(script, user, [in_place_of(use, values[other])], what)


def vectorized_loop(script: Script, payload: str) -> Iterator[Change]:
    """Give the vectorize step the root or a loop. Usually loud."""
    del payload
    for op in ops(script, VECTORIZE):
        for other in ["%root", *loops_before(script, op)[:2]]:
            owner, _, _ = script.home_of(op)
            if other == "%root" and (owner is None or owner.symbol != "@__transform_main"):
                continue
            what = f"vectorize given {other} instead of {op.operands[0].text}"
            yield change(script, op, [in_place_of(op.operands[0], other)], what)


def wrong_result_count(script: Script, payload: str) -> Iterator[Change]:
    """Write one result too many or too few, with its type. Loud: in the verifier or when it applies."""
    del payload
    for op in ops(script, SPLIT, *TILES):
        start, end = op.start, op.end
        written = script.text[start:end]
        head, _, tail = written.partition(" = ")
        arrow = tail.rfind("->")
        given, taken = tail[arrow:].count("!transform.any_op"), tail[:arrow]
        for count in (given - 1, given + 1):
            if count < 1 or (count < given and uses_of(script, op, given - 1)):
                continue
            names = _with_count(head, count)
            if names is not None:
                types = ", ".join(["!transform.any_op"] * count)
                new = f"{names} = {taken}-> {f'({types})' if count > 1 else types}"
                what = f"{count} results of {op.name} instead of {given}"
                yield change(script, op, [Replacement(start, end, new)], what)


def _with_count(head: str, count: int) -> str | None:
    """Return the names of results for another count: one more at the end, or the last one gone."""
    names = [name.strip() for name in head.split(",")]
    total = sum(int(name.partition(":")[2] or 1) for name in names)
    grouped = re.fullmatch(r"(%[\w$.-]+):(\d+)", names[-1])
    if grouped:
        size = int(grouped[2]) + count - total
        return (
            None if size < 1 else ", ".join([*names[:-1], f"{grouped[1]}:{size}" if size > 1 else grouped[1]])
        )
    return ", ".join(names[:-1] if count < total else [*names, "%more"])


def swapped_handles(script: Script, payload: str) -> Iterator[Change]:
    """Exchange two handles: the results of a split, or what two steps of one name are given. Loud or silent."""
    del payload
    for op in ops(script, SPLIT):
        for one, two in itertools.pairwise(op.results):
            swap = [
                Replacement(one.start, one.start + len(one.text), two.text),
                Replacement(two.start, two.start + len(two.text), one.text),
            ]
            yield change(script, op, swap, f"{one.text} and {two.text} of the split exchanged")
    steps = [op for op in ops(script) if op.operands and op.name in (*TILES, VECTORIZE, FUSE)]
    for first in steps:
        for second in steps:
            same_home = script.home_of(first)[0] == script.home_of(second)[0]
            if first.start >= second.start or first.name != second.name or not same_home:
                continue
            a, b = first.operands[0], second.operands[0]
            definition = next((d for d in script.handles.definitions if d.uses_of(b.text)), None)
            if a.text != b.text and definition is not None and definition.name.start < first.start:
                what = f"{a.text} and {b.text} exchanged in two {first.name}"
                yield change(script, first, [in_place_of(a, b.text), in_place_of(b, a.text)], what)


def suppressed(script: Script, payload: str) -> Iterator[Change]:
    """Wrap a step in a sequence that suppresses failures, and give it what it fails on. Usually silent."""
    del payload
    for op in ops(script, VECTORIZE, "transform.loop.unroll"):
        owner, _, _ = script.home_of(op)
        if owner is None or owner.name != "transform.named_sequence" or op.values:
            continue
        indent = indent_of(script.text, op.start)
        use = op.operands[0]
        loops = [loop for loop in loops_before(script, op) if loop != use.text]
        tiles = [value for value in _ops_before(script, op) if value != use.text]
        wrong = (loops if op.name == VECTORIZE else tiles)[:2]
        for handle in wrong:
            step = (
                script.text[op.start : use.start] + "%inner" + script.text[use.start + len(use.text) : op.end]
            )
            lines = (
                f"transform.sequence {handle} : !transform.any_op failures(suppress) {{",
                "^bb0(%inner: !transform.any_op):",
                f"  {step}",
                "}",
            )
            new = f"\n{indent}".join(lines)
            what = f"{op.name} of {use.text} given {handle} in a sequence that suppresses its failure"
            yield change(script, op, [Replacement(op.start, op.end, new)], what)


def _ops_before(script: Script, op: OpSyntax) -> list[str]:
    found = seen_before(script, op)
    return [value for value, other, i in reversed(found) if other.name in (*TILES, FUSE) and i == 0]
