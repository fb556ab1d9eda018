"""Names, states and deaths of handles, payload ops over time, and queries on the texts of a trace."""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from lhkit.model.invalidation import Turn, describe_death
from lhkit.model.span import Span
from lhkit.model.trace_record import (
    HandleChange,
    Invalidation,
    ParamReference,
    PayloadDelta,
    PayloadOp,
    Trace,
    TraceStep,
)
from lhkit.traces.record.placed_ops import SameTrace
from lhkit.traces.record.placed_values import LOOPS

_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*')
_NAME = re.compile(r"%[\w$.-]+")
_ALLOW = re.compile(r"//\s*lhkit:\s*allow\s+([\w-]+(?:\s*,\s*[\w-]+)*)")
_NAMES = re.compile(r"\bops\s*\{\s*\[([^\]]*)\]\s*\}")
_FILTER = re.compile(r"\b(interface|attributes|filter_result_type|filter_operand_types)\b")


@dataclass(frozen=True)
class ScheduleText:
    """A text of a schedule, queried by line."""

    text: str

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def _code(self) -> str:
        """The text without comments, of the same length."""
        return _STRING_OR_COMMENT.sub(lambda m: " " * len(m[0]) if m[0].startswith("//") else m[0], self.text)

    def allowed(self, line: int) -> frozenset[str]:
        """Return the kinds of warnings that comments allow for the op on a line (from 1)."""
        own, before = self._lines[line - 1 : line], self._lines[max(line - 2, 0) : line - 1]
        comments = [shown for shown in before if shown.lstrip().startswith("//")]
        return self._allowed_everywhere.union(*map(_allowed_by, (*comments, *own)))

    @cached_property
    def _allowed_everywhere(self) -> frozenset[str]:
        head = itertools.takewhile(lambda x: not x.strip() or x.lstrip().startswith("//"), self._lines)
        return frozenset[str]().union(*map(_allowed_by, head))

    def clauses_of(self, span: Span) -> str:
        """Return what a match at a place asks for, as written; empty if there is no such line."""
        if not 1 <= span.line <= len(self._lines):
            return ""
        before = self.text.splitlines(keepends=True)[: span.line - 1]
        start = sum(map(len, before)) + span.column - 1
        return re.split(r"\sin\s+%", self._code[start : start + 2000], maxsplit=1)[0]

    def matched_names(self, span: Span) -> tuple[tuple[str, ...], bool] | None:
        """Return the op names that a match at a place searches for, and whether it has other conditions."""
        clauses = self.clauses_of(span)
        match = _NAMES.search(clauses)
        names = tuple(re.findall(r'"([^"]+)"', match[1])) if match else ()
        return (names, bool(_FILTER.search(clauses))) if names else None

    def mentions(self, name: str) -> int:
        """Return how often the code names a handle (``%x``)."""
        return _mentions(self._code)[name.partition("#")[0]]

    def symbol(self, line: int) -> str | None:
        """Return the symbol that a line declares, as ``@name``."""
        match = re.search(r"@[\w$.-]+", self._lines[line - 1]) if 1 <= line <= len(self._lines) else None
        return match[0] if match else None


@functools.lru_cache(maxsize=16)
def _mentions(code: str) -> Counter[str]:
    return Counter(_NAME.findall(code))


def _allowed_by(line: str) -> set[str]:
    return {kind for match in _ALLOW.finditer(line) for kind in re.split(r"\s*,\s*", match[1])}


def oldest_of(trace: Trace, op: PayloadOp) -> PayloadOp:
    """Return the first op of the same name that an op was made from: later ones say what they are made from."""
    same = [o for o in map(trace.op, op.derived_from) if o.name == op.name]
    return oldest_of(trace, same[0]) if same else op


ALTERNATIVES = "transform.alternatives"


@dataclass(frozen=True, slots=True)
class Death:
    """The step that invalidated a handle, and why."""

    step: int
    invalidation: Invalidation


def display_names(trace: Trace) -> dict[str, str]:
    """Return a display name for every handle by id.

    If several dynamic definitions share a name, the defining step is added, and for block arguments the
    iteration or alternative.
    """
    return dict(_display_names(SameTrace(trace)))


@functools.lru_cache(maxsize=4)
def _display_names(same: SameTrace) -> dict[str, str]:
    trace = same.trace
    counts = Counter(h.name for h in trace.handle_records)
    made = Counter((h.name, h.defined_by) for h in trace.handle_records)
    first = _first_mentions(trace) if any(n > 1 for n in made.values()) else {}
    names = {}
    for handle in trace.handle_records:
        said = ""
        if counts[handle.name] > 1 and handle.defined_by >= 0:
            turn = first.get(handle.id) if made[handle.name, handle.defined_by] > 1 else None
            said = f" (step {handle.defined_by}{'' if turn is None else turn_in_words(turn)})"
        names[handle.id] = handle.name + said
    return names


