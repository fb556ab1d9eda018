"""Features of a scheduled payload for cost models: registers, bytes per cache level, work, trip counts.

They are read off the IR before it is lowered, in milliseconds. Bytes per cache level follow from footprints:
what one execution of a loop touches is fetched once if it fits the cache, else once an iteration.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.extents import (
    Extents,
    initial_values,
    is_loop,
    operand_groups,
    static_shape,
    trip_counts,
)
from lhkit.compiler.ir.functions import function_ops
from lhkit.compiler.ir.work_estimate import element_bytes

# Trips of a loop whose bounds are not known.
_UNKNOWN_TRIPS = 8
# Where the operands of an access begin that say where it goes, and which one is the data.
_READS = {
    "vector.transfer_read": (1, 0),
    "vector.load": (1, 0),
    "memref.load": (1, 0),
    "tensor.extract": (1, 0),
}
_WRITES = {"vector.transfer_write": (2, 1), "vector.store": (2, 1), "memref.store": (2, 1)}
_WRITES |= {"tensor.insert": (2, 1)}
_ARITHMETIC = ("arith.", "math.", "vector.fma", "vector.contract", "vector.reduction", "vector.multi_reduction")
_FREE = ("arith.constant", "arith.index_cast", "arith.bitcast")
_MOVES = ("vector.extract", "vector.broadcast", "vector.shuffle", "vector.insert", "vector.transpose")


@dataclass(slots=True)
class _Access:
    """A read or write: its bytes, and the loops whose variables its place follows."""

    size: int
    loops: frozenset[int]


@dataclass(slots=True)
class _Loop:
    """A loop, or the function itself: what its body does in one iteration, inner loops apart."""

    number: int
    trips: int
    carried: int = 0  # Registers of the values that it carries
    invariant: int = 0  # Registers of vectors that its body reads and that come from outside
    widest: int = 0  # Registers of the largest vector that it computes
    lanes: int = 0  # The most elements in the last dimension of what it computes
    ops: Counter[str] = field(default_factory=Counter)
    accesses: list[_Access] = field(default_factory=list)
    inner: list[_Loop] = field(default_factory=list)

    @property
    def registers(self) -> int:
        """Registers that an iteration needs at least."""
        return self.carried + self.invariant + self.widest


def schedule_features(
    module: Any, function: str, caches: Mapping[str, int], vector_bytes: int
) -> dict[str, float]:
    """Return the features of a function of a scheduled payload by name; what multiplies as logarithms.

    Args:
        module: The scheduled payload, before it is lowered.
        function: Which function.
        caches: Bytes of each cache by its name.
        vector_bytes: Bytes of a vector register.
    """
    ops = [op for op in function_ops(module) if str(op.attributes["sym_name"]).strip('"') == function]
    reader = _Reader(vector_bytes)
    top = _Loop(0, 1)
    for op in ops or function_ops(module):
        for block in op.regions[0].blocks:
            reader.read(block, top)
    every = list(_with_counts(top))
    totals: Counter[str] = Counter()
    for loop, count in every:
        for kind, number in loop.ops.items():
            totals[kind] += number * count
        totals["iterations"] += count
    hot, hot_count = max(every, key=lambda pair: pair[0].ops["arithmetic"] * pair[1])
    hot_work = hot.ops["arithmetic"] * hot_count
    found = {
        "registers": float(hot.registers),
        "largest registers": float(max(loop.registers for loop, _ in every)),
        "lanes": float(hot.lanes),
        "hot trips": _log(hot.trips),
        "hot body": _log(sum(hot.ops.values())),
        "remainder": 1 - hot_work / max(totals["arithmetic"], 1),
        "ops": _log(sum(sum(loop.ops.values()) for loop, _ in every)),
        "arithmetic": _log(totals["arithmetic"]),
        "loads": _log(totals["load"]),
        "stores": _log(totals["store"]),
        "moves": _log(totals["move"]),
        "iterations": _log(totals["iterations"]),
        "carried": float(hot.carried),
        "loads an operation": (hot.ops["load"] + hot.ops["move"]) / max(hot.ops["arithmetic"], 1),
    }
    for name, size in caches.items():
        found[f"bytes into {name}"] = _log(_moved(top, size))
    found["footprint"] = _log(_footprint(hot))
    return found


def _log(value: float) -> float:
    return round(math.log2(value + 1), 4)


def _with_counts(top: _Loop, count: int = 1) -> Iterator[tuple[_Loop, int]]:
    """Yield every loop with how often its body runs."""
    own = count * top.trips
    yield top, own
    for loop in top.inner:
        yield from _with_counts(loop, own)


def _all_accesses(loop: _Loop) -> Iterator[tuple[_Access, dict[int, int]]]:
    """Yield the accesses in a loop, each with the trips of the loops around it from this one on."""
    for access in loop.accesses:
        yield access, {loop.number: loop.trips}
    for inner in loop.inner:
        for access, around in _all_accesses(inner):
            yield access, {loop.number: loop.trips, **around}


def _footprint(loop: _Loop) -> int:
    """Return the bytes that one execution of a loop touches."""
    return sum(
        access.size * math.prod(trips for number, trips in around.items() if number in access.loops)
        for access, around in _all_accesses(loop)
    )


def _moved(loop: _Loop, size: int) -> int:
    """Return the bytes that one execution of a loop fetches into a cache of a size."""
    whole = _footprint(loop)
    if whole <= size:
        return whole
    inner = sum(access.size for access in loop.accesses) + sum(_moved(each, size) for each in loop.inner)
    return loop.trips * inner


class _Reader:
    """Reads blocks into loops."""

    def __init__(self, vector_bytes: int) -> None:
        self._vector_bytes = vector_bytes
        self._extents = Extents()
        self._variables: dict[Any, frozenset[int]] = {}
        self._registers: dict[Any, int] = {}
        self._count = 0

    def read(self, block: Any, loop: _Loop) -> None:
        """Read the ops of a block into the loop around it."""
        inside: set[Any] = set()
        outside: set[Any] = set()
        for each in block.operations:
            op = each.operation
            if is_loop(op):
                self._read_loop(op, loop)
                inside.update(op.results)
                continue
            self._extents.visit(op)
            operands = list(op.operands)
            from_loops = frozenset().union(*(self._variables.get(o, frozenset()) for o in operands))
            for result in op.results:
                inside.add(result)
                if from_loops:
                    self._variables[result] = from_loops
            outside.update(o for o in operands if o not in inside)
            self._count_op(op, operands, loop)
            for region in op.regions:
                for nested in region.blocks:
                    self.read(nested, loop)
        arguments = set(block.arguments)
        loop.invariant += sum(self._size(value) for value in outside if value not in arguments)

    def _read_loop(self, op: Any, around: _Loop) -> None:
        block = op.regions[0].blocks[0]
        initial = initial_values(op)
        arguments = list(block.arguments)
        loop = around
        # A loop of several variables is one for each, the first outermost.
        for argument, trips in zip(arguments, trip_counts(op, self._extents), strict=False):
            self._count += 1
            loop.inner.append(_Loop(self._count, _UNKNOWN_TRIPS if trips is None else trips))
            loop = loop.inner[-1]
            self._variables[argument] = frozenset({self._count})
        for argument, value in zip(arguments[len(arguments) - len(initial) :], initial, strict=True):
            loop.carried += self._size(argument)
            if from_loops := self._variables.get(value):
                self._variables[argument] = from_loops
        for result, value in zip(op.results, initial, strict=False):
            if from_loops := self._variables.get(value):
                self._variables[result] = from_loops
        self.read(block, loop)

    def _count_op(self, op: Any, operands: list[Any], loop: _Loop) -> None:
        name = op.name
        if name in _READS or name in _WRITES:
            first, data = _READS.get(name) or _WRITES[name]
            value = op.results[0] if name in _READS else operands[0]
            places = [operands[data], *operands[first:]]
            loops = frozenset().union(*(self._variables.get(o, frozenset()) for o in places))
            loop.accesses.append(_Access(self._bytes(value), loops))
            loop.ops["load" if name in _READS else "store"] += self._vectors(value)
        elif name.startswith(_ARITHMETIC) and name not in _FREE:
            value = operands[0] if "reduction" in name else op.results[0]
            if isinstance(value.type, ir.IndexType):
                loop.ops["index"] += 1
                return
            shape = static_shape(value.type)
            work = self._vectors(value)
            if name == "vector.contract":
                work = max(self._vectors(o) for o in operands)
            loop.ops["arithmetic"] += work
            loop.widest = max(loop.widest, self._size(value))
            loop.lanes = max(loop.lanes, (shape[-1] or 1) if shape else 1)
        elif name.startswith(_MOVES):
            loop.ops["move"] += max((self._vectors(r) for r in op.results), default=1)
        elif name.startswith("linalg."):
            self._count_structured(op, operands, loop)

    def _count_structured(self, op: Any, operands: list[Any], loop: _Loop) -> None:
        """Count an op on tensors that no step took apart: it goes element by element."""
        sizes = [self._bytes(o) for o in operands]
        most = max(sizes, default=0)
        loop.ops["arithmetic"] += most // 4
        loop.ops["load"] += sum(sizes) // 4
        for operand, size in zip(operands, sizes, strict=True):
            loop.accesses.append(_Access(size, self._variables.get(operand, frozenset())))
        if "operandSegmentSizes" in op.attributes:
            loop.ops["store"] += sum(self._bytes(o) for o in operand_groups(op)[-1]) // 4

    def _bytes(self, value: Any) -> int:
        """Return the bytes of a value, as far as they are known."""
        type_ = value.type
        shape = static_shape(type_)
        element = ir.ShapedType(type_).element_type if isinstance(type_, ir.ShapedType) else type_
        extents = [n or _UNKNOWN_TRIPS for n in self._extents.shape(value) or shape]
        return math.prod(extents) * (element_bytes(element) or 8)

    def _vectors(self, value: Any) -> int:
        """Return how many instructions it takes at least to compute a value."""
        if not isinstance(value.type, ir.VectorType):
            return 1
        shape = static_shape(value.type)
        # A row of elements never shares a register with the next one.
        rows = math.prod(n or 1 for n in shape[:-1])
        return rows * max(1, -(-self._bytes(value) // (rows * self._vector_bytes)))

    def _size(self, value: Any) -> int:
        """Return the registers that a value takes; 0 of what is no vector."""
        if not isinstance(value.type, ir.VectorType):
            return 0
        if value not in self._registers:
            self._registers[value] = -(-self._bytes(value) // self._vector_bytes)
        return self._registers[value]
