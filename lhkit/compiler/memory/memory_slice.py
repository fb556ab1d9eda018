"""Memory programs of buffered IR: a slice with the allocations and everything that decides about them.

A ledger counts the heap allocations of a call in the C library's functions.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lhkit.compiler.ir.author_names import Names
from lhkit.compiler.ir.bindings import ir, new_context
from lhkit.compiler.ir.functions import called_by, function_ops, symbol_name
from lhkit.compiler.ir.parsing import span_of, walk
from lhkit.compiler.lowering.destination_style import KERNEL_NAME
from lhkit.compiler.lowering.legalization import is_bufferization_copy
from lhkit.compiler.lowering.pipeline import Progress, ignore_progress, write_out_loops
from lhkit.compiler.machine.compiled_kernel import Recipe, build_kernel, lowered_module
from lhkit.compiler.memory.buffer_sizes import alignment_of, element_bytes, extents_of, static_bytes
from lhkit.model.errors import usage_error
from lhkit.model.memory_footprint import HeapCount, Instruction, Kind, MemoryProgram, Origin, Region
from lhkit.worker.requests import Source

_OP = re.compile(r'"?([A-Za-z_][\w$]*(?:\.[\w$]+)+)')


class Origins:
    """The payload ops that buffered ops come from, numbered; locations survive bufferization."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._names = Names(sources)
        self._texts = {
            s.label: s.content.decode(errors="replace").split("\n") for s in sources if not s.is_bytecode
        }
        self._shown = {s.label: s.name for s in sources}
        self._found: dict[Origin, int] = {}
        self._by_location: dict[tuple[str, str], int] = {}

    def of(self, op: Any) -> int:
        """Return the number of an op's origin."""
        key = (str(op.location), op.name)
        if key not in self._by_location:
            self._by_location[key] = self._found.setdefault(self._origin(op), len(self._found))
        return self._by_location[key]

    def found(self) -> tuple[Origin, ...]:
        """Return all origins, by number."""
        return tuple(self._found)

    def _origin(self, op: Any) -> Origin:
        span = span_of(op.location)
        lines = self._texts.get(span.file, []) if span else []
        if span is None or not 1 <= span.line <= len(lines):
            return Origin("", op.name)
        # MLIR counts columns in bytes.
        rest = lines[span.line - 1].encode()[span.column - 1 :].decode(errors="replace")
        match = _OP.match(rest)
        name = self._names.result_at(op.location)
        return Origin(name, match[1] if match else op.name, self._shown.get(span.file, span.file), span.line)


# Dead-code elimination for memory programs.

_EFFECTS = ("alloc", "stack", "free", "copy")
_KEPT = (*_EFFECTS, "touch", "call")
_NESTED = ("loop", "while", "branch")
_VIEWS = (
    *("memref.subview", "memref.reinterpret_cast", "memref.expand_shape", "memref.collapse_shape"),
    *("memref.transpose", "memref.view", "memref.memory_space_cast", "memref.assume_alignment"),
)
_ALLOCATIONS: dict[str, Kind] = {"memref.alloc": "alloc", "memref.alloca": "stack"}
_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_COMPUTED = (
    *("addi", "subi", "muli", "divsi", "divui", "floordivsi", "ceildivsi", "ceildivui", "remsi", "remui"),
    *("minsi", "minui", "maxsi", "maxui", "andi", "ori", "xori"),
)
_CASTS = ("memref.cast", "arith.index_cast")
_BUFFERS = (ir.MemRefType, ir.UnrankedMemRefType)
_DECIDING = (*_BUFFERS, ir.IntegerType, ir.IndexType)

Functions = tuple[tuple[str, Region], ...]


def prune(functions: Functions) -> Functions:
    """Return functions without dead code; a loop that only computes is one use of its buffers."""
    working = _functions_with_effects(functions)
    pruned = []
    for name, region in functions:
        collapsed = _collapse(region, working)
        needed, before = set(collapsed.yields), -1
        while len(needed) != before:
            before = len(needed)
            _need(collapsed, needed)
        pruned.append((name, _without(collapsed, needed)))
    return tuple(pruned)


def _functions_with_effects(functions: Functions) -> frozenset[str]:
    """Return the functions that allocate, free or copy, themselves or through a call."""
    working: set[str] = set()
    while True:
        found = {n for n, region in functions if _has_effect(region.body, working)}
        if found == working:
            return frozenset(working)
        working = found


