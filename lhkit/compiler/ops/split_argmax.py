"""``lhkit.split_argmax``: several lanes look for the place of the largest or smallest element of a row."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from lhkit.compiler.ir.bindings import host_module, ir
from lhkit.compiler.ir.parsing import producer_of
from lhkit.compiler.ops.linalg_rewrites import named_op
from lhkit.compiler.ops.tensor_parts import (
    DYNAMIC,
    dim_expr,
    extent_of,
    generic,
    index_value,
    part_of,
    sizes_of,
)
from lhkit.model.own_op_definition import Ops, Params, Rewriter, SilenceableError, transform_op

_arith: Any = host_module("dialects.arith")
_linalg: Any = host_module("dialects.linalg")
_scf: Any = host_module("dialects.scf")
_tensor: Any = host_module("dialects.tensor")

# What a comparison holds for, by the number of its predicate: 1 equal, 2 greater, 4 less, 8 a NaN.
_HOLDS_FOR = {
    "arith.cmpf": (0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 8, 15),
    "arith.cmpi": (1, 6, 4, 5, 2, 3),  # Signed
}
_EXTREMA = {"arith.maximumf": 2, "arith.minimumf": 4, "arith.maxsi": 2, "arith.minsi": 4}
_OEQ, _UNO, _EQ = 1, 14, 0
_MARK = "in_order"  # On what goes by single elements for good


@transform_op("lhkit.split_argmax", consumes=["target"])
def split_argmax(target: Ops, lanes: Params, *, rewriter: Rewriter) -> tuple[Ops, Ops]:
    """Look for the largest (or smallest) element of each row and its place in lanes, which are combined then.

    ::

        %v, %p = linalg.generic {["parallel", "reduction"], arith.cmpf ogt, arith.select of elements and of
          linalg.index 1} ins(%x : tensor<4x67xf32>) outs(%low, %zero : tensor<4xf32>, tensor<4xi64>)
        // becomes, and the same again for the last 3 elements of each row
        %steps = tensor.expand_shape %x[0, 0] [4, 64] [[0], [1, 2]] output_shape [4, 8, 8]
        %vs, %ps = linalg.generic {["parallel", "reduction", "parallel"], ...} ins(%steps) outs(%lows, %none)
        %most = linalg.generic {arith.maximumf over lanes} ins(%vs)
        %p = linalg.generic {arith.minsi over lanes, of places of those with %most} ins(%vs, %ps, %most)

    Results are the payload's, bit by bit but for those of a NaN, whatever is compared (``ogt``, ``oge``,
    signed integers), whatever rows start from, and where elements are equal: the body is evaluated for each
    order of an element and the best before it. If it does not pass over NaN, the op runs again where there is
    one. Rows of unknown extent are taken to have less than 2**31 elements where places have 32 bits.

    Args:
        target: ``linalg.generic`` on tensors with a value and its place as results, whose last loop is the one
            that reduces; consumed.
        lanes: How many.
        rewriter: How the payload is changed.

    Returns:
        The ops over steps and lanes, and the ops that combine lanes. They have the attribute ``search``, which
        is ``by lanes`` and ``combining``, so that steps can be written that apply without this op too.

    Raises:
        SilenceableError: Another op or body; rows that are known to have less than two elements a lane.
    """
    searches = [_Search(op.operation, int(lanes[0])) for op in target]
    by_lanes: list[Any] = []
    combining: list[Any] = []
    for search in searches:
        with rewriter.before(search.op):
            values = search.written(by_lanes, combining)
        rewriter.replace(search.op, values)
    is_one_row = bool(searches) and not searches[0].last
    for ops, name in ((by_lanes, "by lanes"), (combining, "combining")):
        mark = ("one row by lanes" if ops is by_lanes else "combining one row") if is_one_row else name
        for op in ops:
            op.attributes["search"] = ir.StringAttr.get(mark)
    return by_lanes, combining


class _Search:
    """An op with what its body does."""

    def __init__(self, op: Any, lanes: int) -> None:
        self.op, self.lanes = op, lanes
        if op.name != "linalg.generic" or len(op.results) != 2 or _MARK in op.attributes:
            raise SilenceableError("this is no linalg.generic on tensors with two results", at=op)
        kinds = ["reduction" in str(kind) for kind in op.attributes["iterator_types"]]
        self.last = len(kinds) - 1
        self.rows = [dim_expr(i) for i in range(self.last)]
        *self.maps, of_first, of_second = [list(m.value.results) for m in _linalg.get_indexing_maps(op)]
        is_plain = all(isinstance(e, ir.AffineDimExpr) for exprs in self.maps for e in exprs)
        if sum(kinds) != 1 or not kinds[-1] or not is_plain or not self.rows == of_first == of_second:
            raise SilenceableError("more than the last loop reduces, or operands are read otherwise", at=op)
        *self.inputs, first, second = op.operands
        self.starts = [first, second]
        if not (self._does_search(0) or self._does_search(1)):
            raise SilenceableError("its body does not choose an element with its place", at=op)
        # Where each operand is read along a row.
        self.along = [next((i for i, e in enumerate(m) if e.position == self.last), None) for m in self.maps]
        extents = [v.type.shape[i] for v, i in zip(self.inputs, self.along, strict=True) if i is not None]
        if not all(n == DYNAMIC or 2 * lanes <= n < 2**31 for n in extents):
            raise SilenceableError(f"its rows have {extents[0]} elements, less than two a lane", at=op)

    def _does_search(self, value: int) -> bool:
        """Find out what the body does, if this result is the value."""
        *ops, last = [each.operation for each in self.op.regions[0].blocks[0].operations]
        arguments = list(self.op.regions[0].blocks[0].arguments)[-2:]
        best, at = _in_order(arguments, value)
        x, here = (next((v for each in ops for v in _others(each, known)), None) for known in (best, at))
        if x is None or not _is_place(here, self.last) or _depends(x, {best, at, here}):
            return False

        def outcome(of_x: float, of_best: float) -> tuple[str, str]:
            known = {x: ("x", of_x), best: ("best", of_best), here: ("here", 2.0), at: ("at", 1.0)}
            for each in ops:
                if each.results[0] not in known and all(v in known for v in each.operands):
                    known[each.results[0]] = _evaluated(each, [known[v] for v in each.operands])
            of_value, of_place = (known.get(v, ("?", 0))[0] for v in _in_order(last.operands, value))
            return of_value, of_place

        taken, kept, nan = ("x", "here"), ("best", "at"), math.nan
        more, less, same = outcome(2, 1), outcome(1, 2), outcome(1, 1)
        is_float = isinstance(best.type, ir.FloatType)
        with_nan = [outcome(nan, 1), outcome(1, nan), outcome(nan, nan)] if is_float else [kept]
        self.value, self.here, self.finds_least = value, here, less == taken
        self.takes_last, self.is_extremum = same[1] == "here", same[0] == "either"
        self.passes_over_nan = set(with_nan) == {kept}
        fine = (("x",), ("best",), ("x", "best"))  # A NaN stays
        # Where places are compared, rows have to start from a smaller one.
        compares = any(each.name == "arith.cmpi" and at in list(each.operands) for each in ops)
        return (
            {more, less} == {taken, kept}
            and same in (taken, kept, ("either", "at"), ("either", "here"))
            and (self.passes_over_nan or all(v in names for (v, _), names in zip(with_nan, fine, strict=True)))
            and not (compares and not _is_at_most_0(self.starts[1 - value]))
        )

    def written(self, by_lanes: list[Any], combining: list[Any]) -> list[Any]:
        """Write what takes the op's place, and collect the ops over lanes; gives the results."""
        lanes = index_value(self.lanes)
        self.extent = next(
            extent_of(v, i) for v, i in zip(self.inputs, self.along, strict=True) if i is not None
        )
        is_known = isinstance(self.extent, int)
        steps = self.extent // self.lanes if is_known else _arith.divui(self.extent, lanes)
        done = steps * self.lanes if is_known else _arith.muli(steps, lanes)
        best, start = _in_order(self.starts, self.value)
        integer = ir.IntegerType.get_signless(32) if is_known else start.type.element_type
        lane, both = dim_expr(self.last + 1), [*self.rows, dim_expr(self.last)]
        wide, kinds = [*sizes_of(best), self.lanes], ["parallel"] * self.last
        empty = _tensor.empty(wide, best.type.element_type)
        bests = generic([best], empty, [self.rows, both], [*kinds, "parallel"], lambda x, _: x)
        places = named_op("FillOp", _arith.constant(integer, -1), out=_tensor.empty(wide, integer))
        inputs, exprs = list(self.inputs), list(self.maps)
        for n, at in enumerate(self.along):
            if at is not None:
                whole = part_of(inputs[n], at, index_value(0), done)
                inputs[n] = _in_steps(whole, at, steps, self.lanes)
                exprs[n] = [*exprs[n][: at + 1], lane, *exprs[n][at + 1 :]]
        op = self._again(
            inputs,
            _in_order([bests.results[0], places], self.value),
            [*exprs, [*self.rows, lane], [*self.rows, lane]],
            [*kinds, "reduction", "parallel"],
            lambda i: [_arith.muli(i, lanes), _linalg.IndexOp(self.last + 1).result],
        )
        by_lanes.append(op)
        of_lanes, their_places = _in_order(op.results, self.value)
        values = self._combined(of_lanes, their_places, combining)
        if is_known and done == self.extent:
            return values
        left = self.extent - done if is_known else _arith.subi(self.extent, done)
        return self._from(index_value(done) if is_known else done, left, values)

    def _combined(self, bests: Any, places: Any, ops: list[Any]) -> list[Any]:
        """Write what the results of lanes come to; gives the results."""
        best, start = _in_order(self.starts, self.value)
        rows, both, kinds = self.rows, [*self.rows, dim_expr(self.last)], ["parallel"] * self.last
        integer, element = places.type.element_type, best.type.element_type
        is_float = isinstance(element, ir.FloatType)
        extremum = getattr(_arith, ("min" if self.finds_least else "max") + ("imumf" if is_float else "si"))

        def written(over: list[str], inputs: list[Any], out: Any, body: Callable[..., Any]) -> Any:
            exprs = [both if v in (bests, places) else rows for v in (*inputs, out)]
            ops.append(generic(inputs, out, exprs, [*kinds, *over], body))
            return ops[-1].results[0]

        most = written(["reduction"], [bests], best, extremum)
        none = _arith.constant(integer, -1)
        largest = 2 ** (63 if integer == ir.IndexType.get() else integer.width - 1) - 1
        # No lane has a NaN.
        nowhere = none if self.takes_last else _arith.constant(integer, largest)

        def place(x: Any, at: Any, of_row: Any, found: Any) -> Any:
            is_best = _arith.cmpf(_OEQ, x, of_row) if is_float else _arith.cmpi(_EQ, x, of_row)
            return (_arith.maxsi if self.takes_last else _arith.minsi)(
                _arith.select(is_best, at, nowhere), found
            )

        def is_none(at: Any) -> Any:
            return _arith.ori(_arith.cmpi(_EQ, at, none), _arith.cmpi(_EQ, at, nowhere))

        def as_place(at: Any, before: Any, _: Any) -> Any:
            cast = _arith.index_cast if ir.IndexType.get() in (at.type, before.type) else _arith.extsi
            return _arith.select(is_none(at), before, at if at.type == before.type else cast(before.type, at))

        def at_place(at: Any, before: Any, _: Any) -> Any:
            lane = _arith.remui(at, _arith.constant(integer, self.lanes))
            lane = lane if integer == ir.IndexType.get() else _arith.index_cast(ir.IndexType.get(), lane)
            row = [_linalg.IndexOp(i).result for i in range(self.last)]
            return _arith.select(is_none(at), before, _tensor.extract(bests, [*row, lane]))

        outs = named_op("FillOp", nowhere, out=_tensor.empty(sizes_of(best), integer))
        found = written(["reduction"], [bests, places, most], outs, place)
        results = [
            most,
            written([], [found, start], _tensor.empty(sizes_of(best), start.type.element_type), as_place),
        ]
        if not self.is_extremum and rows:  # Of zeros, that at the place
            results[0] = written([], [found, best], _tensor.empty(sizes_of(best), element), at_place)
        elif not self.is_extremum:  # The vectorizer makes invalid ops of an extraction without a loop
            value = at_place(_tensor.extract(found, []), _tensor.extract(best, []), None)
            results[0] = _tensor.from_elements(best.type, [value])
        results = _in_order(results, self.value)
        return results if self.passes_over_nan else self._unless_nan(results, most, extremum)

    def _unless_nan(self, results: list[Any], most: Any, extremum: Callable[..., Any]) -> list[Any]:
        """Write what runs the op as it was where there is a NaN; gives its results, or those of lanes."""
        element = most.type.element_type
        lowest = _arith.constant(element, math.inf if self.finds_least else -math.inf)
        outs = named_op("FillOp", lowest, out=_tensor.empty([], element))
        total = _tensor.extract(
            generic([most], outs, [self.rows, []], ["reduction"] * self.last, extremum).results[0], []
        )
        branch = _scf.IfOp(_arith.cmpf(_UNO, total, total), [v.type for v in results], has_else=True)
        with ir.InsertionPoint(branch.then_block):
            _scf.yield_(self._from(index_value(0), self.extent, self.starts))
        with ir.InsertionPoint(branch.else_block):
            _scf.yield_(results)
        return list(branch.results)

    def _from(self, offset: Any, count: Any, starts: list[Any]) -> list[Any]:
        """Write the op for so much of each row from an offset on; gives the results."""
        inputs = [
            value if at is None else part_of(value, at, offset, count)
            for value, at in zip(self.inputs, self.along, strict=True)
        ]
        kinds = ["parallel"] * self.last + ["reduction"]
        op = self._again(inputs, starts, [*self.maps, self.rows, self.rows], kinds, lambda i: [i, offset])
        op.attributes[_MARK] = ir.UnitAttr.get()
        return list(op.results)

    def _again(
        self,
        inputs: list[Any],
        starts: list[Any],
        exprs: list[Any],
        kinds: list[str],
        place: Callable[..., Any],
    ) -> Any:
        """Write the op on other operands and loops, with what adds up to the place instead of its last loop."""
        maps = [ir.AffineMapAttr.get(ir.AffineMap.get(len(kinds), 0, each)) for each in exprs]
        loops = ", ".join(f"#linalg.iterator_type<{kind}>" for kind in kinds)
        op = ir.Operation.create(
            "linalg.generic",
            results=[v.type for v in starts],
            operands=[*inputs, *starts],
            attributes={
                "indexing_maps": ir.ArrayAttr.get(maps),
                "iterator_types": ir.Attribute.parse(f"[{loops}]"),
                "operandSegmentSizes": self.op.attributes["operandSegmentSizes"],
            },
            regions=1,
        )
        old = self.op.regions[0].blocks[0]
        block = op.regions[0].blocks.append(*(getattr(v.type, "element_type", v.type) for v in op.operands))
        known = dict(zip(old.arguments, block.arguments, strict=True))
        integer = starts[1 - self.value].type.element_type
        with ir.InsertionPoint(block):
            for each in (o.operation for o in old.operations):
                operands = [known.get(v, v) for v in each.operands]
                if each.name == "arith.select":  # Of places too, which may be narrower
                    known[each.results[0]] = _arith.select(*operands)
                    continue
                copy = each.clone()
                for i, value in enumerate(operands):
                    copy.operands[i] = value
                known |= zip(each.results, copy.results, strict=True)
                if len(copy.results) and _is_place(each.results[0], self.last):
                    type_ = integer if each.results[0] == self.here else each.results[0].type
                    parts = place(_linalg.IndexOp(self.last).result)
                    if type_ != ir.IndexType.get():
                        parts = [_arith.index_cast(type_, part) for part in parts]
                    known[each.results[0]] = _arith.addi(*parts)
        return op


