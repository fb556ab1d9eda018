"""Steps of a schedule that do nothing to a payload, erased before what is left of it is traced."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from lhkit.compiler.interpreter.op_identity import bytecode_of
from lhkit.compiler.interpreter.payload_walk import address, addresses
from lhkit.compiler.interpreter.probes import (
    insert_probe,
    kind_of,
    listening,
    stepping_blocks,
    stepping_sequences,
)
from lhkit.compiler.ir.bindings import interpreter
from lhkit.compiler.ir.parsing import walk
from lhkit.compiler.ir.schedule_modules import referred_sequences, sequence_ops, sequence_path

# Steps that change payload only through the steps in them, or not at all, and end no block.
CALLS = ("transform.include", "transform.foreach", "transform.foreach_match")
_LOOKS = (
    "transform.structured.match",
    "transform.collect_matching",
    "transform.merge_handles",
    "transform.num_associations",
    "transform.param.constant",
)
# Steps that do not change payload either, but fail, which ends the block that they are in.
_ASKS = ("transform.match.", "transform.get_", "transform.cast", "transform.split_handle", "transform.tune.")
# Steps that work on whole functions: only the payload says whether there was something to do.
_MAY_DO_NOTHING = (
    "transform.apply_patterns",
    "transform.apply_cse",
    "transform.apply_dce",
    "transform.apply_licm",
    "transform.apply_registered_pass",
)


@dataclasses.dataclass(slots=True, eq=False)
class _Block:
    """A block that probes are in; ``running`` is its step that runs now."""

    ops: list[Any]
    running: Any = None


def erase_idle_steps(payload: Any, home: Any, entry: Any) -> None:
    """Erase the steps of a schedule that leave a payload as it is and give nothing that others need.

    Args:
        payload: The root of the payload; the schedule is applied to it.
        home: The module of the sequences; idle steps, and sequences that nothing includes then, are erased.
        entry: The sequence to apply.

    Raises:
        ValueError, MLIRError: The schedule does not apply.
    """
    sequences = stepping_sequences(home)
    observed = _Observed(payload, sequences)
    with listening(observed.listen):
        interpreter.apply_named_sequence(payload, entry, home)
    for probe in observed.probes:
        probe.erase()
    for sequence in sequences:
        for _, block in stepping_blocks(sequence):
            _erase_in(block, observed)
    reached, waiting = set(), [entry]
    by_path = {sequence_path(op): op for op in sequence_ops(home)}
    while waiting:
        sequence = waiting.pop()
        reached.add(sequence_path(sequence))
        callees = {path for op in walk(sequence) for path in referred_sequences(op)} - reached
        waiting += [by_path[path] for path in callees if path in by_path]
    for path, sequence in by_path.items():
        if path not in reached:
            sequence.erase()


class _Observed:
    """What the steps of a schedule do in one application.

    Attributes:
        worked: Addresses of the steps that changed the payload, or had others in them that did.
        ran: Addresses of all steps that ran on something.
        probes: The probes that were put between the steps.
    """

    def __init__(self, payload: Any, sequences: Sequence[Any]) -> None:
        self.worked: set[int] = set()
        self.ran: set[int] = set()
        self._payload = payload
        self._gaps: list[tuple[_Block, int]] = []
        self._running: list[_Block] = []
        self._before: bytes | None = None
        self.probes: list[Any] = []
        for block in [b for s in sequences for b in _blocks_in(s)]:
            ops = [o.operation for o in block.operations]
            planned = _Block(ops[:-1])
            for i, op in enumerate(ops):
                self.probes.append(insert_probe(op, len(self._gaps)))
                self._gaps.append((planned, i))

    def listen(self, number: int, state: Any) -> bool:
        """Take note of the step before a probe, which has ended, and of the one behind it."""
        block, at = self._gaps[number]
        if block in self._running:
            del self._running[self._running.index(block) + 1 :]
            if at == 0:
                self._running.pop()
        if at == 0:
            self._running.append(block)
        elif self._before is not None and block.ops[at - 1].name in _MAY_DO_NOTHING:
            now = bytecode_of(self._payload)
            self._note_work(now != self._before)
            self._before = now
        block.running = block.ops[at] if at < len(block.ops) else None
        op = block.running
        if op is None or op.name in _LOOKS:
            return True
        handles = [v for v in op.operands if kind_of(v.type) != "param"]
        is_idle = handles and not any(_has_payload(state, v) for v in handles)
        if is_idle:
            return True
        self.ran.add(address(op))
        if op.name in _MAY_DO_NOTHING:
            self._before = self._before or bytecode_of(self._payload)
        elif op.name not in CALLS and not op.name.startswith(_ASKS):
            self._before = None
            self._note_work(True)
        return True

    def _note_work(self, has_worked: bool) -> None:
        if has_worked:
            self.worked.update(addresses([b.running for b in self._running if b.running is not None]))


def _has_payload(state: Any, value: Any) -> bool:
    return bool(
        state.get_payload_ops(value) if kind_of(value.type) == "op" else state.get_payload_values(value)
    )


def _blocks_in(op: Any) -> Iterator[Any]:
    for _, block in stepping_blocks(op):
        yield block
        for inner in block.operations:
            yield from _blocks_in(inner.operation)


def _erase_in(block: Any, observed: _Observed) -> None:
    *ops, _ = [o.operation for o in block.operations]
    for op in reversed(ops):
        at = address(op)
        is_quiet = op.name in (*CALLS, *_LOOKS) or at not in observed.ran
        if is_quiet and at not in observed.worked and not any(list(r.uses) for r in op.results):
            op.erase()
            continue
        for _, inner in stepping_blocks(op):
            _erase_in(inner, observed)
