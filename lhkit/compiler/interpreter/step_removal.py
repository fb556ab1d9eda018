"""Steps that may be left out of a schedule: what is left gives the same payload."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Sequence
from typing import Any

from lhkit.compiler.extension.own_op_failures import failures_set_aside
from lhkit.compiler.interpreter.application import parse_payload, prepare_application
from lhkit.compiler.interpreter.effects import add_sequence
from lhkit.compiler.interpreter.op_identity import bytecode_of
from lhkit.compiler.interpreter.payload_walk import address, addresses, ops_under
from lhkit.compiler.interpreter.probes import GIVEN, giving, insert_probe, kind_of, listening, load_probe
from lhkit.compiler.ir.bindings import interpreter, ir, passmanager
from lhkit.compiler.ir.context_pool import reused_context
from lhkit.compiler.ir.parsing import walk
from lhkit.model.errors import Failure, error_for
from lhkit.worker.requests import LEFT_OUT_TOO, Application, Removal, Source

_NAME = "__lhkit_removal"
_MOST_GROWTH = 4  # How many times as many payload ops a trial may have as the schedule ever has
_MOST_ROUNDS, _MOST_REWRITES = 10, 30  # Of patterns in a trial, as MLIR has it; and per op in each round
_MOST_NEXT = 2  # How many of the next steps that are tried have a probe before them in any case
_VECTORS, _COPIES = -1, -2  # Numbers of probes behind steps that make large vectors, or many ops


def removable_steps(
    payload: Source, application: Application, removals: Sequence[Removal], ignored: Collection[str]
) -> list[int]:
    """Return which of some removals, tried in order, leave the payload that a schedule gives as it is.

    Each is tried together with those before it that did. The steps behind the first that is left out are
    applied again, on a copy of the payload as it was before, until it is again what it was with that step.

    Args:
        payload: The payload.
        application: The schedule; it applies.
        removals: What to leave out together: steps of the entry by number, each with -1, or with the number of
            one of the ops in its first block.
        ignored: Attributes of payload ops that do not count.
    """
    with reused_context() as context, ir.Location.unknown(), failures_set_aside():
        load_probe(context)
        root = parse_payload(payload).operation
        passmanager.PassManager.parse("any(strip-debuginfo)").run(root)  # the same payload from another place
        _module, home, entry = prepare_application(application)
        return _Reduction(root, home, entry, {step for r in removals for step, _ in r}, ignored).try_all(
            removals
        )


def apply_trial(context: Any, payload: Any, application: Application, most_elements: int) -> None:
    """Apply a schedule that may not be a good one to a payload module, in place.

    Raises:
        ScheduleError: It does not apply, or a step makes a larger vector: what follows then may take minutes.
    """
    load_probe(context)
    _module, home, entry = prepare_application(application)
    for op in [o for o in walk(entry) if "vectorize" in o.name]:
        ops = [o.operation for o in op.block.operations]
        insert_probe(ops[ops.index(op) + 1], _VECTORS)
    try:
        with failures_set_aside(), listening(lambda *_: _largest_vector(ops_under([payload])) <= most_elements):
            interpreter.apply_named_sequence(payload, entry, home)
        payload.verify()
    except (ValueError, ir.MLIRError) as error:
        raise error_for(Failure("definite", f"{application.sources[0].name}: {error}")) from None


def _largest_vector(ops: Sequence[Any]) -> int:
    types = (r.type for op in ops for r in op.results)
    return max((math.prod(t.shape) for t in types if isinstance(t, ir.VectorType)), default=0)


@dataclasses.dataclass(slots=True)
class _State:
    """The payload before a step, and what values that are read later point to: ops by number, or attributes."""

    bytecode: bytes
    given: list[tuple[Any, list[Any]]]
    payload: Any = dataclasses.field(default=None, compare=False)  # To start from there
    count: int = 0  # Of ops


class _Reduction:
    def __init__(self, root: Any, home: Any, entry: Any, tried: set[int], ignored: Collection[str]) -> None:
        self._home, self._tried = home, tried
        block = entry.regions[0].blocks[0]
        self._steps = [o.operation for o in block.operations][:-1]
        marks = (
            ir.StringAttr(s.attributes["name"]).value for s in self._steps if s.name == "transform.annotate"
        )
        self._ignored = {*marks} & {*ignored}
        self._defined = {r: n for n, step in enumerate(self._steps) for r in step.results}
        self._reads = [{v for op in (s, *walk(s)) for v in op.operands} for s in self._steps]
        self._last_read = {v: n for n, read in enumerate(self._reads) for v in read}
        made = [{op.name.rpartition(".")[2] for op in (s, *walk(s))} for s in self._steps]
        self._growing = [_VECTORS if "vectorize" in m else _COPIES if "unroll" in m else 0 for m in made]
        self._gone: set[tuple[int, int]] = set()
        self._largest = self._most_ops = -1  # The elements of a vector, and ops, in the whole application
        self._states = {0: _State(bytecode_of(root), [(block.arguments[0], [0])], root, len(ops_under([root])))}
        self._seen: dict[int, _State] = {}  # What the last trial had before steps behind the removed ones
        self._met: int | None = None  # The step before which it had what the application has there
        self._meetings: set[int] = set()  # All such steps so far
        self._wanted = self._applied(self._gone)

    def try_all(self, removals: Sequence[Removal]) -> list[int]:
        """Return the numbers of the removals that change nothing."""
        accepted: list[int] = []
        changed = len(self._steps)
        for number, removal in enumerate(removals):
            gone = self._gone | {*removal}
            step, last = min(removal)[0], max(removal)[0]
            if gone == self._gone or (step, -1) in self._gone or self._is_empty(step, gone):
                continue
            if step > changed:  # the states behind a step that was left out cannot be started from
                self._states = {0: self._states[0]}
                self._applied(self._gone)
                changed = len(self._steps)
            if self._applied(gone, step, last) == self._wanted:
                self._gone, changed = gone, step
                accepted.append(number)
                same = len(self._steps) if self._met is None else self._met
                self._states = {n: x for n, x in self._states.items() if n <= step or n >= same} | self._seen
        return accepted

    def _applied(self, gone: set[tuple[int, int]], step: int | None = None, last: int = -1) -> bytes | None:
        """Return the payload without some steps (new: ``step`` to ``last``, or states are recorded) or None."""
        self._met, self._seen = None, {}
        first = 0 if step is None else max(n for n, s in self._states.items() if n <= step and s.payload)
        probed = {*self._tried}
        if step is not None:
            # A probe compares the whole payload: where trials met it before, it is likely to pay.
            behind = sorted(n for n in self._tried if n > last and (n, -1) not in gone)
            probed = {*behind[:_MOST_NEXT], *self._meetings.intersection(behind)}
        root = self._states[first].payload.clone().operation
        ops = ops_under([root])
        sequence = add_sequence(_NAME, [ir.Type.parse("!transform.any_op")], self._home.regions[0].blocks[0])
        try:
            payloads = []
            values: dict[Any, Any] = {}
            end = ir.InsertionPoint(sequence.regions[0].blocks[0])
            for value, refers in self._states[first].given:
                values[value] = ir.Operation.create(GIVEN, results=[value.type], ip=end).results[0]
                payloads.append([ops[r] if isinstance(r, int) else r for r in refers])
            if not self._put(end, values, gone, first, probed):
                return None
            if step is not None:
                self._bound_rewrites(sequence, len(ops))

            def listen(number: int, state: Any) -> bool:
                if number < 0:
                    return self._is_bounded(root, number, records=step is None)
                ops = ops_under([root])
                if step is not None and number in self._states and self._states[number].count != len(ops):
                    return True  # it is another payload, and bytecode takes a while to write
                found = self._state(number, root, ops, state, values)
                if found is not None and step is None:
                    self._states[number] = dataclasses.replace(found, payload=root.clone().operation)
                elif found is not None and found == self._states.get(number):
                    self._met = number
                    self._meetings.add(number)
                elif found is not None:
                    self._seen[number] = found
                return self._met is None

            with listening(listen), giving(payloads):
                interpreter.apply_named_sequence(root, sequence, self._home)
        except (ValueError, ir.MLIRError):
            return None if self._met is None else self._wanted
        finally:
            sequence.erase()
        for op in ops_under([root]) if self._ignored else ():
            for name in self._ignored:
                if name in op.attributes:
                    del op.attributes[name]
        return bytecode_of(root)

    def _is_empty(self, step: int, gone: set[tuple[int, int]]) -> bool:
        """Return True for a step that would have lost all ops of its block: it was tried without before."""
        regions = self._steps[step].regions
        count = len(list(regions[0].blocks[0].operations)) if len(regions) else 0
        return count > 1 and all((step, n) in gone for n in range(count))

    def _put(
        self, end: Any, values: dict[Any, Any], gone: set[tuple[int, int]], first: int, probed: Collection[int]
    ) -> bool:
        """Add copies of the steps that are left; False if one reads what is gone."""
        lost: set[Any] = set()
        for number, step in list(enumerate(self._steps))[first:]:
            read = self._reads[number]
            if number in probed:
                insert_probe(end, number)
            if (number, -1) in gone or read & lost:
                if (number, -1) not in gone and step.name not in LEFT_OUT_TOO:
                    return False
                lost.update(step.results)
                continue
            copy = step.clone(ip=end).operation
            left_out = [n for s, n in gone if s == number]
            for n, op in enumerate(list(copy.regions[0].blocks[0].operations) if left_out else ()):
                if n in left_out:
                    op.operation.erase()
            for op in (copy, *walk(copy)):
                for value in read & values.keys():
                    op.replace_uses_of_with(value, values[value])
            values.update(zip(step.results, copy.results, strict=True))
            if self._growing[number]:
                insert_probe(end, self._growing[number])
        ir.Operation.create("transform.yield", ip=end)
        return True

    def _bound_rewrites(self, sequence: Any, count: int) -> None:
        """Let patterns that go on and on without those that are left out fail, not run to the time limit."""
        i64 = ir.IntegerType.get_signless(64)
        most = _MOST_REWRITES * max(self._most_ops, count, 100)
        for op in walk(sequence):
            if op.name == "transform.apply_patterns":
                for name, bound in (("max_iterations", _MOST_ROUNDS), ("max_num_rewrites", most)):
                    if name in op.attributes and ir.IntegerAttr(op.attributes[name]).value < 0:
                        op.attributes[name] = ir.IntegerAttr.get(i64, bound)

    def _state(
        self, number: int, root: Any, ops: Sequence[Any], state: Any, values: dict[Any, Any]
    ) -> _State | None:
        """Return the payload before a step; None where values of payload are read later."""
        numbers = {at: n for n, at in enumerate(addresses(ops))}
        given = []
        for value in [v for v in values if self._defined.get(v, -1) < number <= self._last_read.get(v, -1)]:
            kind, here = kind_of(value.type), values[value]
            if kind == "value":
                return None
            refers = state.get_params(here) if kind == "param" else state.get_payload_ops(here)
            known = [r if kind == "param" else numbers.get(address(r)) for r in refers]
            if any(k is None for k in known):
                return None
            given.append((value, known))
        return _State(bytecode_of(root), given, count=len(ops))

    def _is_bounded(self, root: Any, probe: int, *, records: bool) -> bool:
        """Return False for larger vectors than the schedule gives, or many more ops: both take minutes."""
        ops = ops_under([root])
        largest = _largest_vector(ops if probe == _VECTORS else ())
        if records:
            self._largest, self._most_ops = max(self._largest, largest), max(self._most_ops, len(ops))
            return True
        return largest <= self._largest and len(ops) <= _MOST_GROWTH * self._most_ops
