"""Tile pictures of payloads and traces; the worker reads the structured ops."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import re
from collections import defaultdict
from collections.abc import Sequence

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.payload import Payload
from lhkit.model.target import CacheLevel
from lhkit.model.tile_picture import StructuredOp, TilePicture, Tilings
from lhkit.model.trace_record import HandleChange, PayloadOp, Trace
from lhkit.tiles.tile_facts import tile_picture, work_of
from lhkit.traces.diff.op_diff import snapshot_at
from lhkit.traces.explain.handle_explanation import find_handle
from lhkit.traces.record.handle_history import PayloadHistory
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.requests import ReadTilings, Source
from lhkit.worker.timing_conditions import cache_levels

_LOOPS = ("scf.for", "scf.forall", "scf.parallel", "affine.for")
# What both a trace and a text say of an op: its name, and the ops of the loops around it.
_Key = tuple[str, tuple[str, ...]]


def ops_by_id(trace: Trace, step: int, tilings: Tilings) -> dict[str, StructuredOp]:
    """Return the structured ops after a step by id of the trace's op.

    Ops are matched by name and enclosing loops, several of them in the order of creation.
    """
    history = PayloadHistory(trace)
    now = _next_step(trace, step)
    recorded: dict[_Key, list[PayloadOp]] = defaultdict(list)
    for op in history.alive_before(now):
        if op.name.startswith("linalg."):
            recorded[op.name, _path(trace, op)].append(op)
    written: dict[_Key, list[StructuredOp]] = defaultdict(list)
    for each in tilings.ops:
        written[each.name, each.path].append(each)
    found: dict[str, StructuredOp] = {}
    for key, several in written.items():
        same = sorted(recorded.get(key, ()), key=lambda o: int(o.id[1:]))
        if len(same) == len(several):
            found |= {o.id: s for o, s in zip(same, several, strict=True)}
    return found


def _next_step(trace: Trace, step: int) -> int:
    """Return the step that ended after another one; the number of steps if that was the last."""
    if step < 0:
        return trace.step_records[0].index if trace.step_records else 0
    ended = [s.index for s in trace.steps_by_end()]
    return [*ended, len(ended)][ended.index(step) + 1]


def _path(trace: Trace, op: PayloadOp) -> tuple[str, ...]:
    if op.parent is None:
        return ()
    around = trace.op(op.parent)
    return (*_path(trace, around), *([around.name] if around.name in _LOOPS else []))


def _structured_op(trace: Trace, change: HandleChange) -> str | None:
    """Return the id of the first structured op that a live handle points to, or None."""
    ids = [r for r in change.payload if isinstance(r, str)] if change.state == "live" else []
    return next((r for r in ids if trace.op(r).name.startswith("linalg.")), None)


def last_step_of_handle(trace: Trace, handle_id: str) -> tuple[int, str] | None:
    """Return the last step after which a handle pointed to a structured op, and the op's id, or None."""
    found: tuple[int, str] | None = None
    held: str | None = None
    for step in trace.steps_by_end():
        for change in step.changes:
            if change.handle == handle_id:
                held = _structured_op(trace, change)
        if held is not None:
            found = step.index, held
    return found


def last_step_of_op(trace: Trace, op_id: str) -> int:
    """Return the last step after which a payload op existed; -1 for the payload as given."""
    died = trace.op(op_id).died
    ended = [-1, *(s.index for s in trace.steps_by_end() if s.status != "not-run")]
    return ended[-1] if died is None else ended[ended.index(died) - 1]


def steps_to_look_at(trace: Trace, until: int | None = None) -> list[int]:
    """Return the steps, at most ``until``, after which to search for structured ops, the last one first.

    If erased ops are recorded: the last step, and each before one that erased a structured op.
    """
    steps = _snapshots(trace, until)
    erased = {o.died for o in trace.op_records if o.name.startswith("linalg.")}
    if len(trace.op_records):
        pairs = zip(steps, [*steps[1:], None], strict=True)
        steps = [s for s, following in pairs if following in erased | {None}]
    return steps[::-1]


def _snapshots(trace: Trace, until: int | None) -> list[int]:
    """Return the steps with a snapshot, up to the one that shows the payload after step ``until``."""
    steps = [s.step for s in trace.snapshots]
    return steps if until is None else steps[: steps.index(snapshot_at(trace, until)) + 1]


def argument_names(text: str, function: str, count: int) -> tuple[str, ...]:
    """Return the names of a function's arguments, with ``%``; none where the text does not show them."""
    match = re.search(rf'@"?{re.escape(function)}"?\s*\(', text)
    if match is None:
        return ()
    depth, names = 1, []
    for token in re.finditer(r"(%[\w$.-]+)\s*:|[(<{[]|[)>}\]]", text[match.end() :]):
        if token[1] and depth == 1:
            names.append(token[1])
        elif not token[1]:
            depth += 1 if token[0] in "(<{[" else -1
        if not depth:
            break
    return tuple(names) if len(names) == count else ()


