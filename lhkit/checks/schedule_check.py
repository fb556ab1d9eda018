"""The public check of a schedule: abstract interpretation finds uses of invalidated handles; report as text.

The compiler says what an op consumes, `lhkit.checks.op_facts` what its results point to; deaths follow from
both (`lhkit.checks.points_to`). Included sequences are entered, alternatives start from the same state each,
and the body of a loop is repeated until its deaths reach a fixpoint.

A use is an *error* if its handle is invalid whenever no handle of the schedule is empty, and a *warning* if it
may be: the path is only sometimes taken, or the two handles only may alias or nest.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lhkit.checks.op_facts import MODULE, kinds_of_type
from lhkit.checks.points_to import AbstractSet, Nesting, SetUnion
from lhkit.checks.transfer_functions import (
    NOWHERE,
    AbstractPayload,
    Death,
    Scope,
    State,
    TransferFunction,
    consume,
    deaths_in,
    describe_use,
    facts_of,
    join_deaths,
    join_into,
    live_sets,
    match_under,
)
from lhkit.load.loader import as_schedule, schedule_sources
from lhkit.load.old_spellings import describe_undefined
from lhkit.model.check_report import CheckReport, FatalUse, Finding, OpPlace, Severity
from lhkit.model.errors import handles_in, public
from lhkit.model.fatal_attributes import ALTERNATIVES_ON_COPY, ALTERNATIVES_ON_ROOT, find_fatal_request
from lhkit.model.ir_outline import Outline, OutlineBlock, OutlineOp, OutlineSequence
from lhkit.model.knob import KnobValue
from lhkit.model.pass_policy import how_to_allow
from lhkit.model.printable import counted
from lhkit.model.schedule import Schedule
from lhkit.model.span import Span, excerpt
from lhkit.text.expectations import unknown_names
from lhkit.traces.report.trace_text import Line, Piece, Role, plain_text
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.limits import Limits
from lhkit.worker.requests import Application, OutlineSchedule

# Limit on interpreted ops, for sequences that include one another exponentially often.
MOST_OPS = 50_000
# An op that consumes or matches is compared with every handle in scope: this limit is reached after a second or
# two. Shipped schedules need at most 11,000.
MOST_COMPARED = 400_000
_MOST_ITERATIONS = 4
_NO_SETS: SetUnion = frozenset()

# A generator that yields the evaluations that it depends on; see `_run_trampoline`.
Evaluation = Generator["Evaluation", Any, Any]


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings in order of place, how much was checked, and uses of sequences without a body."""

    findings: tuple[Finding, ...]
    sequences: int
    uses: int
    is_complete: bool
    fatal: tuple[FatalUse, ...] = ()
    undefined: tuple[tuple[OpPlace, str], ...] = ()


def check_outline(outline: Outline, entry: str | None, *, only_entry: bool = False) -> Checked:
    """Check the entry and what it reaches; unless ``only_entry``, the others too, with unrelated arguments."""
    checker = _Interpreter(outline)
    if entry is not None:
        checker.check(entry, is_entry=True)
    if not only_entry:
        called = {c for s in outline.sequences for op in _ops_of(s.block) for c in (*op.callees, *op.matchers)}
        for sequence in sorted(outline.sequences, key=lambda s: s.name in called):
            if sequence.name not in checker.reached:
                checker.check(sequence.name, is_entry=False)
    return checker.checked()


def _ops_of(block: OutlineBlock) -> Iterable[OutlineOp]:
    waiting = [block]
    while waiting:
        for op in waiting.pop().ops:
            yield op
            waiting += op.blocks


def _run_trampoline(following: Evaluation) -> Any:
    """Trampoline for recursive generators, to avoid deep Python stacks."""
    stack, value = [following], None
    while stack:
        try:
            stack.append(stack[-1].send(value))
            value = None
        except StopIteration as stop:
            stack.pop()
            value = stop.value
    return value


class _TooManyHandlesError(Exception):
    """The schedule has more handles than are compared."""