def _in_steps(value: Any, dim: int, steps: Any, lanes: int) -> Any:
    """Return a tensor with a dimension as steps of so many lanes."""
    shape, sizes = list(value.type.shape), sizes_of(value)
    sizes[dim : dim + 1] = [steps, lanes]
    shape[dim : dim + 1] = [steps if isinstance(steps, int) else DYNAMIC, lanes]
    groups = [[i + (i > dim)] if i != dim else [i, i + 1] for i in range(len(shape) - 1)]
    type_ = ir.RankedTensorType.get(shape, value.type.element_type)
    return _tensor.expand_shape(type_, value, groups, [n for n in sizes if not isinstance(n, int)], shape)


def _in_order(values: Any, value: int) -> list[Any]:
    """Return a value and its place, from results or for them, of which this one is the value."""
    return list(values)[::-1] if value else list(values)


def _others(op: Any, value: Any) -> list[Any]:
    """Return what an op may choose instead of a value."""
    among = list(op.operands)[-2:] if op.name == "arith.select" or op.name in _EXTREMA else []
    return [v for v in among if v != value] if value in among else []


def _is_place(value: Any, loop: int) -> bool:
    """Return True for the number of a loop's iteration, as it is or cast to 32 bits or more."""
    op = None if value is None else producer_of(value)
    if op is not None and op.name == "arith.index_cast" and getattr(value.type, "width", 0) >= 32:
        op = producer_of(op.operands[0])
    return op is not None and op.name == "linalg.index" and ir.IntegerAttr(op.attributes["dim"]).value == loop