def turn_in_words(step: TraceStep) -> str:
    """Return the iteration or alternative of a step, after a comma; "" if it has neither."""
    if step.iteration is not None:
        return f", iteration {step.iteration}"
    return "" if step.alternative is None else f", alternative {step.alternative}"


def enclosing_steps(trace: Trace, step: TraceStep) -> list[TraceStep]:
    """Return the steps that a step is nested in, innermost first."""
    around = []
    while step.parent is not None:
        step = trace.step_records[step.parent]
        around.append(step)
    return around


def turn_mark(step: TraceStep) -> str:
    """Return the iteration or alternative of a step in brackets, "" if it has neither."""
    mark = "" if step.iteration is None else f" [{step.iteration}]"
    return mark if step.alternative is None else f"{mark} [alternative {step.alternative}]"


def _first_mentions(trace: Trace) -> dict[str, TraceStep]:
    first: dict[str, TraceStep] = {}
    for step in trace.step_records:
        for change in step.changes:
            first.setdefault(change.handle, step)
    return first


def rolled_back(trace: Trace) -> dict[str, TraceStep]:
    """Return the handles of failed alternatives, by id, with the step that each alternative failed at.

    The interpreter erases the copy that a failed alternative worked on.
    """
    steps = trace.step_records
    failed = {
        (s.parent, s.alternative): s
        for s in steps
        if s.status == "suppressed" and s.parent is not None and steps[s.parent].op == ALTERNATIVES
    }
    found: dict[str, TraceStep] = {}
    for handle, step in _first_mentions(trace).items() if failed else ():
        at: TraceStep | None = step
        inside = trace.handle(handle).path
        while at is not None and at.parent in inside:
            if (at.parent, at.alternative) in failed:
                found[handle] = failed[at.parent, at.alternative]
                break
            at = steps[at.parent]
    return found


def deaths(trace: Trace) -> dict[str, Death]:
    """Return the death of every handle that died, by id."""
    found: dict[str, Death] = {}
    for step in trace.step_records:
        for each in step.invalidated:
            found.setdefault(each.handle, Death(step.index, each))
    return found


def states_at_end(trace: Trace) -> dict[str, HandleChange]:
    """Return the final state of every handle, by id, in the order of definition."""
    # Not `Trace.states_after` of the last step: that may be nested in a step that ended after it.
    states = states_before(trace, len(trace.step_records))
    return {h.id: states[h.id] for h in trace.handle_records if h.id in states}


def states_before(trace: Trace, step: int) -> dict[str, HandleChange]:
    """Return the last known state of every handle when a step began, by handle id.

    `Trace.states_after` of the previous step may differ: that step may be nested in one that ended after it.
    """
    states: dict[str, HandleChange] = {}
    for each in trace.steps_by_end():
        if each.index >= step:
            break
        states.update((c.handle, c) for c in each.changes)
    return states


def death_in_words(
    trace: Trace, step: int, death: Invalidation, names: dict[str, str], user: TraceStep | None = None
) -> str:
    """Return why ``step`` invalidated a handle, as a sentence without its full stop; ``user`` used it later."""
    name, by = names[death.handle], names[death.by]
    shared, around = ("" if o is None else trace.op(o).name for o in (death.payload_op, death.ancestor))
    cause = death.cause if shared and around else "direct"
    state, killer = "was invalidated" if user is None else "is invalidated", f"step {step}"
    turn: Turn = "earlier"
    record = trace.step_records[step]
    if user is not None and record.source is not None and record.source == user.source:
        turn, killer = "iteration-before", f"{record.op} (step {step})"
    return describe_death(name, by, cause, killer, state=state, turn=turn, shared=shared, around=around)


def death_in_few_words(step: int, death: Invalidation, names: dict[str, str]) -> str:
    """Return the step and cause of a death in short: ``step 5: alias of %loop``."""
    if death.cause == "direct":
        return f"step {step}: consumed"
    return f"step {step}: {'alias of' if death.cause == 'alias' else 'inside'} {names[death.by]}"


def payload_in_words(trace: Trace, change: HandleChange) -> str:
    """Return what a live handle points to, or the value of a parameter: ``2 scf.for``, ``16 : i64``."""
    held = [r.param for r in change.payload if isinstance(r, ParamReference)]
    if held:
        return ", ".join(held)
    counts = Counter(trace.op(r).name for r in change.payload if isinstance(r, str))
    return ", ".join(f"{n} {name}" for name, n in counts.items()) or f"{len(change.payload)} values"