class _Interpreter:
    def __init__(self, outline: Outline) -> None:
        self._handles = outline.handles
        self._sequences: Mapping[str, OutlineSequence] = {s.name: s for s in outline.sequences}
        self._store = AbstractPayload()
        self._found: dict[tuple[Span, str, OpPlace], Finding] = {}
        self._fatal: dict[OpPlace, str] = {}
        self._undefined: dict[tuple[OpPlace, str], None] = {}
        self._root: SetUnion = _NO_SETS
        self._copies: set[AbstractSet] = set()
        self._uses: set[tuple[int, int]] = set()
        self._ops = 0
        self._compared = 0
        self.reached: set[str] = set()

    def check(self, name: str, *, is_entry: bool) -> None:
        """Interpret a sequence; the first argument of an entry is the payload's root."""
        block = self._sequences[name].block
        self.reached.add(name)
        self._store.change(keeps=False)
        scope: Scope = {}
        root: SetUnion = _NO_SETS
        for i, number in enumerate(block.arguments):
            kinds = kinds_of_type(self._handles[number].type)
            ops = self._store.new(MODULE if is_entry and i == 0 else kinds)
            if i and is_entry:
                ops.nestings.append(Nesting(root, is_certain=True))
            root = root or frozenset({ops})
            self._root = root if is_entry else _NO_SETS
            scope[number] = State(frozenset({ops}))
        if self._compared <= MOST_COMPARED:
            with contextlib.suppress(_TooManyHandlesError):
                _run_trampoline(self._block(block, scope, True))

    def checked(self) -> Checked:
        findings = sorted(self._found.values(), key=lambda f: (dataclasses.astuple(f.use.source), f.handle))
        fatal = [FatalUse(place, message) for place, message in self._fatal.items()]
        is_complete = self._ops <= MOST_OPS and self._compared <= MOST_COMPARED
        reached, uses = len(self.reached), len(self._uses)
        return Checked(tuple(findings), reached, uses, is_complete, tuple(fatal), tuple(self._undefined))

    # Evaluations: each changes the scope, and yields the evaluations that it depends on.

    def _block(self, block: OutlineBlock, scope: Scope, is_certain: bool) -> Evaluation:
        for op in block.ops:
            self._ops += 1
            if op.results or not op.only_reads:
                self._compared += len(scope) * self._depth(op, scope)
            if self._compared > MOST_COMPARED:
                raise _TooManyHandlesError
            self._use(op, scope, is_certain)
            self._refuse_fatal(op, scope)
            yield self._apply(op, scope, is_certain)
        return [scope[number] for number in block.yielded]

    def _depth(self, op: OutlineOp, scope: Scope) -> int:
        sets = [c for n in op.operands for c in self._sets_of(n, scope)]
        return 1 + max((len(c.containers()) for c in sets), default=0)

    def _use(self, op: OutlineOp, scope: Scope, is_certain: bool) -> None:
        """Report uses of dead operands in order, and consume."""
        place = OpPlace(op.name, op.source or NOWHERE)
        # Some ops may read what they consume through another operand.
        before = dict(scope) if op.may_repeat or facts_of(op).may_repeat else scope
        for position, (number, consumes) in enumerate(zip(op.operands, op.consumes, strict=True)):
            handle = self._handles[number]
            if handle.kind == "param":
                continue
            self._uses.add((id(op), position))
            if (death := before[number].death) is not None:
                is_repeated = op.operands.count(number) > 1
                self._report(number, death, place, is_certain, is_repeated=is_repeated)
            if consumes:
                consume(number, handle.name, scope, place)

    def _refuse_fatal(self, op: OutlineOp, scope: Scope) -> None:
        """Record an op that would end the compiler if its handle has payload."""
        message = find_fatal_request(op.name, dict(op.attributes), [self._handles[r].type for r in op.results])
        if op.name == "transform.alternatives":
            operands = frozenset().union(*(self._sets_of(n, scope) for n in op.operands))
            if operands & self._root:
                message = ALTERNATIVES_ON_ROOT
            elif operands & self._copies:
                message = ALTERNATIVES_ON_COPY
        if message is not None:
            self._fatal.setdefault(OpPlace(op.name, op.source or NOWHERE), message)

    def _apply(self, op: OutlineOp, scope: Scope, is_certain: bool) -> Evaluation:
        callees = [c for c in op.callees if c in self._sequences]
        for name in (*op.callees, *op.matchers):
            if name not in self._sequences:
                self._undefined[OpPlace(op.name, op.source or NOWHERE), name] = None
        results: list[State] | None = None
        if self._ops > MOST_OPS:
            pass
        elif op.name == "transform.match.operation_name":
            self._narrow(op, scope)
        elif op.matchers:
            results = yield self._matching(op, callees, scope)
        elif callees:
            arguments = [State(scope[n].sets) for n in op.operands]
            results = yield self._call(callees[0], arguments, is_certain)
        elif op.name == "transform.foreach":
            results = yield self._each(op, scope, is_certain)
        elif op.blocks:
            results = yield self._regions(op, scope, is_certain)
        if results is None or len(results) != len(op.results):
            results = self._make(op, scope)
        for number, state in zip(op.results, results, strict=True):
            scope[number] = state
        if not op.only_reads and not op.blocks and not callees:
            self._store.change(keeps=facts_of(op).keeps)

    def _make(self, op: OutlineOp, scope: Scope) -> list[State]:
        operands = [self._sets_of(n, scope) for n in op.operands]
        results = [self._handles[n] for n in op.results]
        made = TransferFunction(self._store, op, operands, results, lambda: live_sets(scope)).make()
        return [State(sets) for sets in made]

    def _sets_of(self, number: int, scope: Scope) -> SetUnion:
        return _NO_SETS if self._handles[number].kind == "param" else scope[number].sets

    def _call(self, name: str, arguments: Sequence[State], is_certain: bool) -> Evaluation:
        """Interpret a sequence, which sees only its arguments."""
        self.reached.add(name)
        block = self._sequences[name].block
        inner = dict(zip(block.arguments, arguments, strict=False))
        for number in block.arguments[len(arguments) :]:
            inner[number] = State(frozenset({self._store.new()}))
        return (yield self._block(block, inner, is_certain))

    def _matching(self, op: OutlineOp, actions: Sequence[str], scope: Scope) -> Evaluation:
        """Interpret matchers on the ops under the first operand, and the actions they are paired with."""
        root = self._sets_of(op.operands[0], scope)
        given = [State(scope[n].sets) for n in op.operands[1:]]
        gathered: list[State] = []
        for i, matcher in enumerate(op.matchers):
            if matcher not in self._sequences:
                continue
            candidate = match_under(self._store, root, None, True, set())
            matched = yield self._call(matcher, [State(frozenset({candidate})), *given], False)
            if op.callees:
                if i < len(actions):
                    yield self._call(actions[i], matched, False)
            else:
                live = live_sets(scope)
                # A matcher that returns its candidate returns all of them.
                gathered = [
                    State(frozenset({match_under(self._store, root, candidate.kinds, True, live)}))
                    if state.sets == {candidate}
                    else state
                    for state in matched
                ]
        if not op.callees:
            return gathered
        self._store.change(keeps=False)
        return None

    def _narrow(self, op: OutlineOp, scope: Scope) -> None:
        names = re.findall(r'"([^"]+)"', dict(op.attributes).get("op_names", ""))
        for ops in scope[op.operands[0]].sets:
            ops.kinds = ops.kinds or frozenset(names)

    def _each(self, op: OutlineOp, scope: Scope, is_certain: bool) -> Evaluation:
        """Interpret the body of a loop until the deaths of other iterations reach a fixpoint."""
        (block,) = op.blocks
        given = [self._sets_of(n, scope) for n in op.operands]
        gathered: list[list[State]] = [[] for _ in op.results]
        earlier: list[list[AbstractSet]] = [[] for _ in given]
        ends: list[Scope] = []
        for iteration in range(_MOST_ITERATIONS):
            inner = dict(scope if not ends else ends[-1])
            for position, (number, sets) in enumerate(zip(block.arguments, given, strict=False)):
                inner[number] = State(_NO_SETS)
                if sets:
                    part = self._store.part_of(sets)
                    part.disjoint.update(earlier[position])
                    for before in earlier[position]:
                        before.disjoint.add(part)
                    earlier[position].append(part)
                    inner[number] = State(frozenset({part}))
            yielded = yield self._block(block, inner, is_certain and iteration == 0)
            for states, state in zip(gathered, yielded, strict=True):
                states.append(state)
            is_settled = bool(ends) and deaths_in(inner, scope) == deaths_in(ends[-1], scope)
            ends.append(inner)
            if is_settled:
                break
        join_into(scope, ends)
        supersets = dict(zip(block.arguments, given, strict=False))
        return [
            State(supersets[n], join_deaths([s.death for s in states]))
            if n in supersets
            else self._gather_parts(states)
            for n, states in zip(block.yielded, gathered, strict=True)
        ]

    def _gather_parts(self, states: Sequence[State]) -> State:
        """Return the state of a handle to what all iterations returned."""
        sets = [c for s in states for c in s.sets]
        if not sets or all(s.sets == states[0].sets for s in states):
            return states[0]
        kinds = {c.kinds for c in sets}
        whole = self._store.new(next(iter(kinds)) if len(kinds) == 1 else None)
        for ops in sets:
            ops.add_superset(frozenset({whole}))
        common = [i for i in sets[0].enclosing() if all(i in c.enclosing() for c in sets)]
        whole.nestings = common
        return State(frozenset({whole}), join_deaths([s.death for s in states]))

    def _regions(self, op: OutlineOp, scope: Scope, is_certain: bool) -> Evaluation:
        """Interpret each region of an op from the same state, and join the results."""
        selected = dict(op.attributes).get("selected_region_attr", "").partition(" ")[0]
        blocks = [b for b in op.blocks if not selected or b.region == int(selected)]
        is_sequence = op.name == "transform.sequence"
        is_isolated = op.name == "transform.alternatives"  # it sees no handles from outside
        given = [State(self._sets_of(n, scope)) for n in op.operands]
        if is_isolated:
            given = self._make_clones(op, scope)
            # An empty one always succeeds: none after it is tried.
            last = next((i for i, b in enumerate(blocks) if not b.ops), len(blocks) - 1)
            blocks = blocks[: last + 1]
        # One region that is always entered, or several of which the first is.
        first = is_sequence or is_isolated or bool(selected)
        ends: list[Scope] = []
        gathered: list[list[State]] = []
        for i, block in enumerate(blocks):
            inner = scope if is_sequence else {} if is_isolated else dict(scope)
            for position, number in enumerate(block.arguments):
                fresh = State(frozenset({self._store.new()}))
                inner[number] = given[position] if position < len(given) else fresh
            gathered.append((yield self._block(block, inner, is_certain and first and i == 0)))
            ends.append(inner)
        if not is_sequence and not is_isolated:
            if not first:
                ends.append(dict(scope))
            join_into(scope, ends)
        if not gathered or not op.results or any(len(g) != len(op.results) for g in gathered):
            return None
        return gathered[0] if len(gathered) == 1 else [self._choose(s) for s in zip(*gathered, strict=True)]

    def _make_clones(self, op: OutlineOp, scope: Scope) -> list[State]:
        """Return the arguments of alternatives: copies of the ops in the scope, in their place."""
        clones = []
        for number in op.operands:
            copied = {ops: self._store.new(ops.kinds) for ops in self._sets_of(number, scope)}
            for ops, clone in copied.items():
                clone.nestings = ops.enclosing()
            self._copies.update(copied.values())
            clones.append(State(frozenset(copied.values())))
        return clones

    def _choose(self, states: Sequence[State]) -> State:
        options: SetUnion = frozenset().union(*[s.sets for s in states])
        death = join_deaths([s.death for s in states])
        if len({s.sets for s in states}) == 1:
            return State(options, death)
        return State(frozenset({self._store.part_of(options)}), death)

    def _report(
        self, number: int, death: Death, place: OpPlace, is_certain: bool, *, is_repeated: bool
    ) -> None:
        name = self._handles[number].name
        severity: Severity = "error" if death.is_certain and is_certain else "warning"
        key = (place.source, name, death.place)
        if key in self._found and self._found[key].severity == "error":
            return
        is_error = severity == "error"
        message = describe_use(name, death, place, is_repeated=is_repeated, is_error=is_error)
        self._found[key] = Finding(severity, name, place, death.cause, death.by, death.place, message)