def _depends(value: Any, on: set[Any]) -> bool:
    """Return True where a value of a body is one of these, or computed from one."""
    op = producer_of(value)
    return value in on or (op is not None and any(_depends(v, on) for v in op.operands))


def _is_at_most_0(value: Any) -> bool:
    fill = producer_of(value)
    start: Any = producer_of(fill.operands[0]) if fill is not None and fill.name == "linalg.fill" else None
    is_known = start is not None and start.name == "arith.constant"
    return is_known and bool(ir.IntegerAttr(start.attributes["value"]).value <= 0)


def _evaluated(op: Any, operands: list[Any]) -> Any:
    """Return what an op of a body makes of named numbers; "?" is the name of what is not known."""
    names, numbers = [each[0] for each in operands], [each[1] for each in operands]
    if op.name == "arith.select" and names[0] == "bit":
        return operands[1] if numbers[0] else operands[2]
    if op.name in ("arith.andi", "arith.ori") and names == ["bit", "bit"]:
        return ("bit", (all if op.name == "arith.andi" else any)(numbers))
    if len(operands) != 2 or not {"x", "best", "here", "at"}.issuperset(names):
        return ("?", 0)
    a, b = numbers
    order = 8 if math.isnan(a + b) else 4 if a < b else 2 if a > b else 1
    if op.name in _HOLDS_FOR:
        predicate = ir.IntegerAttr(op.attributes["predicate"]).value
        known = predicate < len(_HOLDS_FOR[op.name])
        return ("bit", bool(_HOLDS_FOR[op.name][predicate] & order)) if known else ("?", 0)
    if op.name in _EXTREMA:
        return (
            ("either", a)
            if order == 1
            else operands[order != _EXTREMA[op.name] if order != 8 else not math.isnan(a)]
        )
    return ("?", 0)