def _has_effect(body: Iterable[Instruction], working: Iterable[str]) -> bool:
    return any(
        i.kind in _EFFECTS
        or (i.kind == "call" and i.name in working)
        or any(_has_effect(r.body, working) for r in i.regions)
        for i in body
    )


def _collapse(region: Region, working: frozenset[str]) -> Region:
    """Return a region without nests that only compute; uses by one op that follow one another become one."""
    body: list[Instruction] = []
    for instruction in (c for i in region.body for c in _collapsed(i, working)):
        last = body[-1] if body else None
        if last is not None and last.kind == instruction.kind == "touch" and last.origin == instruction.origin:
            used = dict.fromkeys((*last.operands, *instruction.operands))
            body[-1] = dataclasses.replace(last, operands=tuple(used))
        else:
            body.append(instruction)
    return dataclasses.replace(region, body=tuple(body))


def _collapsed(instruction: Instruction, working: frozenset[str]) -> list[Instruction]:
    """Return an instruction, or the use that it comes down to."""
    if instruction.kind == "call" and instruction.name not in working and not instruction.results:
        return [Instruction("touch", instruction.operands, origin=instruction.origin)]
    if instruction.kind not in _NESTED:
        return [instruction]
    regions = tuple(_collapse(r, working) for r in instruction.regions)
    if instruction.results or any(_has_effect(r.body, working) for r in regions):
        return [dataclasses.replace(instruction, regions=regions)]
    used = dict.fromkeys(v for r in regions for i in r.body if i.kind == "touch" for v in i.operands)
    views = [i for r in regions for i in r.body if i.kind == "alias" and i.name == "view"]
    origin = next((i.origin for r in regions for i in r.body if i.kind == "touch"), instruction.origin)
    return [*views, Instruction("touch", tuple(used), origin=origin)] if used else []


def _need(region: Region, needed: set[int]) -> None:
    """Add the values that decide something, from the end on, so that chains take one round."""
    for i in reversed(region.body):
        if i.kind in _NESTED:
            _CARRYING[i.kind](i, needed)
            for inner in i.regions:
                _need(inner, needed)
        elif i.kind in _KEPT or needed.intersection(i.results):
            needed.update(i.operands)


def _need_loop(loop: Instruction, needed: set[int]) -> None:
    (body,) = loop.regions
    needed.update(loop.operands[:3])
    for k, result in enumerate(loop.results):
        same = (result, body.arguments[k + 1])
        if needed.intersection(same):
            needed.update((*same, body.yields[k], loop.operands[k + 3]))


def _need_while(loop: Instruction, needed: set[int]) -> None:
    before, after = loop.regions
    needed.add(before.yields[0])
    for k, argument in enumerate(before.arguments):
        if argument in needed:
            needed.update((loop.operands[k], after.yields[k]))
    # What the condition hands on goes into the body, and is the result at the end.
    for k, result in enumerate(loop.results):
        if needed.intersection((result, after.arguments[k])):
            needed.add(before.yields[k + 1])


def _need_branch(branch: Instruction, needed: set[int]) -> None:
    needed.add(branch.operands[0])
    for k, result in enumerate(branch.results):
        if result in needed:
            needed.update(region.yields[k] for region in branch.regions)


_CARRYING = {"loop": _need_loop, "while": _need_while, "branch": _need_branch}


def _without(region: Region, needed: set[int]) -> Region:
    """Return a region without arithmetic that nothing needs; values that are carried stay, for their places."""
    kept = (
        dataclasses.replace(i, regions=tuple(_without(r, needed) for r in i.regions))
        for i in region.body
        if i.kind in _KEPT or i.kind in _NESTED or needed.intersection(i.results)
    )
    return dataclasses.replace(region, body=tuple(kept))


def memory_program(module: Any, entry: str, sources: Sequence[Source]) -> MemoryProgram:
    """Return what a buffered module does with memory."""
    origins = Origins(sources)
    functions = tuple(
        (symbol_name(function), _Slicer(origins).region(function.regions[0]))
        for function in function_ops(module)
        if function.regions[0].blocks
    )
    return MemoryProgram(entry, prune(functions), origins.found())