@public
def check_schedule(
    schedule: Schedule | str | os.PathLike[str],
    knobs: Mapping[str, KnobValue] | None = None,
    *,
    only_entry: bool = False,
    worker: Worker | None = None,
    limits: Limits | None = None,
) -> CheckReport:
    """Look for uses of handles that are invalidated, or may be, and for refused passes, without a payload.

    A use is an *error* if it fails for every payload for which no handle of the schedule is empty, and a
    *warning* if it fails for some. What would end the compiler, such as a division by an attribute that is 0,
    is an error too, and so is entering a sequence that is declared and that nothing defines, or an expectation
    (``// lhkit: expect``) about a handle that nothing defines; whether it is met depends on the payload.

    Args:
        schedule: What to check, loaded or a path.
        knobs: Values for knobs, over those it has; knobs without a value stay open.
        only_entry: Check what the entry reaches; otherwise all other sequences too, each by itself.
        worker: Another worker than the session's.
        limits: Time and memory for reading the schedule.

    Returns:
        The report, an immutable value that shows itself as text.

    Raises:
        UsageError: No such knob, or more or fewer names bound than trailing arguments.
    """
    schedule = as_schedule(schedule, worker)
    if knobs:
        schedule = schedule.with_knobs(knobs)
    outline = outline_of(schedule, worker=worker, limits=limits)
    checked = check_outline(outline, schedule.entry, only_entry=only_entry)
    defined = [s.name for s in outline.sequences]
    undefined = [FatalUse(place, describe_undefined(name, defined)) for place, name in checked.undefined]
    expected = [FatalUse(OpPlace("lhkit: expect", at), said) for at, said in unknown_names(schedule)]
    fatal = sorted([*checked.fatal, *undefined, *expected], key=lambda f: dataclasses.astuple(f.use.source))
    return CheckReport(
        source=schedule.source,
        sha256=schedule.sha256,
        findings=checked.findings,
        sequences=checked.sequences,
        uses=checked.uses,
        is_complete=checked.is_complete,
        refused=outline.refused,
        fatal=tuple(fatal),
        texts=((schedule.source, schedule.text), *((b.source, b.text) for b in schedule.libraries)),
    )