class PayloadHistory:
    """Indexed queries on the payload ops of a trace over time; a step ends after the steps nested in it."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._ended = {s.index: i for i, s in enumerate(trace.steps_by_end())}

    @functools.cached_property
    def texts(self) -> Mapping[str, ScheduleText]:
        """The texts of the trace by file."""
        return {name: ScheduleText(text) for name, text in self.trace.texts}

    @functools.cached_property
    def _made(self) -> Mapping[str, list[PayloadOp]]:
        made: dict[str, list[PayloadOp]] = defaultdict(list)
        for op in self.trace.op_records:
            for origin in op.derived_from:
                made[origin].append(op)
        return made

    @functools.cached_property
    def _lives(self) -> list[tuple[PayloadOp, int, int]]:
        """Each op, and the places among the steps that ended of those that made and erased it."""
        ended, never = self._ended, len(self._ended)
        return [
            (o, ended.get(o.born, -1), never if o.died is None else ended.get(o.died, 0))
            for o in self.trace.op_records
        ]

    @functools.cached_property
    def given(self) -> Mapping[tuple[int, str], HandleChange]:
        """What each operand of a step was when the step began, by step and handle."""
        found: dict[tuple[int, str], HandleChange] = {}
        states: dict[str, HandleChange] = {}
        ended, at = self.trace.steps_by_end(), 0
        for step in self.trace.step_records:
            while at < len(ended) and ended[at].index < step.index:
                states.update((c.handle, c) for c in ended[at].changes)
                at += 1
            # The first step of a block also has the block's arguments, as they were when it began.
            own = {c.handle: c for c in reversed(step.changes)}
            known = {o.handle: states.get(o.handle) or own.get(o.handle) for o in step.operands}
            found.update({(step.index, handle): state for handle, state in known.items() if state})
        return found

    def ops_given(self, step: TraceStep, operand: int) -> list[str]:
        """Return the ops that an operand of a step pointed to; none if it is invalidated or does not exist."""
        handle = step.operands[operand].handle if operand < len(step.operands) else ""
        state = self.given.get((step.index, handle))
        return [r for r in state.payload if isinstance(r, str)] if state is not None else []

    def alive_before(self, step: int) -> list[PayloadOp]:
        """Return the ops that existed when a step began (the number of steps: at the end)."""
        now = self._ended.get(step, len(self._ended))
        return [op for op, born, died in self._lives if born < now <= died]

    def dead_before(self, step: int) -> list[PayloadOp]:
        """Return the ops that had been erased when a step began."""
        now = self._ended.get(step, len(self._ended))
        return [op for op, _, died in self._lives if died < now]

    def descendants(self, roots: Iterable[str]) -> list[PayloadOp]:
        """Return the ops derived from others, directly or not."""
        found: dict[str, PayloadOp] = {}
        waiting = list(roots)
        while waiting:
            for op in self._made.get(waiting.pop(), ()):
                if op.id not in found:
                    found[op.id] = op
                    waiting.append(op.id)
        return list(found.values())

    def lies_in(self, op: PayloadOp, roots: Collection[str]) -> bool:
        """Return True if an op is one of the roots or nested in one, by its first parent."""
        at: str | None = op.id
        while at is not None and at not in roots:
            at = self.trace.op(at).parent
        return at is not None

    def is_in_loop(self, op: PayloadOp) -> bool:
        """Return True if an op was made in a loop and stays in it: nothing around it is ever moved."""
        at = op
        while at.id not in self._moved and at.parent is not None:
            at = self.trace.op(at.parent)
            if at.name in LOOPS:
                return True
        return False

    @functools.cached_property
    def _moved(self) -> set[str]:
        return {op for s in self.trace.step_records for op in s.payload_delta.moved}

    def around(self, op: PayloadOp, name: str) -> PayloadOp | None:
        """Return the innermost op of a name around an op."""
        at = op.parent
        while at is not None and self.trace.op(at).name != name:
            at = self.trace.op(at).parent
        return None if at is None else self.trace.op(at)


def work_of_step(trace: Trace, step: int) -> tuple[PayloadDelta, int | None]:
    """Return the total delta of a step with its nested steps, and the step of the snapshot before it.

    The payload as given (-1) has no delta, and the first snapshot none before it.
    """
    if step < 0:
        return PayloadDelta(), None
    inside = {step}
    for each in trace.step_records:
        if each.parent in inside:
            inside.add(each.index)
    deltas = [trace.step_records[i].payload_delta for i in sorted(inside)]
    created = {o for d in deltas for o in d.created}
    erased = {o for d in deltas for o in d.erased}

    def without(gone: set[str], parts: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(o for part in parts for o in part if o not in gone))

    total = PayloadDelta(
        created=without(erased, (d.created for d in deltas)),
        erased=without(created, (d.erased for d in deltas)),
        changed=without(created | erased, (d.changed for d in deltas)),
        moved=without(created | erased, (d.moved for d in deltas)),
    )
    earlier = [s.step for s in itertools.takewhile(lambda s: s.step not in inside, trace.snapshots)]
    return total, earlier[-1] if earlier else None