Shapes = Sequence[Sequence[int]] | None
_MOST_KEPT = 64
_MISSING = "A tile picture shows a structured op: a linalg op with indexing maps."


def tile_picture_of(
    shown: Trace | Payload,
    *,
    op: str | int | None = None,
    step: int | None = None,
    until: int | None = None,
    iteration: int | None = None,
    shapes: Shapes = None,
    caches: Sequence[CacheLevel] | None = None,
    worker: Worker | None = None,
) -> TilePicture:
    """Return the tile picture of a structured op, in a trace or in a payload.

    Args:
        shown: A trace, or a payload.
        op: A handle by name or id (``%tiled``, ``h3``), a payload op by id (``o12``) or by name
            (``linalg.matmul``, the one with most work), or a number among the linalg ops of the text, from 0.
            Default: the one with most work.
        step: The step of the trace after which to search, -1 for the payload as given. Default: the last one at
            which most of the payload's work, or ``op``, was still in structured ops.
        until: Search no later than after this step, where ``step`` is None.
        iteration: The iteration that a still picture shows, from 0; default after some others.
        shapes: The shape of each argument, ``()`` for a scalar; needed where they are dynamic.
        caches: Caches to compare with, smallest first; default this machine's.
        worker: Another worker than the session's.

    Returns:
        The picture, an immutable value that shows itself.

    Raises:
        UsageError: There is no such op, step or iteration, no structured op at all, or an extent is not known.
    """
    source = _Source(shown, shapes, worker or shared_worker())
    at, chosen, op_id, notes = source.choose(op, step, until)
    tilings = source.read(at)
    notes += _copies_note(tilings, chosen)
    function = next(f for f in tilings.functions if f.name == chosen.function)
    picture = tile_picture(
        tilings,
        chosen,
        shapes=shapes,
        argument_names=argument_names(source.written_text, function.name, len(function.arguments)),
        caches=cache_levels() if caches is None else caches,
        first=iteration,
    )
    if not isinstance(shown, Trace):
        return dataclasses.replace(picture, notes=notes)
    picture = dataclasses.replace(picture, step=at, where=_where(shown, at), notes=notes)
    if op_id is None:
        return picture
    states = shown.states_after(at).items()
    handles = tuple(h for h, c in states if c.state == "live" and op_id in c.payload)
    return dataclasses.replace(picture, op_ids=(op_id,), handles=handles)


def chosen_op(
    trace: Trace, op: str | int | None, worker: Worker | None = None
) -> tuple[Tilings, StructuredOp, str | None, str]:
    """Return a structured op, the tilings that it is of, its id in the trace or None, and where it was read."""
    source = _Source(trace, None, worker or shared_worker())
    at, chosen, op_id, _ = source.choose(op, None, None)
    return source.read(at), chosen, op_id, _where(trace, at)


def tile_picture_at(trace: Trace, step: int, *, worker: Worker | None = None) -> TilePicture:
    """Return the picture that goes with a step: of the op that its results point to, else that with most work.

    Without such an op after the step the picture is of the last payload before that had one; its notes say so.
    The errors are those of `tile_picture_of`.
    """
    states = trace.states_after(step)
    results = trace.step_records[step].results if step >= 0 else ()
    held = (_structured_op(trace, states[handle]) for handle in results if handle in states)
    op = next((each for each in held if each is not None), None)
    if op is not None and trace.snapshot_text(step) is not None:
        with contextlib.suppress(UsageError):  # the text may not tell it from others
            return tile_picture_of(trace, op=op, step=step, worker=worker)
    return tile_picture_of(trace, until=step, worker=worker)


def _where(trace: Trace, step: int) -> str:
    """Return which payload of a trace is shown, in words."""
    if step < 0:
        return "the payload as given"
    said = f"after step {step} ({trace.step_records[step].op.removeprefix('transform.')})"
    return f"at the end, {said}" if step == trace.snapshots[-1].step else said


def _copies_note(tilings: Tilings, chosen: StructuredOp) -> tuple[str, ...]:
    """Return a note if ops of the same name in the same loops read the same values, as after unrolling."""

    def kind(op: StructuredOp) -> tuple[object, ...]:
        read = tuple((o.base, o.base_op, o.base_shape) for o in op.operands if not o.is_output)
        return op.function, op.name, op.loops, op.is_live, read

    copies = [o.number for o in tilings.ops if kind(o) == kind(chosen)]
    if len(copies) < 2:
        return ()
    which = f"{copies.index(chosen.number) + 1} of {len(copies)} {chosen.name}"
    return (f"Shown is {which} in the same loops: the others are not in the picture.",)


@functools.lru_cache(maxsize=_MOST_KEPT)
def read_tilings(name: str, content: bytes, worker: Worker) -> Tilings:
    """Return the structured ops of a payload's text."""
    return worker.ask(ReadTilings(Source("payload", "payload", name, content))).value


Choice = tuple[int, StructuredOp, str | None, tuple[str, ...]]