class _Slicer:
    """Turns the ops of a function into instructions; values get numbers as they are seen."""

    def __init__(self, origins: Origins) -> None:
        self._numbers: dict[Any, int] = {}
        self._origins = origins
        self._by_name: dict[str, Callable[[Any], list[Instruction]]] = {
            **dict.fromkeys(_VIEWS, self._view),
            **dict.fromkeys(_ALLOCATIONS, self._allocation),
            **{f"arith.{name}": functools.partial(self._pure, "compute", name=name) for name in _COMPUTED},
            **dict.fromkeys(_CASTS, lambda op: self._pure("alias", op)),
            "arith.select": self._select,
            "arith.constant": self._constant,
            "arith.cmpi": self._comparison,
            "memref.extract_strided_metadata": self._metadata,
            "memref.dim": lambda op: self._pure("extent", op, number=-1),
            "memref.extract_aligned_pointer_as_index": lambda op: self._pure("address", op),
            "memref.dealloc": lambda op: [self._instruction("free", op)],
            "memref.copy": self._copy,
            "scf.for": self._for,
            "scf.parallel": self._parallel,
            "scf.while": lambda op: [self._nested("while", op)],
            "scf.if": lambda op: [self._nested("branch", op, reverse=True)],
            "scf.index_switch": self._switch,
            "scf.execute_region": self._execute,
            "memref.alloca_scope": self._execute,
            "func.call": lambda op: [self._instruction("call", op, name=called_by(op))],
        }

    def _value(self, value: Any) -> int:
        return self._numbers.setdefault(value, len(self._numbers))

    def _values(self, values: Iterable[Any]) -> tuple[int, ...]:
        """Return the numbers of those values that can decide something: buffers and integers."""
        return tuple(self._value(v) for v in values if isinstance(v.type, _DECIDING))

    def _new(self) -> int:
        """Return a number for a value that is not in the IR."""
        return self._value(object())

    def region(self, region: Any) -> Region:
        blocks = list(region.blocks)
        if not blocks:
            return Region((), (), ())
        arguments = self._values(blocks[0].arguments)
        ops = [op.operation for op in blocks[0].operations]
        body = tuple(i for op in ops for i in self._instructions(op))
        ends = bool(ops) and ops[-1].name.endswith((".yield", ".return", ".condition"))
        return Region(arguments, body, self._values(ops[-1].operands) if ends else ())

    def _instructions(self, op: Any) -> list[Instruction]:
        if (turn := self._by_name.get(op.name)) is not None:
            return turn(op)
        inner = [self.region(region) for region in op.regions]
        if any(i.kind in ("alloc", "free", "stack", "copy") for r in inner for i in r.body):
            return [i for region in inner for i in region.body]
        return self._touch(op)

    def _touch(self, op: Any) -> list[Instruction]:
        """Return the use of all buffers that an op and what is in it read and write."""
        buffers = self._values(v for v in op.operands if isinstance(v.type, _BUFFERS))
        inside = [i for region in op.regions for i in self.region(region).body if i.kind == "touch"]
        used = dict.fromkeys((*buffers, *(v for i in inside for v in i.operands)))
        if not used or op.name.endswith((".yield", ".return")):
            return []
        return [Instruction("touch", tuple(used), origin=self._origins.of(op))]

    def _instruction(self, kind: Kind, op: Any, **more: Any) -> Instruction:
        """Return an instruction with the operands and results of an op."""
        operands, results = self._values(op.operands), self._values(op.results)
        return Instruction(kind, operands, results, origin=self._origins.of(op), **more)

    def _nested(self, kind: Kind, op: Any, *, reverse: bool = False) -> Instruction:
        """Return the instruction of an op with regions; ``reverse``: its last region is that of 0."""
        regions = [self.region(region) for region in op.regions]
        return self._instruction(kind, op, regions=tuple(regions[::-1] if reverse else regions))

    def _allocation(self, op: Any) -> list[Instruction]:
        type_ = op.results[0].type
        # The operands after the extents are symbols of a layout, which lowered IR has none of.
        count = sum(type_.is_dynamic_dim(i) for i in range(type_.rank))
        return [
            Instruction(
                _ALLOCATIONS[op.name],
                self._values(list(op.operands)[:count]),
                self._values(op.results),
                number=static_bytes(type_),
                alignment=alignment_of(op),
                extents=extents_of(type_),
                origin=self._origins.of(op),
            )
        ]

    def _copy(self, op: Any) -> list[Instruction]:
        source, target = map(self._value, list(op.operands)[:2])
        type_ = op.operands[0].type
        dynamic = {i: self._new() for i in range(type_.rank) if type_.is_dynamic_dim(i)}
        return [
            *(Instruction("extent", (source,), (extent,), number=i) for i, extent in dynamic.items()),
            Instruction(
                "copy",
                (source, target, *dynamic.values()),
                number=static_bytes(type_),
                origin=self._origins.of(op),
            ),
        ]

    def _view(self, op: Any) -> list[Instruction]:
        type_, sizes = op.results[0].type, list[Any]()
        extents = extents_of(type_)
        if op.name == "memref.subview" and type_.rank == op.operands[0].type.rank:
            _, offsets, count, _ = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])
            sizes = list(op.operands)[1 + offsets : 1 + offsets + count]
        if len(sizes) != extents.count(None):
            sizes, extents = [], ()
        operands = self._values([op.operands[0], *sizes])
        return [Instruction("alias", operands, self._values(op.results), name="view", extents=extents)]

    def _metadata(self, op: Any) -> list[Instruction]:
        """Return base, offset, extents and strides, those of them that decide about memory."""
        source, rank = self._value(op.operands[0]), op.operands[0].type.rank
        results = self._values(op.results)
        extents = results[2 : 2 + rank]
        return [
            Instruction("alias", (source,), results[:1], name="view"),
            *(Instruction("extent", (source,), (r,), number=i) for i, r in enumerate(extents)),
        ]

    def _pure(self, kind: Kind, op: Any, *, name: str = "", number: int = 0) -> list[Instruction]:
        """Return the instruction of an op without effects, nothing if no memory can depend on its result."""
        if not isinstance(op.results[0].type, _DECIDING):
            return []
        operands, results = self._values(op.operands), self._values(op.results)
        return [Instruction(kind, operands, results, name=name, number=number)]

    def _select(self, op: Any) -> list[Instruction]:
        is_scalar = isinstance(op.operands[0].type, ir.IntegerType)
        return self._pure("alias", op, name="select") if is_scalar else []

    def _constant(self, op: Any) -> list[Instruction]:
        # A bool counts 0 or 1 where MLIR has 0 or -1.
        is_deciding = isinstance(op.results[0].type, _DECIDING)
        return self._pure("constant", op, number=int(op.attributes["value"].value)) if is_deciding else []

    def _comparison(self, op: Any) -> list[Instruction]:
        return self._pure("compare", op, name=_PREDICATES[ir.IntegerAttr(op.attributes["predicate"]).value])

    def _for(self, op: Any) -> list[Instruction]:
        return self._written_out_copy(op) if is_bufferization_copy(op) else [self._nested("loop", op)]

    def _written_out_copy(self, op: Any) -> list[Instruction]:
        """Return the copy that a nest of loops from zero by one makes, element by element."""
        inside = [op, *walk(op)]
        source, target = (next(o for o in inside if o.name == f"memref.{n}") for n in ("load", "store"))
        buffers = self._value(source.operands[0]), self._value(target.operands[1])
        counts = self._values(o.operands[1] for o in inside if o.name == "scf.for")
        number = element_bytes(source.results[0].type)
        return [Instruction("copy", (*buffers, *counts), number=number, origin=self._origins.of(op))]

    def _parallel(self, op: Any) -> list[Instruction]:
        """Return a nest of loops, one a dimension."""
        region = self.region(op.regions[0])
        count, origin = len(region.arguments), self._origins.of(op)
        bounds = self._values(list(op.operands)[: 3 * count])
        body = region.body
        for i in reversed(range(count)):
            inner = Region((region.arguments[i],), body, ())
            body = (Instruction("loop", bounds[i::count], (), (inner,), origin=origin),)
        return list(body)

    def _switch(self, op: Any) -> list[Instruction]:
        """Return a chain of branches, one a case; the first region is what runs if no case fits."""
        (selector,), cases = self._values(op.operands), list(ir.DenseI64ArrayAttr(op.attributes["cases"]))
        default, *regions = (self.region(region) for region in op.regions)
        origin, chosen, results = self._origins.of(op), default, self._values(op.results)
        made: list[Instruction] = []
        for case, region in reversed(list(zip(cases, regions, strict=True))):
            number, is_case = self._new(), self._new()
            given = results if case == cases[0] else tuple(self._new() for _ in results)
            made = [
                Instruction("constant", (), (number,), number=case),
                Instruction("compare", (selector, number), (is_case,), name="eq"),
                Instruction("branch", (is_case,), given, (chosen, region), origin=origin),
            ]
            chosen = Region((), tuple(made), given)
        return made or [*default.body]

    def _execute(self, op: Any) -> list[Instruction]:
        region = self.region(op.regions[0])
        pairs = zip(region.yields, self._values(op.results), strict=True)
        return [*region.body, *(Instruction("alias", (a,), (b,)) for a, b in pairs)]


