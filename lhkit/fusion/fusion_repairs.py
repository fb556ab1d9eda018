"""Changes of a schedule that may fuse two ops, for each cause; `fusion_doctor` tries them."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterator
from functools import partial

from lhkit.fusion.buffer_fusion import shared_buffer
from lhkit.fusion.fusion_case import FusionCase, result_type
from lhkit.fusion.fusion_queries import SIBLING, Finding
from lhkit.model.errors import UsageError
from lhkit.model.trace_record import Trace, TraceStep
from lhkit.repairs.repair_context import (
    ANY_OP,
    Candidate,
    RepairContext,
    candidate,
    edit_candidate,
    op_at,
    without_last_results,
)
from lhkit.repairs.repair_trials import candidates_for, contexts
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import (
    SEQUENCE,
    Replacement,
    Script,
    cut,
    fresh_name,
    is_terminator,
    names_in,
    put_before,
)
from lhkit.text.step_arguments import arguments_of, result_types_of, set_argument
from lhkit.text.step_edits import move_step, remove_step
from lhkit.traces.record.placed_ops import PlacedOps
from lhkit.traces.record.placed_values import loops_around, path_between, users_of
from lhkit.traces.warnings.lost_work import FUSE

_FOR, _FORALL = "transform.structured.tile_using_for", "transform.structured.tile_using_forall"
_TILING = ("transform.structured.tile", "transform.structured.fuse")
_GREEDY, _PEEL = "transform.structured.fuse", "transform.loop.peel"
_FOLD = "transform.apply_patterns.tensor.fold_into_pack_and_unpack"
_PASS = "transform.apply_registered_pass"
_PARALLEL = (
    ("convert-linalg-to-parallel-loops", "convert-linalg-to-affine-loops"),
    ("scf-parallel-loop-fusion", "affine-loop-fusion"),
)
_SLICES = (
    ("tensor.merge_consecutive_insert_extract_slice", "Merge slices of slices"),
    ("tensor.bubble_up_extract_slice", "Move slices above reshapes"),
)
_MOTIONS = ("affine-loop-invariant-code-motion", "loop-invariant-code-motion")
_MOST_ITERATIONS = 16
_GATED = "lhkit.fold_transpose_into_pack"
_ELEMENTWISE = "linalg-fuse-elementwise-ops"
# Causes that another order may mend.
_ORDERED = ("wrong-order", "folded-transpose", "folded-pad", "dead-handle", "side-effects", "indivisible-sizes")
# Doubt of changes that take steps away; they are tried where nothing else helps.
LAST_RESORT = 5


def changes_for(case: FusionCase, finding: Finding, script: Script) -> Iterator[Candidate]:
    """Yield changes that may fuse the two; the doubt of each says how much of the schedule it keeps."""
    for context in contexts(case.trace, script):
        yield from candidates_for(context)
    steps = [s for s in case.trace.step_records if s.status != "not-run"]
    written = [(s, op) for s in steps if (op := op_at(script, s)) is not None]
    culprit = next((op for s, op in written if s.index == finding.step), None)
    outermost = _outermost(case.trace, finding.step)
    around = next((op for s, op in written if s.index == outermost), None)
    if culprit is not None and finding.cause in _ORDERED:
        yield from _reordered(script, culprit, around)
    tiles = {}
    for step, op in written:
        context = RepairContext(case.trace, script, step, op)
        if step.op == FUSE:
            yield from _others_first(case, context)
            yield from _after_patterns(script, op) if finding.cause == "not-tileable" else ()
        for each in (case.producer, case.consumer):
            if step.op in (_FOR, _FORALL, _GREEDY) and case.holds(step, each):
                tiles[each] = step, op
    if case.consumer in tiles and tiles[case.consumer][0].op == _FOR:
        yield from _with_greedy(script, tiles[case.consumer][1])
        yield from _with_forall(case, script, tiles[case.consumer][1], written)
    fusions = [op for s, op in written if s.op == FUSE]
    passes = [op for s, op in written if s.op == _PASS and _ELEMENTWISE in script.text[op.start : op.end]]
    if finding.cause == "indivisible-sizes":
        both = [tiles[each][1] for each in (case.producer, case.consumer) if each in tiles]
        yield from _with_other_sizes(script, _tilings_of_loops(script, culprit) or both)
    if culprit is not None:
        mine = [op for s, op in written if op in fusions and case.holds(s, case.producer)]
        yield from _around_culprit(script, finding, culprit, fusions, mine)
    if finding.cause in ("map", "outside-the-loop", "side-effects"):
        at = [*passes[:1], *([tiles[case.consumer][1]] if case.consumer in tiles else [])]
        yield from _prepared(case, script, finding, at, fusions)
    on_both = [op for s, op in written if any(case.holds(s, each) for each in case.kin)]
    yield from _loops_merged(case, script, [op for op in on_both if op.name in (_GREEDY, _FOR, _FORALL)])
    yield from _fused_by_steps(case, script)
    tiling = (op for s, op in written if s.parent is None and s.op.startswith(_TILING))
    for op in dict.fromkeys(op for op in (around, next(tiling, None)) if op is not None):
        yield from _fused_by_steps(case, script, op)
    alone = (next((op for s, op in written if s.index == _outermost(case.trace, t.index)), None)
             for t, _ in tiles.values())  # fmt: skip
    tilings = dict.fromkeys(op for op in alone if op is not None)
    for op, fold in itertools.product(tilings, (None, *_folds(finding, culprit))):
        yield from _in_place_of(case, script, op, fold)


def _around_culprit(
    script: Script, finding: Finding, culprit: OpSyntax, fusions: list[OpSyntax], mine: list[OpSyntax]
) -> Iterator[Candidate]:
    """Yield changes of what is before or behind the responsible step, by what that step is."""
    if culprit.name == _PEEL:
        yield from _fused_before_peeling(script, culprit, mine)
    if culprit.name == _PASS and finding.cause == "side-effects":
        yield from _after_motion(script, culprit)
    if culprit in fusions and finding.cause == "wrong-order":
        yield from _into_one_loop(script, culprit, fusions[fusions.index(culprit) + 1 :])


def _reordered(script: Script, culprit: OpSyntax, around: OpSyntax | None) -> Iterator[Candidate]:
    """Yield changes of the responsible step, and of the step of the entry that runs it."""
    yield from _gated(script, culprit)
    for op in [culprit] if around in (None, culprit) else [culprit, around]:
        changes = _moved(script, op)
        # Without a step that fuses nothing is gained.
        yield from (c for c in changes if op.name != FUSE or c.doubt < LAST_RESORT)


def _outermost(trace: Trace, index: int | None) -> int | None:
    """Return the step of the entry that runs a step."""
    while index is not None and (parent := trace.step_records[index].parent) is not None:
        index = parent
    return index


def _fused_before_peeling(script: Script, peel: OpSyntax, fusions: list[OpSyntax]) -> Iterator[Candidate]:
    """Yield the change that fuses into the loop before it is peeled, which then splits the fused loop."""
    definitions = [d for d in script.handles.definitions if d.uses_of(peel.operands[0].text)]
    for fusion in fusions:
        _, block, at = script.home_of(peel)
        casts = [op for op in block[:at] if op.name == "transform.cast" and peel.operands[0].text in op.values]
        loop = casts[-1].operands[0].text if casts else peel.operands[0].text
        text, new = script.text[fusion.start : fusion.end], fusion.values[-1]
        into = fusion.operands[1]
        text = text[: into.start - fusion.start] + loop + text[into.end - fusion.start :]
        first = casts[-1] if casts else peel
        used = first.operands[0]
        edits = [
            put_before(script.text, first, text),
            cut(script.text, fusion, fusion),
            Replacement(used.start, used.end, new),
        ]
        if definitions:
            yield candidate("order", f"Fuse before peeling in {script.describe(peel)}", script, edits)


def _prepared(
    case: FusionCase, script: Script, finding: Finding, before: list[OpSyntax], fusions: list[OpSyntax]
) -> Iterator[Candidate]:
    """Yield changes that inline the functions first, or fold unit extents before one of the steps."""
    entries = [o for o in script.steps if o.name == SEQUENCE and o.symbol.endswith(case.trace.schedule.entry)]
    roots = [d for d in script.handles.definitions if d.is_argument and d.op in entries[:1]]
    if not roots or not roots[0].name.type_span:
        return
    root, names = roots[0].name, set(names_in(script.text))
    type_ = script.text[slice(*root.type_span)].partition("{")[0].strip() if root.type_span else ANY_OP
    first = entries[0].regions[0].ops[0]
    if finding.cause != "map" and case.trace.outcome.status != "crashed":
        inlined = fresh_name("%inlined", names)
        line = f'{inlined} = transform.apply_registered_pass "inline" to {root.text} : ({type_}) -> {type_}'
        edits = [Replacement(u.start, u.end, inlined) for u, _ in roots[0].uses_of(root.text)]
        edits.append(put_before(script.text, first, line))
        head = script.text[: first.start].rfind("transform.readonly")
        if head > entries[0].start:
            edits.append(Replacement(head, head + len("transform.readonly"), "transform.consumed"))
        yield candidate("structure", "Inline the calls first", script, edits)
        simplified = _applied_first(root.text, type_, names, "transform.apply_patterns.canonicalization")
        change = [put_before(script.text, first, simplified)]
        yield candidate("structure", "Fold constant branches and loops of one iteration first", script, change)
        if finding.cause == "outside-the-loop" and (count := _only_loop(case.first)):
            loops = fresh_name("%loops", names)
            every = f'transform.structured.match ops{{["scf.for"]}} in {root.text} : ({type_}) -> {ANY_OP}'
            unroll = f"transform.loop.unroll {loops} {{factor = {count}}} : {ANY_OP}"
            change = [put_before(script.text, first, f"{loops} = {every}\n{unroll}")]
            yield candidate(
                "structure", f"Unroll the {count} iterations of the payload's loop first", script, change
            )
        for fusion in fusions:  # every caller has a copy of the producer now
            found = next((d for d in script.handles.definitions if d.uses_of(fusion.operands[0].text)), None)
            if found is None or found.op is None or found.op.name != "transform.structured.match":
                continue
            match, function = found.op, fresh_name("%caller", names)
            into, text = fusion.operands[1].text, script.text[match.start : match.end]
            parent = f'transform.get_parent_op {into} {{op_name = "func.func"}} : ({ANY_OP}) -> {ANY_OP}'
            line = f"{function} = {parent}"
            place = match.operands[-1]
            here = text[: place.start - match.start] + function + text[place.end - match.start :]
            moved = [cut(script.text, match, match), put_before(script.text, fusion, f"{line}\n{here}")]
            kept = [e for e in edits if not match.start <= e.start < match.end]
            title = "Inline the calls first, and look for the producer in the function of the loop"
            yield candidate("structure", title, script, [*kept, *moved], 1)
    for step in before if finding.cause == "map" else ():
        patterns = ("linalg.fold_unit_extent_dims_via_reshapes", "canonicalization")
        folded = _applied_first(root.text, type_, names, *(f"transform.apply_patterns.{p}" for p in patterns))
        edit = put_before(script.text, step, folded)
        title = f"Fold unit extents before {script.describe(step)}"
        yield candidate("structure", title, script, [edit])


def _only_loop(placed: PlacedOps) -> int | None:
    """Return how many iterations the only loop of a payload has, if they are known and few."""
    ops = placed.ir.ops
    loops = [n for n, op in enumerate(ops) if op.name == "scf.for"]
    if len(loops) != 1:
        return None
    used = [v[0] for v in ops[loops[0]].values[0] if v[0] != loops[0] and v[0] >= 0][:3]
    bounds = [re.search(r"constant (\d+) : index", ops[n].shapes[0]) for n in used]
    if len(bounds) != 3 or not all(bounds):
        return None
    lower, upper, step = (int(b[1]) for b in bounds if b)
    count = -(-(upper - lower) // max(step, 1))
    return count if 1 < count <= _MOST_ITERATIONS else None


def _applied_first(root: str, type_: str, names: set[str], *patterns: str) -> str:
    """Return steps that apply patterns to every function."""
    function = fresh_name("%function", names)
    match = f'transform.structured.match ops{{["func.func"]}} in {root} : ({type_}) -> {ANY_OP}'
    listed = "".join(f"  {pattern}\n" for pattern in patterns)
    return f"{function} = {match}\ntransform.apply_patterns to {function} {{\n{listed}}} : {ANY_OP}"


def _after_motion(script: Script, culprit: OpSyntax) -> Iterator[Candidate]:
    """Yield changes that move loads and what does not vary out of the loops before a pass fuses them."""
    used = culprit.operands[0]
    type_ = script.text[culprit.start : culprit.end].rpartition(" : ")[2].partition("->")[0].strip().strip("()")
    for name in _MOTIONS:
        moved = fresh_name("%moved", names_in(script.text))
        line = f'{moved} = transform.apply_registered_pass "{name}" to {used.text} : ({type_}) -> {type_}'
        edits = [put_before(script.text, culprit, line), Replacement(used.start, used.end, moved)]
        yield candidate("order", f"Run {name} before {script.describe(culprit)}", script, edits)
    if _PARALLEL[0][0] in script.text and _PARALLEL[1][0] in script.text:
        edits = [
            Replacement(m.start(), m.end(), new)
            for old, new in _PARALLEL
            for m in re.finditer(old, script.text)
        ]
        title = "Make affine loops: their fusion compares accesses, where that of scf.parallel takes neighbours"
        yield candidate("loop", title, script, edits, 1)


def _after_patterns(script: Script, fusion: OpSyntax) -> Iterator[Candidate]:
    """Yield changes that bring slices to the producer before it is fused."""
    loop, function = fusion.operands[1].text, fresh_name("%function", names_in(script.text))
    for pattern, words in _SLICES:
        parent = f'transform.get_parent_op {loop} {{op_name = "func.func"}} : ({ANY_OP}) -> {ANY_OP}'
        apply = (
            f"transform.apply_patterns to {function} {{\n  transform.apply_patterns.{pattern}\n}} : {ANY_OP}"
        )
        edit = put_before(script.text, fusion, f"{function} = {parent}\n{apply}")
        yield candidate("structure", f"{words} before {script.describe(fusion)}", script, [edit])


def _into_one_loop(script: Script, fusion: OpSyntax, later: list[OpSyntax]) -> Iterator[Candidate]:
    """Yield changes that make one loop of those of two users, before the producer is fused into it once."""
    into = fusion.operands[1]
    for other in (o for o in later if o.operands[1].text not in (into.text, *fusion.values)):
        both = fresh_name("%both", names_in(script.text))
        with contextlib.suppress(UsageError):
            removed = remove_step(script, script.number_of(other), with_dependents=True).replacements
            for two in ((into.text, other.operands[1].text), (other.operands[1].text, into.text)):
                line = f"{both} = {SIBLING} {two[0]} into {two[1]} : ({ANY_OP}, {ANY_OP}) -> {ANY_OP}"
                edits = [
                    put_before(script.text, fusion, line),
                    Replacement(into.start, into.end, both),
                    *removed,
                ]
                title = f"Make one loop of {two[0]} and {two[1]}, and fuse into it once"
                yield candidate("loop", title, script, edits, 1)
            there = other.operands[1]
            swapped = [
                Replacement(into.start, into.end, there.text),
                Replacement(there.start, there.end, into.text),
            ]
            yield candidate("order", f"Fuse into {there.text} first, then into {into.text}", script, swapped, 1)


def _in_place_of(
    case: FusionCase, script: Script, alone: OpSyntax, fold: OpSyntax | None = None
) -> Iterator[Candidate]:
    """Yield changes that fuse the two in place of a step that tiles one of them, or each, by itself.

    With ``fold`` that pattern is left out, and the steps are written for the payload as given.
    """
    for change in _fused_by_steps(case, script, alone, case.first if fold else None):
        edits = [*change.edited.replacements, *([cut(script.text, fold, fold)] if fold else [])]
        with contextlib.suppress(UsageError):
            removed = remove_step(script, script.number_of(alone), with_dependents=True).replacements
            title = f"{change.title.partition(', in steps')[0]}, in place of {script.describe(alone)}"
            title += ", and leave out the pattern that folds into packs" if fold else ""
            yield candidate("fusion", title, script, [*removed, *edits], LAST_RESORT - 1)


def _folds(finding: Finding, culprit: OpSyntax | None) -> list[OpSyntax]:
    """Return the patterns of the responsible step that fold transposes into packs."""
    regions = culprit.regions if culprit is not None and finding.cause == "folded-transpose" else ()
    return [op for region in regions for op in region.ops if op.name == _FOLD]


def _gated(script: Script, culprit: OpSyntax) -> Iterator[Candidate]:
    """Yield the change that folds a transpose into a pack only where nothing else reads it."""
    title = "Fold a transpose into a pack only where the pack is its single use"
    if culprit.name == _GATED:
        edit = partial(set_argument, script, script.number_of(culprit), "single_use", "")
        yield from edit_candidate("gate", title, edit)
    ops = [op for region in culprit.regions for op in region.ops if not is_terminator(op)]
    for fold in (op for op in ops if op.name == _FOLD and len(ops) > 1):
        edit = partial(remove_step, script, script.number_of(fold))
        yield from edit_candidate("gate", "Leave out the pattern that folds into packs", edit)
    if [op.name for op in ops] == [_FOLD]:
        folded, text = fresh_name("%folded", names_in(script.text)), script.text[culprit.start : culprit.end]
        type_ = text.rpartition(":")[2].strip()
        line = f'{folded} = "{_GATED}"({culprit.operands[0].text}) {{single_use}} : ({type_}) -> {ANY_OP}'
        yield candidate("gate", title, script, [Replacement(culprit.start, culprit.end, line)])


def _moved(script: Script, culprit: OpSyntax) -> Iterator[Candidate]:
    """Yield changes that move the responsible step behind later ones, or remove it."""
    _, block, at = script.home_of(culprit)
    number, what = script.number_of(culprit), script.describe(culprit)
    for later in reversed([op for op in block[at + 1 :] if not is_terminator(op)]):
        edit = partial(move_step, script, number, after=script.number_of(later))
        yield from edit_candidate("order", f"Move {what} behind {script.describe(later)}", edit, 1)
    for along in (False, True):
        title = f"Remove {what}" + (" and what depends on it" if along else "")
        edit = partial(remove_step, script, number, with_dependents=along)
        yield from edit_candidate("order", title, edit, LAST_RESORT + along)


def _others_first(case: FusionCase, context: RepairContext) -> Iterator[Candidate]:
    """Yield changes that first fuse what is between the two, and hand results out of an scf.forall.

    Only a linalg.generic becomes a further result of an scf.forall (and aborts the compiler with scf.for).
    """
    use, into = context.op.operands
    container = next((h for h in context.live_in_sight() if h.value == into.text), None)
    roots, placed = context.roots_to_search(), case.before(context.step.index)
    between = [n for n in _between(case, placed) if not loops_around(placed, n)]
    if container is None or not roots:
        return
    is_forall = container.payload[:1] == ("scf.forall",)
    for generalizes in (False, True)[not between : 1 + is_forall]:
        steps = _Steps(context.script.text, placed, roots[0].value, roots[0].type)
        handles, loop = [steps.pick(n) for n in between], container.value
        edits = []
        if generalizes:
            handles = [steps.generalize(h) for h in handles]
            edits = [Replacement(use.start, use.end, steps.generalize(use.text))]
        for handle in handles:
            loop = steps.fuse(handle, loop, container.type if loop == container.value else ANY_OP)
        edits += context.renamed_uses(context.uses(container), loop) if between else []
        names = ", ".join(placed.ir.ops[n].name for n in between)
        title = f"Fuse {names} first" if between else "Generalize the producer"
        title += ": as linalg.generic they can be results of the loop" if generalizes else ""
        edits.append(context.inserted("\n".join(steps.lines)))
        yield candidate("fusion", title, context.script, edits, 1 + generalizes)


def _with_greedy(script: Script, op: OpSyntax) -> Iterator[Candidate]:
    """Yield the change that tiles by `structured.fuse`, which takes producers along, with the same loops."""
    if not any(a.name == "interchange" for a in arguments_of(op)):
        edit = Replacement(op.name_start, op.name_start + len(_FOR), _GREEDY)
        title = f"Tile by structured.fuse in place of {script.describe(op)}: it takes producers along"
        yield candidate("fusion", title, script, [edit], 1)


def _with_forall(
    case: FusionCase, script: Script, op: OpSyntax, written: list[tuple[TraceStep, OpSyntax]]
) -> Iterator[Candidate]:
    """Yield changes that tile by scf.forall, with the producer as a further result of it."""
    loop, types = fresh_name("%loop", names_in(script.text)), result_types_of(op)
    values = [(d, value) for d in script.results_of(op) for value in d.name.values][1:]
    edits = [Replacement(use.start, use.end, loop) for d, value in values for use, _ in d.uses_of(value)]
    edits.append(Replacement(op.name_start, op.name_start + len(_FOR), _FORALL))
    edits.append(Replacement(op.results[1].start, op.results[-1].end, loop))
    edits.append(Replacement(types[1][0], types[-1][1], ANY_OP))
    title = f"Tile by scf.forall in place of {script.describe(op)}"
    yield candidate("loop", title, script, edits)
    fusion = next((o for s, o in written if s.op == FUSE and case.holds(s, case.producer)), None)
    if fusion is not None:
        use, steps = fusion.operands[0], _Steps(script.text, case.last, "")
        edits.append(Replacement(use.start, use.end, steps.generalize(use.text)))
        edits.append(put_before(script.text, fusion, steps.lines[0]))
        title += ", of which a generalized producer becomes a further result"
        yield candidate("loop", title, script, edits, 1)


def _tilings_of_loops(script: Script, sibling: OpSyntax | None) -> list[OpSyntax]:
    """Return the steps that made the loops of a step that was to make one of them."""
    if sibling is None or sibling.name != SIBLING:
        return []
    used = [d.op for use in sibling.operands for d in script.handles.definitions if d.uses_of(use.text)]
    return [op for op in used if op is not None and op.name in (_FOR, _FORALL)]


def _with_other_sizes(script: Script, tiles: list[OpSyntax]) -> Iterator[Candidate]:
    """Yield changes that tile both by the same sizes, or leave inner tiles whole."""
    given = [(op, a) for op in tiles for a in arguments_of(op) if a.name == "tile_sizes"]
    sizes = [script.text[a.start : a.end] for _, a in given]
    wanted = list(zip(given, reversed(sizes), strict=True)) if len(given) > 1 else []
    for one in given[-1:]:
        kept = sizes[-1].strip("[]").split(",")
        cut = [kept[:count] + [" 0"] * (len(kept) - count) for count in range(len(kept) - 1, 0, -1)]
        wanted += [(one, f"[{','.join(each)}]") for each in cut]
    for doubt, ((op, _), text) in enumerate(wanted):
        edit, title = (
            partial(set_argument, script, script.number_of(op), "tile_sizes", text),
            f"Tile by {text} in {script.describe(op)}",
        )
        old = next(script.text[a.start : a.end] for each, a in given if each is op)
        loops = [sum(e.strip() != "0" for e in each.strip("[]").split(",")) for each in (old, text)]
        fewer = loops[0] - loops[1] if op.name != _FORALL else 0
        dropped = without_last_results(script, op, fewer, instead=True) if fewer > 0 else []
        if dropped:
            with contextlib.suppress(UsageError):
                yield candidate("sizes", title, script, [*edit().replacements, *dropped], doubt)
        elif fewer == 0:
            yield from edit_candidate("sizes", title, edit, doubt)


def _between(case: FusionCase, placed: PlacedOps) -> list[int]:
    """Return the linalg ops through which values get from producer to consumer, the last first."""
    producers, consumers = (case.instances(placed, op) for op in (case.producer, case.consumer))
    ops = [n for n, op in enumerate(placed.ir.ops) if op.name.startswith("linalg.") and n not in consumers]
    found = [n for n in ops if n not in producers and path_between(placed, [n], consumers, producers)]
    return [n for n in reversed(found) if path_between(placed, producers, [n], consumers)]


def _loops_merged(case: FusionCase, script: Script, wrong: list[OpSyntax]) -> Iterator[Candidate]:
    """Yield changes that make one loop of two that meet in a buffer: of equal tiles, or by affine loops."""
    placed, buffer = case.first, shared_buffer(case, case.first)
    place, at = _place_of_steps(case, script), [case.number(placed, op) for op in case.kin]
    if place is None or at[0] > at[1] or any(v[0] == at[0] for v in placed.ir.ops[at[0]].values[0]):
        return
    end, root, type_ = place
    if buffer is not None:
        steps, sizes = _Steps(script.text, placed, root, type_), _sizes_for(buffer)
        picked = [steps.pick(case.number(placed, op)) for op in (case.producer, case.consumer)]
        tiled = (f"{_FORALL} {handle} tile_sizes {sizes}" for handle in picked)
        loops = [steps.add(text, ANY_OP, results=("%tile", "%loop")) for text in tiled]
        steps.add(f"{SIBLING} {loops[0]} into {loops[1]}", ANY_OP, ANY_OP, results=("%both",))
        yield from _in_their_place(script, steps, wrong, end, "Tile both alike, and make one loop of the two")
    # The pass compares accesses, and moves loops over calls of which it knows nothing.
    if not any(op.name.endswith("call") for op in placed.ir.ops):
        steps = _Steps(script.text, placed, root, type_)
        steps.run_on_function(_PARALLEL[0][1], _PARALLEL[1][1])
        yield from _in_their_place(script, steps, wrong, end, "Make affine loops of both, and fuse these")


def _in_their_place(
    script: Script, steps: _Steps, wrong: list[OpSyntax], end: OpSyntax, title: str
) -> Iterator[Candidate]:
    """Yield the change that writes steps in place of those that are wrong, or else at the end."""
    edits = [put_before(script.text, (wrong or [end])[0], "\n".join(steps.lines))]
    with contextlib.suppress(UsageError):
        removed = [remove_step(script, script.number_of(op), with_dependents=True) for op in wrong]
        edits += dict.fromkeys(r for edit in removed for r in edit.replacements)
        title += f", in place of {' and '.join(map(script.describe, wrong))}" if wrong else ""
        yield candidate("loop", title, script, edits, 1)


def _place_of_steps(case: FusionCase, script: Script) -> tuple[OpSyntax, str, str] | None:
    """Return the end of the entry, and the name and the type of its argument."""
    entries = [o for o in script.steps if o.name == SEQUENCE and o.symbol.endswith(case.trace.schedule.entry)]
    roots = [d for d in script.handles.definitions if d.is_argument and d.op in entries[:1]]
    ends = [op for entry in entries[:1] for region in entry.regions for op in region.ops if is_terminator(op)]
    if not (roots and ends):
        return None
    span = roots[0].name.type_span
    type_ = script.text[slice(*span)].partition("{")[0].strip() if span else ANY_OP
    return ends[-1], roots[0].name.text, type_


class _Steps:
    """Writes steps on ops of a payload, which are found by name and number."""

    def __init__(self, text: str, placed: PlacedOps, root: str, root_type: str = ANY_OP) -> None:
        self.lines: list[str] = []
        self._taken, self._placed, self._root, self._root_type = set(names_in(text)), placed, root, root_type

    def add(self, text: str, *types: str, results: tuple[str, ...]) -> str:
        """Write a step; return its last result."""
        names = []
        for each in results:
            names.append(fresh_name(each, self._taken))
            self._taken.add(names[-1])
        given = ANY_OP if len(names) == 1 else f"({', '.join([ANY_OP] * len(names))})"
        self.lines.append(f"{', '.join(names)} = {text} : ({', '.join(types)}) -> {given}")
        return names[-1]

    def pick(self, number: int) -> str:
        """Write steps that find an op; return its handle."""
        name = self._placed.ir.ops[number].name
        same = [n for n, op in enumerate(self._placed.ir.ops) if op.name == name]
        stem = "%" + name.rpartition(".")[2]
        match = f'transform.structured.match ops{{["{name}"]}} in {self._root}'
        found = self.add(match, self._root_type, results=(stem,))
        if len(same) == 1:
            return found
        self.add(f"transform.split_handle {found}", ANY_OP, results=(stem,) * len(same))
        return self.lines[-1].split(" = ")[0].split(", ")[same.index(number)]

    def run_on_function(self, *passes: str) -> None:
        """Write steps that run passes on the functions, one after the other."""
        match = f'transform.structured.match ops{{["func.func"]}} in {self._root}'
        function = self.add(match, self._root_type, results=("%functions",))
        for each in passes:
            run = f'transform.apply_registered_pass "{each}" to {function}'
            function = self.add(run, ANY_OP, results=("%functions",))

    def generalize(self, handle: str) -> str:
        """Write a step that makes a linalg.generic of an op; return its handle."""
        return self.add(f"transform.structured.generalize {handle}", ANY_OP, results=("%generic",))

    def fuse(self, handle: str, loop: str, loop_type: str = ANY_OP) -> str:
        """Write a step that fuses an op into a loop; return the loop."""
        return self.add(f"{FUSE} {handle} into {loop}", ANY_OP, loop_type, results=("%inside", "%loop"))


def _fused_by_steps(
    case: FusionCase, script: Script, before: OpSyntax | None = None, given: PlacedOps | None = None
) -> Iterator[Candidate]:
    """Yield changes that fuse the two by steps at the end or before one, one for each of upstream's ways."""
    place = _place_of_steps(case, script)
    first = next((s for s in case.trace.step_records if before and op_at(script, s) == before), None)
    placed = given or (case.before(first.index) if first else case.last)
    producers, consumers = (case.instances(placed, op) for op in (case.producer, case.consumer))
    if not (place and producers and consumers):
        return
    end, root, type_ = place
    loops = loops_around(placed, consumers[-1])
    others = [n for n in (*_between(case, placed), producers[0]) if not loops_around(placed, n)]
    aborts = any(placed.ir.ops[n].name == "linalg.generic" and len(users_of(placed, n)) > 1 for n in others)
    names = [placed.ir.ops[n].name for n in loops]
    made = [
        w for w in ("scf.forall", "scf.for", "structured.fuse", _ELEMENTWISE) if w != "scf.for" or not aborts
    ]
    for at, way in enumerate([f"its {name}" for name in names] or made):
        steps = _Steps(script.text, placed, root, type_)
        consumer = steps.pick(consumers[-1])
        handles = [steps.pick(n) for n in others] if way != "structured.fuse" else []
        sizes, both = _sizes_for(result_type(placed, consumers[-1])), ("%tile", "%loop")
        if way == _ELEMENTWISE:
            parent = f'transform.get_parent_op {consumer} {{op_name = "func.func"}}'
            function = steps.add(parent, ANY_OP, results=("%function",))
            for handle in (consumer, *handles):
                steps.generalize(handle)
            run = f'transform.apply_registered_pass "{_ELEMENTWISE}" to {function}'
            steps.add(run, ANY_OP, results=("%fused",))
        elif loops:
            nth = names[: at + 1].count(names[at])
            parent = f'transform.get_parent_op {consumer} {{op_name = "{names[at]}", nth_parent = {nth} : i64}}'
            loop = steps.add(parent, ANY_OP, results=("%loop",))
        else:
            tiling = {"scf.forall": _FORALL, "scf.for": _FOR}.get(way, "transform.structured.fuse")
            loop = steps.add(f"{tiling} {consumer} tile_sizes {sizes}", ANY_OP, results=both)
        for handle in handles if way != _ELEMENTWISE else ():
            loop = steps.fuse(handle, loop)
        edit = put_before(script.text, before or end, "\n".join(steps.lines))
        where = f"before {script.describe(before)}" if before else "at the end"
        title = f"Fuse the two by {way}, in steps {where}"
        yield candidate("fusion", title, script, [edit], 3 if before else 2)


def _sizes_for(type_: str) -> str:
    """Return tile sizes for a result: its first extent over 1 is tiled, by a divisor where there is one."""
    extents = re.findall(r"(\?|\d+)x", type_.partition("<")[2])
    at = next((n for n, extent in enumerate(extents) if extent != "1"), 0)
    extent = int(extents[at]) if extents and extents[at] != "?" else 16
    size = next((s for s in (8, 4, 2) if extent % s == 0 and extent > s), 1)
    return "[" + ", ".join(["0"] * at + [str(size)]) + "]"