class _Source:
    """The snapshots of a trace, or one payload."""

    def __init__(self, shown: Trace | Payload, shapes: Shapes, worker: Worker) -> None:
        self._shown, self._shapes, self._worker = shown, shapes, worker

    @property
    def written_text(self) -> str:
        if isinstance(self._shown, Payload):
            return self._shown.text
        provenance = self._shown.provenance
        return provenance.payload.text if provenance else ""

    def read(self, step: int) -> Tilings:
        if isinstance(self._shown, Payload):
            return read_tilings(self._shown.source, self._shown.content, self._worker)
        text = self._shown.snapshot_text(step)
        if text is None:
            raise usage_error(
                f"the payload after step {step} is not known", "See trace.snapshots for those that are."
            )
        return read_tilings(self._shown.payload.source, text.encode(), self._worker)

    def choose(self, op: str | int | None, step: int | None, until: int | None) -> Choice:
        """Return the step, the op, its id or None, and notes for the reader."""
        if isinstance(self._shown, Payload):
            if step is not None:
                raise usage_error("a payload has no steps; give a trace to choose one")
            return -1, self._pick(self.read(-1), op, f"in {self._shown.source}"), None, ()
        trace = self._shown
        if not trace.snapshots:
            raise usage_error("the trace has no payload: it ended before the first step")
        op_id = None
        if isinstance(op, str) and not op.startswith("linalg."):
            step, op_id = self._identified(trace, op, step)
        notes: tuple[str, ...] = ()
        if step is None:
            step = self._last_step(trace, op, until)
            notes = self._gone_note(trace, step, until)
        tilings = self.read(step)
        ids = ops_by_id(trace, step, tilings)
        if op_id is not None:
            if op_id not in ids:
                raise usage_error(f"{trace.op(op_id).name} ({op_id}) is not found after step {step}", _MISSING)
            return step, ids[op_id], op_id, notes
        chosen = self._pick(tilings, op, f"after step {step}")
        return step, chosen, next((i for i, o in ids.items() if o is chosen), None), notes

    @staticmethod
    def _identified(trace: Trace, op: str, step: int | None) -> tuple[int, str]:
        if any(o.id == op for o in trace.op_records):
            return (last_step_of_op(trace, op) if step is None else step), op
        record = find_handle(trace, op)
        if step is not None:
            change = trace.states_after(step).get(record.id)
            found = _structured_op(trace, change) if change else None
            if found is None:
                raise usage_error(f"{record.name} points to no structured op after step {step}", _MISSING)
            return step, found
        last = last_step_of_handle(trace, record.id)
        if last is None:
            raise usage_error(f"{record.name} never pointed to a structured op", _MISSING)
        return last

    def _pick(self, tilings: Tilings, op: str | int | None, where: str) -> StructuredOp:
        if isinstance(op, int):
            numbered = {o.number: o for o in tilings.ops}
            if op not in numbered:
                known = ", ".join(f"{o.number} ({o.name})" for o in tilings.ops[:12]) or "none"
                raise usage_error(f"there is no structured op {op} {where}", f"There are: {known}.")
            return numbered[op]
        named = [o for o in tilings.ops if op in (None, o.name)]
        if not named:
            raise usage_error(f"there is no {op or 'structured op'} {where}", _MISSING)
        candidates = [o for o in named if o.is_live] or named
        return max(candidates, key=lambda o: (work_of(tilings, o, self._shapes), -o.number))

    def _last_step(self, trace: Trace, op: str | int | None, until: int | None) -> int:
        """Return the last step after which half of the payload's work, or a named op, was left."""
        if isinstance(op, int):
            return _snapshots(trace, until)[-1]
        first = trace.snapshots[0].step
        flops, points = self._live_work(first)
        for step in steps_to_look_at(trace, until):
            if "linalg." not in (trace.snapshot_text(step) or ""):
                continue
            if op is None:
                is_found = self._live_work(step) >= (flops / 2, 0 if flops else points / 2)
            else:
                is_found = any(o.is_live and o.name == op for o in self.read(step).ops)
            if is_found:
                return step
        return first

    def _live_work(self, step: int) -> tuple[int, int]:
        """Return the arithmetic and the points of all live ops after a step."""
        tilings = self.read(step)
        works = [work_of(tilings, o, self._shapes) for o in tilings.ops if o.is_live]
        return sum(flops for flops, _ in works), sum(points for _, points in works)

    @staticmethod
    def _gone_note(trace: Trace, step: int, until: int | None) -> tuple[str, ...]:
        steps = _snapshots(trace, until)
        if step == steps[-1]:
            return ()
        following = steps[steps.index(step) + 1]
        name = trace.step_records[following].op
        is_left = "linalg." in (trace.snapshot_text(steps[-1]) or "")
        left = "this op is not left" if is_left else "no structured op is left"
        where = "the payload as given" if step < 0 else f"the payload after step {step}"
        when = "At the end" if steps[-1] == trace.snapshots[-1].step else f"After step {steps[-1]}"
        return (f"{when} {left}: shown is {where}, before step {following} ({name}).",)
