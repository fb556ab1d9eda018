"""Structured ops of a payload as plain data: loops, operands, views, and index values as terms."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any

from lhkit.compiler.ir.author_names import Names
from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ir.context_pool import reused_context
from lhkit.compiler.ir.extents import Extents, initial_values, is_loop, operand_groups, outputs_of, static_shape
from lhkit.compiler.ir.functions import function_ops, functions_of, symbol_name
from lhkit.compiler.ir.parsing import parse_module, walk
from lhkit.compiler.ir.work_estimate import element_bytes, op_flops
from lhkit.model.tile_picture import (
    LoopVariable,
    StructuredOp,
    Term,
    TermKind,
    TiledOperand,
    Tilings,
    View,
    computed,
)
from lhkit.worker.requests import Source

# Of sizes and offsets, which are not negative, so that signedness does not matter.
_KINDS: dict[TermKind, tuple[str, ...]] = {
    **{"add": ("addi",), "sub": ("subi",), "mul": ("muli",), "mod": ("remsi", "remui")},
    **{"floordiv": ("divui", "divsi", "floordivsi"), "ceildiv": ("ceildivsi", "ceildivui")},
    **{"min": ("minsi", "minui"), "max": ("maxsi", "maxui")},
}
_ARITHMETIC = {f"arith.{name}": kind for kind, names in _KINDS.items() for name in names}
_EXTREMES: dict[str, TermKind] = {"affine.min": "min", "affine.max": "max"}
_AFFINE: dict[Any, TermKind] = {
    **{ir.AffineAddExpr: "add", ir.AffineMulExpr: "mul", ir.AffineModExpr: "mod"},
    **{ir.AffineFloorDivExpr: "floordiv", ir.AffineCeilDivExpr: "ceildiv"},
}
_ALLOCATIONS = ("tensor.empty", "memref.alloc", "memref.alloca", "bufferization.alloc_tensor")
_SAME = (
    *("tensor.cast", "memref.cast"),
    *("bufferization.to_tensor", "bufferization.to_buffer", "bufferization.clone"),
)
_SLICES = ("tensor.extract_slice", "memref.subview")
_DESTINATIONS = {"tensor.insert": 1, "tensor.insert_slice": 1, "vector.transfer_write": 1}


def same_value(value: Any) -> Any:
    """Return the value that lies in the same place: what was written into, cast, carried into a loop; or None.

    In destination-passing style an op's result, and what a loop carries, stand where their destination does.
    """
    if isinstance(value, ir.BlockArgument):
        argument = ir.BlockArgument(value)
        owner = argument.owner.owner.operation
        # What is carried comes last among the arguments.
        return _carried(owner, argument.arg_number - len(argument.owner.arguments)) if is_loop(owner) else None
    result = ir.OpResult(value)
    op = result.owner.operation
    if op.name in _SAME:
        return op.operands[0]
    if op.name in _DESTINATIONS:
        return op.operands[_DESTINATIONS[op.name]]
    if op.name.startswith("linalg."):
        outputs = outputs_of(op)
        return outputs[result.result_number] if result.result_number < len(outputs) else None
    return _carried(op, result.result_number) if is_loop(op) else None


def _carried(loop: Any, number: int) -> Any:
    initial = [] if loop.name == "scf.parallel" else initial_values(loop)
    return initial[number] if -len(initial) <= number < len(initial) else None


class IndexTerms:
    """The terms of a payload; the same computation has one term."""

    def __init__(self) -> None:
        self.terms: list[Term] = []
        self._known: dict[Term, int] = {}
        self.values: dict[Any, int] = {}

    def term(self, kind: TermKind, operands: Sequence[int] = (), value: int = 0) -> int:
        """Return the position of a term, simplified where that is plain."""
        if len(operands) == 2 and kind != "extent":
            folded = self._folded(kind, *operands)
            if folded is not None:
                return folded
        term = Term(kind, tuple(operands), value)
        if term not in self._known:
            self._known[term] = len(self.terms)
            self.terms.append(term)
        return self._known[term]

    def constant(self, value: int) -> int:
        """Return the position of a number."""
        return self.term("constant", value=value)

    def unknown(self) -> int:
        """Return the position of a new term that nothing is known of."""
        return self.term("unknown", value=len(self.terms))

    def number(self, value: Any) -> int:
        """Return the position of the term of an index value."""
        if value not in self.values:
            self.values[value] = self.unknown() if isinstance(value, ir.BlockArgument) else self._result(value)
        return self.values[value]

    def mixed(self, op: Any, attribute: str, operands: Sequence[Any]) -> list[int]:
        """Return mixed offsets or sizes: an attribute whose dynamic entries are the operands, in order."""
        dynamic, marker = iter(operands), ir.ShapedType.get_dynamic_size()
        static = ir.DenseI64ArrayAttr(op.attributes[attribute])
        return [self.number(next(dynamic)) if n == marker else self.constant(n) for n in static]

    def shape(self, value: Any) -> list[int]:
        """Return the positions of the extents of a value."""
        extents = static_shape(value.type)
        if None not in extents:
            return [self.constant(n) for n in extents if n is not None]
        found = self._dynamic_shape(value)
        if len(found) != len(extents):
            found = [self.unknown() for _ in extents]
        return [f if n is None else self.constant(n) for f, n in zip(found, extents, strict=True)]

    def affine(self, expression: Any, dimensions: Sequence[int], symbols: Sequence[int] = ()) -> int:
        """Return the position of an affine expression of terms."""
        if isinstance(expression, ir.AffineConstantExpr):
            return self.constant(int(ir.AffineConstantExpr(expression).value))
        if isinstance(expression, ir.AffineDimExpr):
            return dimensions[ir.AffineDimExpr(expression).position]
        if isinstance(expression, ir.AffineSymbolExpr):
            return symbols[ir.AffineSymbolExpr(expression).position]
        binary = ir.AffineBinaryExpr(expression)
        operands = [self.affine(e, dimensions, symbols) for e in (binary.lhs, binary.rhs)]
        return self.term(next(kind for cls, kind in _AFFINE.items() if isinstance(expression, cls)), operands)

    def map_results(self, map_attribute: Any, operands: Sequence[Any]) -> list[int]:
        """Return the positions of the results of an affine map of values."""
        affine_map = ir.AffineMapAttr(map_attribute).value
        numbers = [self.number(o) for o in operands]
        dimensions, symbols = numbers[: affine_map.n_dims], numbers[affine_map.n_dims :]
        return [self.affine(e, dimensions, symbols) for e in affine_map.results]

    def all_of(self, kind: TermKind, numbers: Sequence[int]) -> int:
        """Return the minimum, maximum, sum or product of terms."""
        return functools.reduce(lambda a, b: self.term(kind, (a, b)), numbers)

    def _folded(self, kind: TermKind, a: int, b: int) -> int | None:
        left, right = self.terms[a], self.terms[b]
        if left.kind == right.kind == "constant":
            value = computed(kind, (left.value, right.value))
            return None if value is None else self.constant(value)
        neutral = (("add", 0), ("mul", 1), ("sub", 0), ("floordiv", 1))
        if right.kind == "constant" and (kind, right.value) in neutral:
            return a
        if left.kind == "constant" and (kind, left.value) in neutral[:2]:
            return b
        return a if kind in ("min", "max") and a == b else None

    def _result(self, value: Any) -> int:
        op = ir.OpResult(value).owner.operation
        operands = list(op.operands)
        if op.name == "arith.constant" and isinstance(op.attributes["value"], ir.IntegerAttr):
            return self.constant(int(ir.IntegerAttr(op.attributes["value"]).value))
        if op.name in ("arith.index_cast", "arith.index_castui"):
            return self.number(operands[0])
        if op.name in ("tensor.dim", "memref.dim"):
            at, shape = self.terms[self.number(operands[1])], self.shape(operands[0])
            return shape[at.value] if at.kind == "constant" and at.value < len(shape) else self.unknown()
        if op.name == "affine.apply":
            return self.map_results(op.attributes["map"], operands)[0]
        if op.name in _EXTREMES:
            return self.all_of(_EXTREMES[op.name], self.map_results(op.attributes["map"], operands))
        if op.name == "affine.delinearize_index":
            return self._delinearized(op, ir.OpResult(value).result_number)
        if op.name in _ARITHMETIC:
            return self.term(_ARITHMETIC[op.name], [self.number(o) for o in operands])
        return self.unknown()

    def _delinearized(self, op: Any, number: int) -> int:
        basis = self.mixed(op, "static_basis", list(op.operands)[1:])
        inner = basis[len(basis) - (len(op.results) - 1 - number) :]
        index = self.number(op.operands[0])
        if inner:
            index = self.term("floordiv", (index, self.all_of("mul", inner)))
        if number == 0:  # the outermost is what is left
            return index
        return self.term("mod", (index, basis[len(basis) - len(op.results) + number]))

    def _dynamic_shape(self, value: Any) -> list[int]:
        same = same_value(value)
        if same is not None:
            return self.shape(same)
        extents = static_shape(value.type)
        if isinstance(value, ir.BlockArgument):
            number = ir.BlockArgument(value).arg_number
            is_argument = value.owner.owner.operation.name == "func.func"
            return [self.term("extent", (number, d)) for d in range(len(extents))] if is_argument else []
        op = ir.OpResult(value).owner.operation
        if op.name in _ALLOCATIONS:
            dynamic = iter(op.operands)
            return [self.number(next(dynamic)) if n is None else self.constant(n) for n in extents]
        if op.name in _SLICES:
            sizes = self.mixed(op, "static_sizes", operand_groups(op)[2])
            return [sizes[d] for d in kept_dimensions(op, value)]
        if op.name == "tensor.pad":
            source, low, high = operand_groups(op)
            padding = self.mixed(op, "static_low", low), self.mixed(op, "static_high", high)
            return [self.all_of("add", each) for each in zip(self.shape(source[0]), *padding, strict=True)]
        if op.name in ("tensor.expand_shape", "memref.expand_shape"):
            return self.mixed(op, "static_output_shape", list(op.operands)[1:])
        return []


def kept_dimensions(op: Any, part: Any) -> list[int]:
    """Return the dimensions of the whole that a part has, for an op that takes or writes one.

    Those of size 1 may be dropped.
    """
    marker = ir.ShapedType.get_dynamic_size()
    sizes = [None if n == marker else int(n) for n in ir.DenseI64ArrayAttr(op.attributes["static_sizes"])]
    wanted = static_shape(part.type)
    kept: list[int] = []
    for dimension, size in enumerate(sizes):
        missing = len(wanted) - len(kept)
        if missing and (size != 1 or wanted[len(kept)] == 1 or len(sizes) - dimension == missing):
            kept.append(dimension)
    return kept


_TERMINATORS = ("scf.yield", "linalg.yield", "affine.yield", "scf.forall.in_parallel", "scf.reduce")
_NEW = ("tensor.empty", "bufferization.alloc_tensor")
_WRITE_SLICES = ("tensor.insert_slice", "tensor.parallel_insert_slice")


def tilings_of(payload: Source) -> Tilings:
    """Return the structured ops of a payload's functions."""
    with reused_context():
        return tilings_in(parse_module(payload), payload)