def outline_of(schedule: Schedule, *, worker: Worker | None = None, limits: Limits | None = None) -> Outline:
    """Return the outline of a schedule: ops with operands, effects, places and names."""
    settings = {k.name: k.default for k in schedule.knobs} | dict(schedule.settings)
    application = Application(
        schedule_sources(schedule),
        schedule.entry,
        {name: value for name, value in settings.items() if value is not None},
        schedule.bind,
        schedule.allowed_passes,
    )
    return (worker or shared_worker()).ask(OutlineSchedule(application), limits=limits).value


def check_lines(report: CheckReport) -> tuple[Line, ...]:
    """Return a report as lines: findings in order of place, then a summary."""
    texts = dict(report.texts)
    lines: list[Line] = []
    for finding in report.findings:
        use, death = finding.use.source, finding.invalidated_at.source
        role: Role = "failed" if finding.severity == "error" else "warning"
        lines += _lines_at(use, Piece(f"{finding.severity}: {finding.message}", role), texts)
        if death != use:
            lines += _lines_at(death, Piece(f"note: {finding.by} is consumed here", "faint"), texts)
        lines.append(())
    errors = [(f.use.source, f"{f.use.op}: {f.message}") for f in report.fatal]
    for place, message in (*errors, *((r.source, r.reason) for r in report.refused)):
        lines += [*_lines_at(place, Piece(f"error: {message}", "failed"), texts), ()]
    if advice := how_to_allow(r.name for r in report.refused if r.is_registered):
        lines += [(Piece(advice),), ()]
    return (*lines, (Piece(summary(report), "title"),))


def check_bundle(report: CheckReport) -> dict[str, Any]:
    """Return a report as a MIME bundle: its text."""
    return {"text/plain": plain_text(check_lines(report))}


def summary(report: CheckReport) -> str:
    """Return the numbers of findings in one line."""
    looked = f"{counted(report.uses, 'use')} of handles in {counted(report.sequences, 'sequence')}"
    if not report.is_complete:
        looked += "; it is too long, or its sequences include one another too often, to be followed to the end"
    found = "no use of an invalidated handle"
    if report.findings or report.refused or report.fatal:
        errors = len(report.errors) + len(report.refused) + len(report.fatal)
        parts = [(errors, "error"), (len(report.warnings), "warning")]
        found = ", ".join(counted(n, what) for n, what in parts if n)
    return f"{report.source}: {found} ({looked})"


def _lines_at(place: Span | None, message: Piece, texts: dict[str, str]) -> list[Line]:
    """Return a message with its place, and the line of the text there."""
    if place is None:
        return [(Piece(""), message)]
    shown = excerpt(place, texts, about=handles_in(message.text))
    return [(Piece(f"{place}: "), message), *((Piece(line),) for line in shown.splitlines())]