_C = ctypes.CDLL("ucrtbase" if os.name == "nt" else None)
_SIZE, _POINTER = ctypes.c_size_t, ctypes.c_void_p


class HeapLedger:
    """Functions that stand in for ``malloc``, ``calloc``, ``aligned_alloc`` and ``free``, and count.

    Attributes:
        addresses: Address of each by its name, for the linker of a kernel; they live as long as the ledger.
    """

    def __init__(self) -> None:
        self._keep: list[Any] = []
        self._sizes: dict[int, int] = {}
        self.addresses: dict[str, int] = {}
        self._allocations = self._frees = self._total = self._live = self._peak = 0
        self._offer("malloc", _POINTER, (_SIZE,), lambda c, n: self._add(c(n), n))
        self._offer("calloc", _POINTER, (_SIZE, _SIZE), lambda c, n, size: self._add(c(n, size), n * size))
        self._offer("aligned_alloc", _POINTER, (_SIZE, _SIZE), lambda c, to, n: self._add(c(to, n), n))
        self._offer("free", None, (_POINTER,), self._remove)

    def count(self) -> HeapCount:
        """Return what was counted until now."""
        return HeapCount(self._allocations, self._frees, self._total, self._peak, self._live)

    def _offer(self, name: str, result: Any, arguments: tuple[Any, ...], count: Callable[..., Any]) -> None:
        """Put a function beside the C library's, which it is given and calls."""
        function = getattr(_C, name)
        function.restype, function.argtypes = result, arguments
        callback = ctypes.CFUNCTYPE(result, *arguments)(functools.partial(count, function))
        self._keep.append(callback)
        self.addresses[name] = int(ctypes.cast(callback, _POINTER).value or 0)

    def _add(self, address: int | None, size: int) -> int | None:
        if address:
            self._sizes[address] = size
            self._allocations += 1
            self._total += size
            self._live += size
            self._peak = max(self._peak, self._live)
        return address

    def _remove(self, free: Callable[..., Any], address: int | None) -> None:
        if address:
            self._frees += 1
            self._live -= self._sizes.pop(address, 0)
        free(address)


