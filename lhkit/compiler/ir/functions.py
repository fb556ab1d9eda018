"""Signatures of payload functions, read off their types."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.parsing import span_of, walk
from lhkit.model.signature import ArrayType, Function, Weight

# Arguments that decide how large an allocation is, so that generated ones can be sizes.


_ALLOCATIONS = {"memref.alloc", "memref.alloca", "memref.realloc", "bufferization.alloc_tensor"}
_ALLOCATIONS |= {"tensor.empty", "tensor.generate", "tensor.splat"}


def size_arguments(function: Any) -> tuple[int, ...]:
    """Return the positions of the integer arguments from which the extent of an allocation is computed.

    Followed are operands within the function, not calls.
    """
    if not function.regions[0].blocks:
        return ()
    entry = function.regions[0].blocks[0]
    if not any(_is_integer(a) for a in entry.arguments):
        return ()
    allocations = (op for op in walk(function) if op.name in _ALLOCATIONS)
    pending = [v for op in allocations for v in op.operands if _is_integer(v)]
    seen = set()
    found = set()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, ir.OpResult):
            pending += [v for v in value.owner.operands if _is_integer(v)]
        elif ir.BlockArgument(value).owner == entry:
            found.add(int(ir.BlockArgument(value).arg_number))
    return tuple(sorted(found))


def _is_integer(value: Any) -> bool:
    return isinstance(value.type, ir.IndexType | ir.IntegerType)


# Arguments whose elements are used as indices, so that generated ones can be within extents.


_INDEXED = {"tensor.extract": 0, "memref.load": 0, "tensor.insert": 1, "memref.store": 1}


def index_arguments(function: Any) -> tuple[tuple[int, int | None], ...]:
    """Return (position, limit) of each integer argument that indices of an access are computed from.

    The limit is the smallest extent that they index, None where all are dynamic. Followed are operands, and
    into a structured op from its body; not calls, loop-carried values, and offsets of slices.
    """
    if not function.regions[0].blocks:
        return ()
    entry = function.regions[0].blocks[0]
    if not any(_has_integers(a) for a in entry.arguments):
        return ()
    found: dict[int, int | None] = {}
    for op in [op for op in walk(function) if op.name in _INDEXED]:
        place = _INDEXED[op.name]
        shaped = op.operands[place].type
        for dimension, index in enumerate(list(op.operands)[place + 1 :]):
            limit = None if shaped.is_dynamic_dim(dimension) else shaped.get_dim_size(dimension)
            for argument in _integer_sources(index, entry):
                known = found.get(argument)
                found[argument] = min((n for n in (known, limit) if n is not None), default=None)
    return tuple(sorted(found.items()))


def _integer_sources(value: Any, entry: Any) -> set[int]:
    """Return the positions of the arguments of a function's entry block that a value is computed from."""
    pending, seen, found = [value], set(), set()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, ir.OpResult):
            op = value.owner
            # An element is one of the array's, wherever it is read.
            used = [op.operands[_INDEXED[op.name]]] if op.name in _INDEXED else op.operands
            pending += [v for v in used if _has_integers(v)]
            continue
        argument = ir.BlockArgument(value)
        block, position = argument.owner, int(argument.arg_number)
        if block == entry:
            found.add(position)
        elif block.owner.name.startswith("linalg."):
            pending.append(block.owner.operands[position])
    return found


def _has_integers(value: Any) -> bool:
    type_ = value.type
    element = type_.element_type if isinstance(type_, ir.ShapedType) else type_
    return isinstance(element, ir.IndexType | ir.IntegerType)


# What arguments that were constants are called, and what resource has their data.
NAME_MARK = "lhkit.name"
RESOURCE_MARK = "lhkit.resource"

_DTYPES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "i1": "bool",
    "index": "int64",
    "complex<f32>": "complex64",
    "complex<f64>": "complex128",
}
# As ml_dtypes spells them; in arrays each element has a byte.
_NARROW = {"i4": "int4"} | {
    f"f8{name}": f"float8_{name.lower()}"
    for name in ("E3M4", "E4M3", "E4M3B11FNUZ", "E4M3FN", "E4M3FNUZ", "E5M2", "E5M2FNUZ", "E8M0FNU")
}
_DTYPES |= _NARROW
_KNOWN_DTYPES = {*_DTYPES.values(), *(f"{u}int{width}" for u in ("", "u") for width in (8, 16, 32, 64))}
# Of some floats the bindings have no class.
_NUMBER = re.compile(r"(t?f|bf|[su]?i)\d\w*|index|complex<.*>")
# What NumPy's arrays have at most.
_MOST_DIMENSIONS, _MOST_BYTES = 64, (1 << 63) - 1
_INTEGER = re.compile(r"(si|ui|i)(8|16|32|64)")


