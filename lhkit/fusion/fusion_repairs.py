"""Changes of a schedule that may fuse two ops, for each cause; `fusion_doctor` tries them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from lhkit.fusion.fusion_case import FusionCase, loops_around, path_between, readers, result_type
from lhkit.fusion.fusion_causes import FUSE, Finding
from lhkit.model.trace_record import TraceStep
from lhkit.repairs.repair_context import ANY_OP, Candidate, RepairContext, candidate, edit_candidate, op_at
from lhkit.repairs.repair_trials import candidates_for, contexts
from lhkit.text.script import (
    SEQUENCE,
    Replacement,
    Script,
    fresh_name,
    is_terminator,
    names_in,
    put_before,
    symbol_name,
)
from lhkit.text.step_arguments import arguments_of, set_argument
from lhkit.text.step_edits import move_step, remove_step
from lhkit.traces.record.placed_ops import PlacedOps

_FOR, _FORALL = "transform.structured.tile_using_for", "transform.structured.tile_using_forall"
_FOLD = "transform.apply_patterns.tensor.fold_into_pack_and_unpack"
_GATED = "lhkit.fold_transpose_into_pack"
_ELEMENTWISE = "linalg-fuse-elementwise-ops"


def changes_for(case: FusionCase, finding: Finding, script: Script) -> Iterator[Candidate]:
    """Yield changes that may fuse the two, those that keep most of the schedule first."""
    for context in contexts(case.trace, script):
        yield from candidates_for(context)
    yield from _gated(case, finding, script)
    yield from _moved(case, finding, script)
    yield from _with_foralls(case, script)
    yield from _with_other_sizes(case, finding, script)
    for step in case.trace.step_records:
        if step.op == FUSE and step.status != "not-run" and (op := op_at(script, step)):
            yield from _others_first(case, RepairContext(case.trace, script, step, op))
    yield from _written(case, script)


def _number(script: Script, step: TraceStep) -> int | None:
    op = op_at(script, step)
    return None if op is None else script.number_of(op)


def _moved(case: FusionCase, finding: Finding, script: Script) -> Iterator[Candidate]:
    """Yield changes that move the responsible step behind those after it, or remove it."""
    steps = case.trace.step_records
    if finding.step is None or finding.cause not in ("wrong-order", "folded-transpose", "dead-handle"):
        return
    culprit = op_at(script, steps[finding.step])
    if culprit is None or culprit.name == FUSE:
        return
    _, block, at = script.home_of(culprit)
    number = script.number_of(culprit)
    for later in reversed([op for op in block[at + 1 :] if not is_terminator(op)]):
        title = f"Move {script.describe(culprit)} behind {script.describe(later)}"
        yield from edit_candidate(
            "order", title, partial(move_step, script, number, after=script.number_of(later)), 1
        )
    for along in (False, True):
        title = f"Remove {script.describe(culprit)}" + (" and what depends on it" if along else "")
        edit = partial(remove_step, script, number, with_dependents=along)
        yield from edit_candidate("order", title, edit, 3 + along)


def _gated(case: FusionCase, finding: Finding, script: Script) -> Iterator[Candidate]:
    """Yield changes that fold a transpose into a pack only where nothing else reads it."""
    if finding.cause != "folded-transpose" or finding.step is None:
        return
    op = op_at(script, case.trace.step_records[finding.step])
    if op is None:
        return
    title = "Fold a transpose into a pack only where the pack is its single use"
    if op.name == _GATED:
        yield from edit_candidate(
            "gate", title, partial(set_argument, script, script.number_of(op), "single_use", "")
        )
    inner = [o for region in op.regions for o in region.ops]
    if [o.name for o in inner if not is_terminator(o)] == [_FOLD]:
        target = op.operands[0].text
        context = RepairContext(case.trace, script, case.trace.step_records[finding.step], op)
        found = next((h for h in context.live_in_sight() if h.value == target), None)
        line = f'{context.fresh("%folded")} = "{_GATED}"({target}) {{single_use}} : ({found.type if found else ANY_OP}) -> {ANY_OP}'
        yield candidate("gate", title, script, [Replacement(op.start, op.end, line)])


def _with_foralls(case: FusionCase, script: Script) -> Iterator[Candidate]:
    """Yield changes that tile by scf.forall: what else reads the producer then reads a result of the loop."""
    for step in case.trace.step_records:
        op = op_at(script, step) if step.op == _FOR and case.holds(step, 0, case.consumer) else None
        if op is None:
            continue
        results, text = script.results_of(op), script.text
        values = [(d, v) for d in results for v in d.name.values]
        loop = fresh_name("%loop", names_in(text))
        tile = values[0][1].partition("#")[0]
        operands = text[op.name_start + len(_FOR) : op.end].partition(": (")[0].rstrip()
        type_ = text[op.start : op.end].rpartition("->")[0].rpartition(": (")[2].strip().removesuffix(")")
        line = f"{tile}, {loop} = {_FORALL}{operands}\n  : ({type_}) -> ({ANY_OP}, {ANY_OP})"
        edits = [Replacement(op.start, op.end, line)]
        for definition, value in values[1:]:
            edits += [Replacement(use.start, use.end, loop) for use, _ in definition.uses_of(value)]
        yield candidate(
            "loop", f"Tile by scf.forall in {script.describe(op)}: other users read its result", script, edits
        )


def _with_other_sizes(case: FusionCase, finding: Finding, script: Script) -> Iterator[Candidate]:
    """Yield changes that tile both by the same sizes, or leave inner tiles whole."""
    if finding.cause != "indivisible-sizes":
        return
    tiles = {}
    for name in (case.producer, case.consumer):
        for step in case.trace.step_records:
            op = op_at(script, step) if step.op in (_FOR, _FORALL) and case.holds(step, 0, name) else None
            sizes = next((a for a in arguments_of(op) if a.name == "tile_sizes"), None) if op else None
            if op and sizes:
                tiles[name] = op, script.text[sizes.start : sizes.end]
    for name, other in ((case.consumer, case.producer), (case.producer, case.consumer)):
        if name in tiles and other in tiles:
            (op, _), (_, text) = tiles[name], tiles[other]
            edit = partial(set_argument, script, script.number_of(op), "tile_sizes", text)
            yield from edit_candidate("sizes", f"Tile both by {text}", edit)
    if case.consumer in tiles:
        op, text = tiles[case.consumer]
        sizes = text.strip("[]").split(",")
        for count in range(len(sizes) - 1, 0, -1):
            whole = "[" + ",".join([*sizes[:count], *[" 0"] * (len(sizes) - count)]) + "]"
            edit = partial(set_argument, script, script.number_of(op), "tile_sizes", whole)
            yield from edit_candidate(
                "sizes", f"Tile by {whole}: inner tiles stay whole", edit, len(sizes) - count
            )


def _others_first(case: FusionCase, context: RepairContext) -> Iterator[Candidate]:
    """Yield changes that first fuse what is between the two into the loop, and hand results out of the loop.

    Only a linalg.generic becomes a further result of an scf.forall, so others are generalized.
    """
    container = next((h for h in context.live_in_sight() if h.value == context.op.operands[1].text), None)
    roots = context.roots_to_search()
    placed = case.before(context.step.index)
    between = [n for n in _between(case, placed) if not loops_around(placed, n)]
    if container is None or not roots:
        return
    use = context.op.operands[0]
    for generalizes in (False, True):
        if not between and not generalizes:
            continue
        writer = _Writer(placed, names_in(context.script.text), roots[0].value, roots[0].type)
        handles, loop, edits = [writer.pick(n) for n in between], container.value, []
        if generalizes:
            handles = [writer.generalize(h) for h in handles]
            edits.append(Replacement(use.start, use.end, writer.generalize(use.text)))
        for handle in handles:
            loop = writer.fuse(handle, loop, container.type if loop == container.value else ANY_OP)
        edits += context.renamed_uses(context.uses(container), loop) if between else []
        names = ", ".join(placed.ir.ops[n].name for n in between)
        title = f"Fuse {names} first" if between else "Generalize the producer"
        title += ", generalized so that it can be a result of the loop" if generalizes else ""
        edits.append(context.inserted("\n".join(writer.lines)))
        yield candidate("fusion", title, context.script, edits, 1 + generalizes)


def _between(case: FusionCase, placed: PlacedOps) -> list[int]:
    """Return the linalg ops through which values get from producer to consumer, the last first."""
    ends = [case.instances(placed, op) for op in (case.producer, case.consumer)]
    after = _reached(readers(placed), ends[0])
    found = [n for n in after - {*ends[0], *ends[1]} if path_between(placed, [n], ends[1], ends[0])]
    return sorted(
        (n for n in found if placed.ir.ops[n].name.startswith("linalg.") and n in after), reverse=True
    )


def _reached(links: dict[int, list[int]], starts: Sequence[int]) -> set[int]:
    found, waiting = set(starts), list(starts)
    while waiting:
        for each in links.get(waiting.pop(), ()):
            if each not in found:
                found.add(each)
                waiting.append(each)
    return found


@dataclass
class _Writer:
    """Writes steps on ops of a payload, which it finds by name and number."""

    placed: PlacedOps
    taken: set[str]
    root: str
    root_type: str = ANY_OP

    def __post_init__(self) -> None:
        self.lines: list[str] = []

    def fresh(self, name: str) -> str:
        new = fresh_name(name, self.taken)
        self.taken.add(new)
        return new

    def pick(self, number: int) -> str:
        """Write steps that find an op; return its handle."""
        name = self.placed.ir.ops[number].name
        same = [n for n, op in enumerate(self.placed.ir.ops) if op.name == name]
        found = self.fresh("%" + name.rpartition(".")[2])
        self.lines.append(
            f'{found} = transform.structured.match ops{{["{name}"]}} in {self.root} : ({self.root_type}) -> {ANY_OP}'
        )
        if len(same) == 1:
            return found
        each = self.fresh("%each")
        types = ", ".join([ANY_OP] * len(same))
        self.lines.append(f"{each}:{len(same)} = transform.split_handle {found} : ({ANY_OP}) -> ({types})")
        return f"{each}#{same.index(number)}"

    def generalize(self, handle: str) -> str:
        """Write a step that makes a linalg.generic of an op; return its handle."""
        generic = self.fresh("%generic")
        self.lines.append(f"{generic} = transform.structured.generalize {handle} : ({ANY_OP}) -> {ANY_OP}")
        return generic

    def tile(self, op: str, handle: str, sizes: str) -> str:
        """Write a step that tiles; return the loop."""
        tile, loop = self.fresh("%tile"), self.fresh("%loop")
        self.lines.append(
            f"{tile}, {loop} = {op} {handle} tile_sizes {sizes}\n  : ({ANY_OP}) -> ({ANY_OP}, {ANY_OP})"
        )
        return loop

    def fuse(self, handle: str, loop: str, loop_type: str = ANY_OP) -> str:
        """Write a step that fuses an op into a loop; return the loop."""
        inside, new = self.fresh("%inside"), self.fresh("%loop")
        self.lines.append(
            f"{inside}, {new} = {FUSE} {handle} into {loop}\n  : ({ANY_OP}, {loop_type}) -> ({ANY_OP}, {ANY_OP})"
        )
        return new


def _written(case: FusionCase, script: Script) -> Iterator[Candidate]:
    """Yield changes that fuse the two by steps at the end of the schedule, one for each of upstream's ways."""
    entry = next(
        (
            op
            for op in script.steps
            if op.name == SEQUENCE and symbol_name(op.symbol) == case.trace.schedule.entry
        ),
        None,
    )
    root = next(
        (d for d in script.handles.definitions if d.is_argument and entry and d.op.start == entry.start), None
    )
    if entry is None or root is None:
        return
    ends = [op for region in entry.regions for op in region.ops if is_terminator(op)]
    producers, consumers = (case.instances(case.last, op) for op in (case.producer, case.consumer))
    if not ends or not producers or not consumers:
        return
    between, loops = _between(case, case.last), loops_around(case.last, consumers[-1])
    producer = next((n for n in producers if not loops_around(case.last, n)), producers[-1])
    sizes = _sizes_for(result_type(case.last, consumers[-1]))
    for way in ("scf.forall", "scf.for", "structured.fuse", _ELEMENTWISE) if not loops else ("its loop",):
        writer = _Writer(case.last, {*names_in(script.text)}, root.name.text, _type_of_argument(script, root))
        consumer = writer.pick(consumers[-1])
        others = [writer.pick(n) for n in (*between, producer) if loops_around(case.last, n) == []]
        if way == _ELEMENTWISE:
            _write_elementwise(writer, [consumer, *others])
        elif way == "structured.fuse":
            writer.tile("transform.structured.fuse", consumer, sizes)
        else:
            if loops:
                name, loop = case.last.ir.ops[loops[0]].name, writer.fresh("%loop")
                writer.lines.append(
                    f'{loop} = transform.get_parent_op {consumer} {{op_name = "{name}"}} : ({ANY_OP}) -> {ANY_OP}'
                )
            else:
                loop = writer.tile(_FORALL if way == "scf.forall" else _FOR, consumer, sizes)
            for other in others:
                loop = writer.fuse(other, loop)
        edit = put_before(script.text, ends[-1], "\n".join(writer.lines))
        yield candidate("fusion", f"Fuse the two by {way}", script, [edit], 2)