def scheduled_memory(recipe: Recipe, progress: Progress = ignore_progress) -> MemoryProgram:
    """Return the memory program of a payload as its schedule leaves it, before any lowering."""
    with new_context():
        module, _ = lowered_module(recipe, "scheduled", progress)
        for op in walk(module.operation):
            if any(isinstance(r.type, ir.RankedTensorType) for r in op.results):
                advice = (
                    "Bufferize in the schedule (transform.bufferization.one_shot_bufferize), or compile the"
                    " payload and ask the kernel: kernel.footprint()."
                )
                raise usage_error(f"{op.name} gives a tensor, which has no buffer yet", advice)
        write_out_loops(module, recipe.sources)
        return memory_program(module, recipe.function, recipe.sources)


def kernel_memory(
    recipe: Recipe,
    arguments: list[Any] | None = None,
    results: list[Any] | None = None,
    progress: Progress = ignore_progress,
) -> tuple[MemoryProgram, HeapCount | None]:
    """Return the memory program of a kernel and, given prepared arguments, the heap allocations of a call.

    The kernel that is counted is built for that alone, so that other kernels do not pay for counting.
    """
    if arguments is None or results is None:
        with new_context():
            module, _ = lowered_module(recipe, "loops", progress)
            return memory_program(module, KERNEL_NAME, recipe.sources), None
    programs: list[MemoryProgram] = []
    ledger = HeapLedger()
    kernel = build_kernel(
        recipe,
        progress,
        look=lambda module: programs.append(memory_program(module, KERNEL_NAME, recipe.sources)),
        symbols=ledger.addresses,
    )
    call = kernel.prepare(arguments, results)
    call()
    return programs[0], ledger.count()
