"""Steps that may be left out of a schedule: what is left gives the same payload."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from lhkit.compiler.extension.own_op_failures import failures_set_aside
from lhkit.compiler.interpreter.application import parse_payload, prepare_application
from lhkit.compiler.interpreter.effects import add_sequence
from lhkit.compiler.interpreter.op_identity import address, ops_under
from lhkit.compiler.interpreter.probes import GIVEN, giving, insert_probe, kind_of, listening, load_probe
from lhkit.compiler.ir.bindings import interpreter, ir, new_context
from lhkit.compiler.ir.parsing import walk
from lhkit.worker.requests import LEFT_OUT_TOO, Application, Removal, Source

_NAME = "__lhkit_removal"


def removable_steps(
    payload: Source, application: Application, removals: Sequence[Removal], ignored: Collection[str]
) -> list[int]:
    """Return which of some removals, tried in order, leave the payload that a schedule gives as it is.

    Each is tried together with those before it that did. Only the steps behind the first that is left out are
    applied again, on a copy of the payload as it was before.

    Args:
        payload: The payload.
        application: The schedule; it applies.
        removals: What to leave out together: steps of the entry by number, each with -1, or with the number of
            one of the ops in its first block.
        ignored: Attributes of payload ops that do not count.
    """
    with new_context() as context, ir.Location.unknown(), failures_set_aside():
        load_probe(context)
        root = parse_payload(payload).operation
        _module, home, entry = prepare_application(application)
        return _Reduction(root, home, entry, {step for r in removals for step, _ in r}, ignored).try_all(
            removals
        )


@dataclass(slots=True)
class _State:
    """The payload before a step; what values that are read later point to: ops by number, or attributes."""

    payload: Any
    given: list[tuple[Any, list[Any]]]


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
        self._gone: set[tuple[int, int]] = set()
        self._largest = -1  # The elements of a vector; larger ones would be cut apart for minutes
        self._states = {0: _State(root, [(block.arguments[0], [0])])}
        self._wanted = self._applied(self._gone)

    def try_all(self, removals: Sequence[Removal]) -> list[int]:
        """Return the numbers of the removals that change nothing."""
        accepted, before = [], -1
        for number, removal in enumerate(removals):
            gone = self._gone | {*removal}
            step = min(step for step, _ in removal)
            if gone == self._gone or (step, -1) in self._gone:
                continue
            if step > before >= 0:  # the states behind a step that was left out are no longer those there
                self._applied(self._gone)
            before = step
            if self._applied(gone, step) == self._wanted:
                self._gone = gone
                accepted.append(number)
                for behind in [n for n in self._states if n > step]:
                    del self._states[behind]
        return accepted

    def _applied(self, gone: set[tuple[int, int]], step: int | None = None) -> str | None:
        """Return the payload without some steps, or None; without ``step`` states are recorded."""
        first = 0 if step is None else max(n for n in self._states if n <= step)
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
            if not self._put(end, values, gone, first, records=step is None):
                return None

            def listen(number: int, state: Any) -> bool:
                if number < 0:
                    return self._has_fitting_vectors(root, records=step is None)
                self._record(number, root, state, values)
                return True

            with listening(listen), giving(payloads):
                interpreter.apply_named_sequence(root, sequence, self._home)
        except (ValueError, ir.MLIRError):
            return None
        finally:
            sequence.erase()
        for op in ops_under([root]) if self._ignored else ():
            for name in self._ignored:
                if name in op.attributes:
                    del op.attributes[name]
        return str(root)

    def _put(
        self, end: Any, values: dict[Any, Any], gone: set[tuple[int, int]], first: int, *, records: bool
    ) -> bool:
        """Add copies of the steps that are left; False if one reads what is gone."""
        lost: set[Any] = set()
        for number, step in list(enumerate(self._steps))[first:]:
            read = self._reads[number]
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
            if records and number in self._tried:
                insert_probe(copy, number)
            if any(op.name.endswith(".vectorize") for op in (step, *walk(step))):
                insert_probe(probe := ir.Operation.create("transform.yield", ip=end), -1)
                probe.erase()
        ir.Operation.create("transform.yield", ip=end)
        return True

    def _record(self, number: int, root: Any, state: Any, values: dict[Any, Any]) -> None:
        """Record the payload before a step; not where values of payload are read later."""
        numbers = {address(op): n for n, op in enumerate(ops_under([root]))}
        given = []
        for value in [v for v in values if self._defined.get(v, -1) < number <= self._last_read.get(v, -1)]:
            kind, here = kind_of(value.type), values[value]
            if kind == "value":
                return
            refers = state.get_params(here) if kind == "param" else state.get_payload_ops(here)
            known = [r if kind == "param" else numbers.get(address(r)) for r in refers]
            if any(k is None for k in known):
                return
            given.append((value, known))
        self._states[number] = _State(root.clone().operation, given)

    def _has_fitting_vectors(self, root: Any, *, records: bool) -> bool:
        types = (r.type for op in ops_under([root]) for r in op.results)
        largest = max((math.prod(t.shape) for t in types if isinstance(t, ir.VectorType)), default=0)
        if records:
            self._largest = max(self._largest, largest)
        return largest <= self._largest