def tilings_in(module: Any, payload: Source) -> Tilings:
    """Return the structured ops of a module's functions; ``payload`` is what it was parsed from."""
    functions = tuple(functions_of(module))
    reader = _Reader(Names([payload]))
    for function in function_ops(module):
        for region in function.regions:
            for block in region.blocks:
                reader.read(block, symbol_name(function), (), ())
    live = _live_ops(module)
    ops = tuple(dataclasses.replace(record, is_live=op in live) for op, record in reader.found)
    return Tilings(tuple(reader.terms.terms), tuple(reader.loops), ops, functions)


class _Reader:
    """Walks functions; collects loop variables and structured ops."""

    def __init__(self, names: Names) -> None:
        self.terms = IndexTerms()
        self.loops: list[LoopVariable] = []
        self.found: list[tuple[Any, StructuredOp]] = []
        self._names = names
        self._variables: dict[Any, tuple[int, ...]] = {}
        self._count = 0

    def read(self, block: Any, function: str, loops: tuple[int, ...], path: tuple[str, ...]) -> None:
        """Read the ops of a block, and what is inside of them."""
        for each in block.operations:
            op = each.operation
            if op.name.startswith("linalg."):
                self._structured(op, function, loops, path)
                continue
            inner, around = loops, path
            if is_loop(op):
                inner, around = (*loops, *self._loop(op)), (*path, op.name)
            for region in op.regions:
                for nested in region.blocks:
                    self.read(nested, function, inner, around)

    def _loop(self, op: Any) -> tuple[int, ...]:
        bounds = list(self._bounds(op))
        first = len(self.loops)
        for variable, ends in zip(op.regions[0].blocks[0].arguments, bounds, strict=False):
            self.terms.values[variable] = self.terms.term("loop", value=len(self.loops))
            self.loops.append(
                LoopVariable(self._names.argument(variable), op.name, len(self._variables), *ends)
            )
        self._variables[op] = tuple(range(first, len(self.loops)))
        return self._variables[op]

    def _bounds(self, op: Any) -> Iterator[tuple[int, ...]]:
        """Yield lower bound, upper bound and step of each variable of a loop."""
        terms, operands = self.terms, list(op.operands)
        if op.name == "scf.for":
            yield tuple(map(terms.number, operands[:3]))
        elif op.name == "scf.forall":
            groups = operand_groups(op)
            mixed = ("staticLowerBound", "staticUpperBound", "staticStep")
            yield from zip(*(terms.mixed(op, m, g) for m, g in zip(mixed, groups, strict=False)), strict=True)
        elif op.name == "scf.parallel":
            yield from zip(*(map(terms.number, group) for group in operand_groups(op)[:3]), strict=True)
        else:  # affine.for
            lower, upper, _ = operand_groups(op)
            low = terms.all_of("max", terms.map_results(op.attributes["lowerBoundMap"], lower))
            high = terms.all_of("min", terms.map_results(op.attributes["upperBoundMap"], upper))
            yield low, high, terms.constant(int(ir.IntegerAttr(op.attributes["step"]).value))

    def _structured(self, op: Any, function: str, loops: tuple[int, ...], path: tuple[str, ...]) -> None:
        number, self._count = self._count, self._count + 1
        maps = None if op.name == "linalg.softmax" else host_module("dialects.linalg").get_indexing_maps(op)
        if maps is None:
            return
        operands, affine_maps = list(op.operands), [m.value for m in maps]
        extents = self._extents(affine_maps, operands)
        if extents is None:
            return
        first_output = len(operands) - len(outputs_of(op))
        results = [None] * first_output + (list(op.results) or [None] * len(operands))
        described = [
            self._operand(value, affine_map, i >= first_output, result)
            for i, (value, affine_map, result) in enumerate(zip(operands, affine_maps, results, strict=False))
            if len(affine_map.results)
        ]
        record = StructuredOp(
            name=op.name,
            number=number,
            function=function,
            loops=loops,
            path=path,
            extents=extents,
            operands=tuple(described),
            flops=_body_flops(op),
            is_live=True,
            source=self._names.place(op.location),
        )
        self.found.append((op, record))

    def _extents(self, maps: Sequence[Any], operands: Sequence[Any]) -> tuple[int, ...] | None:
        """Return the extent of each loop of an op, that of a dimension it alone indexes, or None."""
        found: dict[int, int] = {}
        for affine_map, value in zip(maps, operands, strict=True):
            for expression, extent in zip(affine_map.results, self.terms.shape(value), strict=True):
                if isinstance(expression, ir.AffineDimExpr):
                    found.setdefault(ir.AffineDimExpr(expression).position, extent)
        count = maps[0].n_dims
        return tuple(found[d] for d in range(count)) if len(found) == count else None

    def _operand(self, value: Any, affine_map: Any, is_output: bool, result: Any) -> TiledOperand:
        """Return an operand; ``result`` is the op's result that it is the destination of, if there is one."""
        dimensions = [self.terms.term("dimension", value=d) for d in range(affine_map.n_dims)]
        indices = tuple(self.terms.affine(e, dimensions) for e in affine_map.results)
        base, views, writer = self._followed(value)
        if result is not None:
            base, views = self._followed_on(result, base, views)
        return TiledOperand(
            is_output=is_output,
            map=indices,
            views=tuple(views),
            # The name of what an op makes tells less than the op, and takes longer.
            base=self._names.argument(base) if isinstance(base, ir.BlockArgument) else "",
            base_op=_maker(base),
            base_shape=tuple(self.terms.shape(base)),
            base_loops=self._loops_around(base),
            writer=writer,
            element_bytes=element_bytes(value.type.element_type),
        )

    def _followed(self, value: Any) -> tuple[Any, list[View], str]:
        """Return the whole value that an operand is a part of, the views between, and the op that wrote it."""
        views: list[View] = []
        writer = _writer(value)
        while True:
            op = None if isinstance(value, ir.BlockArgument) else ir.OpResult(value).owner.operation
            if op is not None and (op.name in _SLICES or op.name == "tensor.pad"):
                views.append(self._pad(op) if op.name == "tensor.pad" else self._slice(op))
                value = op.operands[0]
            elif (same := same_value(value)) is not None:
                value = same
            else:
                return value, views, writer

    def _followed_on(self, result: Any, base: Any, views: list[View]) -> tuple[Any, list[View]]:
        """Return where a result goes if its destination is new in the loop: the whole it is written into."""
        if views or isinstance(base, ir.BlockArgument) or base.owner.name not in _NEW:
            return base, views
        inserts = [use.owner.operation for use in result.uses if use.owner.operation.name in _WRITE_SLICES]
        if len(inserts) != 1 or inserts[0].operands[0] != result:
            return base, views
        around, more, _ = self._followed(inserts[0].operands[1])
        return around, [self._slice(inserts[0]), *more]

    def _slice(self, op: Any) -> View:
        """Return the view of a slice that is taken, or of one that is written."""
        *ends, offsets, _, strides = operand_groups(op)
        part = op.results[0] if len(ends) == 1 else op.operands[0]
        return View(
            op=op.name,
            offsets=tuple(self.terms.mixed(op, "static_offsets", offsets)),
            strides=tuple(self.terms.mixed(op, "static_strides", strides)),
            kept=tuple(kept_dimensions(op, part)),
            source_shape=tuple(self.terms.shape(ends[-1][0])),
        )

    def _pad(self, op: Any) -> View:
        source, low, _ = operand_groups(op)
        zero, shape = self.terms.constant(0), self.terms.shape(source[0])
        return View(
            op=op.name,
            offsets=tuple(self.terms.term("sub", (zero, n)) for n in self.terms.mixed(op, "static_low", low)),
            strides=(self.terms.constant(1),) * len(shape),
            kept=tuple(range(len(shape))),
            source_shape=tuple(shape),
        )

    def _loops_around(self, value: Any) -> tuple[int, ...]:
        if isinstance(value, ir.BlockArgument):
            return ()
        around: tuple[int, ...] = ()
        op = value.owner.parent
        while op is not None and op.name != "func.func":
            around = (*self._variables.get(op.operation, ()), *around)
            op = op.operation.parent
        return around


