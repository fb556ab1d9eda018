"""Running sums and products (``tm_tensor.scan``, which no other tool knows) as loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.parsing import producer_of, walk

# PyTorch adds up the elements of a float type in a wider one.
_WIDER = {"f32": "f64", "f16": "f32", "bf16": "f32"}
_START = {"arith.addf": "0.0", "arith.addi": "0", "arith.mulf": "1.0", "arith.muli": "1"}


def lower_scans(module: Any) -> None:
    """Write running sums and products of a module as loops along their dimension, inside loops over the others.

    One that has another body, is exclusive, or whose last value is used stays as it is.
    """
    for op in [op for op in walk(module.operation) if op.name == "tm_tensor.scan"]:
        combine = op.regions[0].blocks[0].operations[0].operation
        is_known = combine.name in _START and ir.BoolAttr(op.attributes["inclusive"]).value
        if is_known and not list(op.results[1].uses):
            starts = [producer_of(value) for value in list(op.operands)[1:]]
            with ir.InsertionPoint(op), op.location:
                op.results[0].replace_all_uses_with(_as_loops(op, combine.name))
            op.erase()
            for fill in starts:
                if fill is not None and fill.name == "linalg.fill" and not list(fill.results[0].uses):
                    fill.erase()


def _as_loops(op: Any, combine: str) -> Any:
    source, out = op.operands[0], op.operands[1]
    if (fill := producer_of(out)) is not None and fill.name == "linalg.fill":
        out = fill.operands[1]  # every element is written
    type_ = ir.RankedTensorType(source.type)
    along = ir.IntegerAttr(op.attributes["dimension"]).value
    narrow = type_.element_type
    wide = ir.Type.parse(_WIDER.get(str(narrow), str(narrow)))
    start = _made("arith.constant", [wide], value=ir.Attribute.parse(f"{_START[combine]} : {wide}"))
    zero, one = (_index(n) for n in (0, 1))
    ends = [_extent(source, type_, dimension) for dimension in range(type_.rank)]
    places: dict[int, Any] = {}

    def step(place: Any, carried: Sequence[Any]) -> list[Any]:
        result, total = carried
        at = [place if d == along else places[d] for d in range(type_.rank)]
        element = _made("tensor.extract", [narrow], [source, *at])
        if narrow != wide:
            element = _made("arith.extf", [wide], [element])
        total = _made(combine, [wide], [total, element])
        kept = _made("arith.truncf", [narrow], [total]) if narrow != wide else total
        return [_made("tensor.insert", [type_], [kept, result, *at]), total]

    def nest(dimensions: Sequence[int], result: Any) -> Any:
        if not dimensions:
            return _loop((zero, ends[along], one), [result, start], step)[0]

        def inside(place: Any, carried: Sequence[Any]) -> list[Any]:
            places[dimensions[0]] = place
            return [nest(dimensions[1:], carried[0])]

        return _loop((zero, ends[dimensions[0]], one), [result], inside)[0]

    return nest([d for d in range(type_.rank) if d != along], out)


def _loop(
    bounds: Sequence[Any], carried: Sequence[Any], body: Callable[[Any, Sequence[Any]], Sequence[Any]]
) -> list[Any]:
    """Return the results of a loop; the body gets the place and what is carried, and returns that anew."""
    types = [value.type for value in carried]
    loop = ir.Operation.create("scf.for", results=types, operands=[*bounds, *carried], regions=1)
    place = ir.Location.current
    block = loop.regions[0].blocks.append(ir.IndexType.get(), *types, arg_locs=[place] * (len(types) + 1))
    with ir.InsertionPoint(block):
        ir.Operation.create("scf.yield", operands=body(block.arguments[0], list(block.arguments)[1:]))
    return list(loop.results)


def _extent(source: Any, type_: Any, dimension: int) -> Any:
    if not type_.is_dynamic_dim(dimension):
        return _index(type_.get_dim_size(dimension))
    return _made("tensor.dim", [ir.IndexType.get()], [source, _index(dimension)])


def _index(number: int) -> Any:
    return _made("arith.constant", [ir.IndexType.get()], value=ir.IntegerAttr.get(ir.IndexType.get(), number))


def _made(name: str, results: Sequence[Any], operands: Sequence[Any] = (), **attributes: Any) -> Any:
    return ir.Operation.create(name, results=results, operands=operands, attributes=attributes).result