def dtype_of(element_type: Any) -> str:
    """Return NumPy's spelling of an element type; MLIR's own where NumPy has none."""
    text = str(element_type)
    if match := _INTEGER.fullmatch(text):
        return f"{'u' if match[1] == 'ui' else ''}int{match[2]}"
    return _DTYPES.get(text, text)


def array_type(type_: Any) -> ArrayType:
    """Return the model's form of an argument or result type."""
    for cls, kind in ((ir.RankedTensorType, "tensor"), (ir.MemRefType, "memref")):
        if isinstance(type_, cls):
            shaped = cls(type_)
            extents = tuple(
                None if shaped.is_dynamic_dim(i) else shaped.get_dim_size(i) for i in range(shaped.rank)
            )
            strides, offset = _layout(shaped) if kind == "memref" else ((), 0)
            dtype = dtype_of(shaped.element_type)
            return ArrayType(kind, extents, dtype, str(type_), strides, offset)  # type: ignore[arg-type]
    return ArrayType("scalar", (), dtype_of(type_), str(type_))


def _layout(memref: Any) -> tuple[tuple[int | None, ...], int | None]:
    """Return (strides, offset) of a memref type; no strides if its elements stand without gaps."""
    if memref.layout == ir.AffineMapAttr.get(ir.AffineMap.get_identity(memref.rank)):
        return (), 0
    try:
        strides, offset = memref.get_strides_and_offset()
    except (RuntimeError, ValueError):  # a map that no strides express; the build refuses it
        return (), None
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    return tuple(None if s == dynamic else s for s in strides), None if offset == dynamic else offset


def unusable(type_: Any) -> str | None:
    """Return why a type has no NumPy array or scalar, or None if it has."""
    if isinstance(type_, ir.UnrankedTensorType | ir.UnrankedMemRefType):
        return "its rank is not known; cast it to a ranked type in a function around it"
    if isinstance(type_, ir.VectorType):
        return "a vector lives in registers; take a tensor or memref and read the vector from it"
    is_shaped = isinstance(type_, ir.RankedTensorType | ir.MemRefType)
    element = ir.ShapedType(type_).element_type if is_shaped else type_
    if not _NUMBER.fullmatch(str(element)):
        return (
            f"its elements, {element}, are not numbers" if is_shaped else "it is neither an array nor a number"
        )
    described = array_type(type_)
    if described.kind == "scalar" and described.text in _NARROW:
        return f"one {described.text} is passed as an element of an array only; take tensor<{described.text}>"
    if described.dtype not in _KNOWN_DTYPES:
        return f"NumPy has no {described.dtype}; convert in a function around it"
    space = ir.MemRefType(type_).memory_space if isinstance(type_, ir.MemRefType) else None
    if space is not None and not isinstance(space, ir.IntegerAttr):
        return f"its memory space, {space}, is not the CPU's"
    if "#sparse_tensor" in described.text:
        return "it is sparse, and NumPy's arrays are dense; leave the encoding out of its type"
    if len(described.shape) > _MOST_DIMENSIONS:
        return f"it has {len(described.shape)} dimensions, NumPy's arrays have at most {_MOST_DIMENSIONS}"
    if described.shape and described.offset is None and not described.strides:
        return "its layout is not one of strides"
    if _least_bytes(described) > _MOST_BYTES:
        return "it has more bytes than a process can address"
    return None