def _maker(value: Any) -> str:
    if not isinstance(value, ir.BlockArgument):
        return str(ir.OpResult(value).owner.operation.name)
    owner = str(ir.BlockArgument(value).owner.owner.operation.name)
    return "argument" if owner == "func.func" else f"argument of {owner}"


def _writer(value: Any) -> str:
    """Return the linalg op that a value is the result of, the last one where a loop made it; else nothing."""
    while value is not None and not isinstance(value, ir.BlockArgument):
        result = ir.OpResult(value)
        op = result.owner.operation
        if op.name.startswith("linalg."):
            return str(op.name)
        if op.name == "tensor.cast":
            value = op.operands[0]
        elif op.name in ("scf.for", "scf.forall"):
            value = _yielded(op, result.result_number)
        else:
            break
    return ""


def _yielded(loop: Any, number: int) -> Any:
    """Return what a loop's body gives for one of its results: the value itself, or the slice that it writes."""
    last = list(loop.regions[0].blocks[0].operations)[-1].operation
    if loop.name == "scf.for":
        value = last.operands[number]
        owner = None if isinstance(value, ir.BlockArgument) else ir.OpResult(value).owner.operation
        return owner.operands[0] if owner is not None and owner.name in _WRITE_SLICES else value
    inserts = list(last.regions[0].blocks[0].operations)
    return inserts[number].operands[0] if number < len(inserts) else None


def _body_flops(op: Any) -> int:
    """Return the arithmetic of an op's body at one point."""
    extents = Extents()
    return sum(op_flops(each, extents) or 0 for each in walk(op))


def _live_ops(module: Any) -> set[Any]:
    """Return the ops that something lasting depends on: what is returned, or a buffer that is written to."""
    live: set[Any] = set()
    passing_on = {*_TERMINATORS, *_WRITE_SLICES}
    waiting = [op for op in walk(module.operation) if not len(op.results) and op.name not in passing_on]
    while waiting:
        op = waiting.pop()
        if op in live:
            continue
        live.add(op)
        for value in op.operands:
            owner = ir.BlockArgument(value).owner.owner if isinstance(value, ir.BlockArgument) else value.owner
            if owner is not None:
                waiting.append(owner.operation)
        if op.name.startswith(("scf.", "affine.")):
            # The ops that say what its blocks give.
            last = [list(block.operations)[-1].operation for region in op.regions for block in region.blocks]
            waiting += last + [each for terminator in last for each in walk(terminator)]
    return live