def _write_elementwise(writer: _Writer, handles: list[str]) -> None:
    function = writer.fresh("%function")
    writer.lines.append(
        f'{function} = transform.get_parent_op {handles[0]} {{op_name = "func.func"}} : ({ANY_OP}) -> {ANY_OP}'
    )
    for handle in handles:
        writer.generalize(handle)
    writer.lines.append(
        f'{writer.fresh("%fused")} = transform.apply_registered_pass "{_ELEMENTWISE}" to {function} : ({ANY_OP}) -> {ANY_OP}'
    )


def _type_of_argument(script: Script, root: object) -> str:
    span = root.name.type_span  # type: ignore[attr-defined]
    return script.text[slice(*span)].partition(" {")[0].strip() if span else ANY_OP


def _sizes_for(type_: str) -> str:
    """Return tile sizes for a result: its first extent over 1 is tiled, by a divisor where there is one."""
    extents = re.findall(r"(\?|\d+)x", type_.partition("<")[2])
    for at, extent in enumerate(extents):
        if extent != "1":
            size = (
                8
                if extent == "?"
                else next((s for s in (8, 4, 2) if int(extent) % s == 0 and int(extent) > s), 1)
            )
            return "[" + ", ".join(["0"] * at + [str(size)]) + "]"
    return "[1]"