def _least_bytes(type_: ArrayType) -> int:
    """Return how many bytes an array spans, dynamic extents and empty ones counted as 1."""
    bits = re.search(r"\d+$", type_.dtype)
    itemsize = max(int(bits[0]) // 8, 1) if bits else 1
    extents = [n or 1 for n in type_.shape]
    if not type_.strides:
        return math.prod(extents) * itemsize
    spans = (abs(s or 0) * (n - 1) for n, s in zip(extents, type_.strides, strict=True))
    return (abs(type_.offset or 0) + sum(spans) + 1) * itemsize


def functions_of(module: Any) -> tuple[Function, ...]:
    """Return the functions of a module in order, those of nested modules left out."""
    return tuple(_function(op) for op in function_ops(module))


def function_ops(module: Any) -> Iterator[Any]:
    """Yield the ``func.func`` operations at the top of a module."""
    for op in module.body.operations:
        if op.operation.name == "func.func":
            yield op.operation


def _function(op: Any) -> Function:
    type_ = function_type(op)
    span = span_of(op.location)
    return Function(
        name=symbol_name(op),
        arguments=tuple(array_type(t) for t in type_.inputs),
        results=tuple(array_type(t) for t in type_.results),
        line=span.line if span else 1,
        is_declaration=len(op.regions[0].blocks) == 0,
        is_private="sym_visibility" in op.attributes and "private" in str(op.attributes["sym_visibility"]),
        weights=weights_of(op),
        sizes=size_arguments(op),
        indices=index_arguments(op),
    )


def weights_of(function: Any) -> tuple[Weight, ...]:
    """Return the arguments of a function that were constants, as its argument attributes say."""
    if "arg_attrs" not in function.attributes:
        return ()
    found = []
    for i, attributes in enumerate(ir.ArrayAttr(function.attributes["arg_attrs"])):
        marks = {entry.name: entry.attr for entry in ir.DictAttr(attributes)}
        if RESOURCE_MARK in marks:
            resource = ir.StringAttr(marks[RESOURCE_MARK]).value
            name = ir.StringAttr(marks[NAME_MARK]).value if NAME_MARK in marks else resource
            found.append(Weight(i, name, resource))
    return tuple(found)


def function_type(op: Any) -> Any:
    """Return the function type of a ``func.func`` operation."""
    return ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)


def symbol_name(op: Any) -> str:
    """Return the symbol name of an operation, without ``@``; bytes that are not UTF-8 come escaped."""
    name: bytes = ir.StringAttr(op.attributes["sym_name"]).value_bytes
    return name.decode(errors="backslashreplace")


# Which functions of a payload call which.


def functions_in(op: Any) -> list[Any]:
    """Return the functions with a body that an op is or holds, in order."""
    found = [o for o in (op, *walk(op)) if o.name == "func.func"]
    return [f for f in found if len(f.regions[0].blocks)]


def called_by(op: Any) -> str | None:
    """Return the name of the function that an op calls, None if it is no ``func.call``."""
    return str(ir.FlatSymbolRefAttr(op.attributes["callee"]).value) if op.name == "func.call" else None


# On a function: the numbers of arguments that it writes and takes to share no memory with others.
WRITTEN_APART = "written_apart"


def written_apart(function: Any) -> tuple[int, ...]:
    """Return the numbers of arguments that may share no memory with others, as a rewrite has noted them."""
    noted = WRITTEN_APART in function.attributes
    return tuple(ir.DenseI64ArrayAttr(function.attributes[WRITTEN_APART])) if noted else ()


def calls_of(function: Any) -> list[Any]:
    """Return the calls of a function in the module around it, in order."""
    name = symbol_name(function)
    return [op for op in walk(function.parent.operation) if called_by(op) == name]


def other_references(function: Any) -> list[Any]:
    """Return what refers to a function otherwise than by calling it."""
    mention = f"@{symbol_name(function)}"
    found = []
    for op in walk(function.parent.operation):
        names = [n for n in op.attributes if (op.name, n) != ("func.call", "callee")]
        if any(_is_reference(op.attributes[n], mention) for n in names):
            found.append(op)
    return found


def _is_reference(attribute: Any, mention: str) -> bool:
    if isinstance(attribute, ir.ArrayAttr):
        return any(_is_reference(a, mention) for a in attribute)
    return isinstance(attribute, ir.FlatSymbolRefAttr | ir.SymbolRefAttr) and str(attribute) == mention


def callees_first(functions: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return functions in topological order, callees first, and the recursive ones among them."""
    by_name = {symbol_name(f): f for f in functions}
    called = {n: dict.fromkeys(called_by(op) for op in walk(f)) for n, f in by_name.items()}
    calls = {n: [c for c in names if c in by_name] for n, names in called.items()}
    ordered: list[Any] = []
    done: set[str] = set()

    def visit(name: str, around: tuple[str, ...]) -> None:
        if name in done or name in around:
            return
        for callee in calls[name]:
            visit(callee, (*around, name))
        done.add(name)
        ordered.append(by_name[name])

    for name in by_name:
        visit(name, ())
    recursive = [by_name[n] for n in by_name if n in _reached(calls, n)]
    return ordered, recursive


def _reached(calls: dict[str, list[str]], start: str) -> set[str]:
    found: set[str] = set()
    open_names = list(calls[start])
    while open_names:
        name = open_names.pop()
        if name not in found:
            found.add(name)
            open_names.extend(calls[name])
    return found
