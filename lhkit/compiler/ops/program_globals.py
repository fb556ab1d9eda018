"""Globals of ``ml_program``: those that never change become constants, constant computations become globals.

``lhkit.fold_globals`` and ``lhkit.hoist_into_globals``.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from lhkit.compiler.interpreter.effects import module_around
from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.functions import functions_in, symbol_name
from lhkit.compiler.ir.parsing import producer_of, walk
from lhkit.compiler.ir.resource_constants import element_array
from lhkit.model.errors import LhkitError
from lhkit.model.own_op_definition import Ops, Rewriter, SilenceableError, transform_op
from lhkit.worker.requests import Source

_GLOBAL = "ml_program.global"
_LOADS = ("ml_program.global_load", "ml_program.global_load_const")
_STORE = "ml_program.global_store"


@dataclass
class _Uses:
    """What refers to a global; ``others`` are no plain loads and stores."""

    loads: list[Any] = field(default_factory=list)
    stores: list[Any] = field(default_factory=list)
    others: list[Any] = field(default_factory=list)


@transform_op("lhkit.fold_globals")
def fold_globals(target: Ops, *, rewriter: Rewriter) -> None:
    """Put the value of globals that never change in place of their loads, and erase what nothing loads.

    ::

        ml_program.global private mutable @scale(dense<2.0> : tensor<4xf32>) : tensor<4xf32>  // never stored
        %s = ml_program.global_load @scale : tensor<4xf32>
        // becomes
        %s = arith.constant dense<2.0> : tensor<4xf32>

    A private global never changes if nothing is stored to it, or its first value only. Stores to a private
    global that nothing loads go with it. Canonicalization and fusion see the constants. After ``FoldGlobals``
    of IREE, which also looks at initializers; ``ml_program`` has none.

    Args:
        target: Modules. Handles to loads point to the constants, those to what is erased become empty.
        rewriter: How the payload is changed.

    Raises:
        SilenceableError: Something else than a module. Nothing was changed then.
    """
    for op in target:
        if op.operation.name != "builtin.module":
            raise SilenceableError("this is no module, and globals belong to one", at=op)
    for op in target:
        globals_ = [o.operation for o in op.operation.regions[0].blocks[0].operations]
        uses = _uses_in(op.operation)
        for each in (o for o in globals_ if o.name == _GLOBAL):
            _fold(each, uses[symbol_name(each)], rewriter)


def _uses_in(module: Any) -> dict[str, _Uses]:
    """Return what refers to the symbols of a module, by their names."""
    found: dict[str, _Uses] = defaultdict(_Uses)
    for op in walk(module):
        is_access = op.name in (*_LOADS, _STORE) and module_around(op) == module
        for named in op.attributes:
            for name in _names_in(op.attributes[named]):
                kinds = found[name]
                access = kinds.stores if op.name == _STORE else kinds.loads
                (access if is_access and named == "global" else kinds.others).append(op)
    return found


def _names_in(attribute: Any) -> list[str]:
    """Return the first names of the symbols that an attribute refers to."""
    if isinstance(attribute, ir.ArrayAttr):
        return [name for each in attribute for name in _names_in(each)]
    if isinstance(attribute, ir.FlatSymbolRefAttr):
        return [str(attribute.value)]
    return list(attribute.value[:1]) if isinstance(attribute, ir.SymbolRefAttr) else []


def _fold(global_: Any, uses: _Uses, rewriter: Rewriter) -> None:
    attributes = global_.attributes
    value = attributes["value"] if "value" in attributes else None
    is_own = "sym_visibility" in attributes and attributes["sym_visibility"] == ir.StringAttr.get("private")
    is_own = is_own and not uses.others
    changes = "is_mutable" in attributes and not (is_own and all(_stores(s, value) for s in uses.stores))
    type_ = ir.TypeAttr(attributes["type"]).value
    if not changes and value is not None and getattr(value, "type", None) == type_:
        for load in uses.loads:
            with rewriter.before(load):
                constant = ir.Operation.create("arith.constant", [type_], attributes={"value": value})
            rewriter.replace(load, constant)
        uses.loads.clear()
    if is_own and not uses.loads:
        for each in (*uses.stores, global_):
            rewriter.erase(each)


def _stores(store: Any, value: Any) -> bool:
    """Return True where a store writes this value."""
    stored = producer_of(store.operands[0])
    return stored is not None and stored.name == "arith.constant" and stored.attributes["value"] == value


# Ops without effects that a hoisted computation may consist of.
_PURE = ("affine.", "arith.", "linalg.", "math.", "scf.", "tensor.")
# Computing these is cheaper than loading what they give.
_CHEAP = {"arith.constant", "linalg.fill", "tensor.empty", "tensor.splat", "tensor.cast"}
_CHEAP |= {"tensor.collapse_shape", "tensor.expand_shape", "tensor.extract_slice"}
# Element types of arrays that become attributes.
_ELEMENTS = {"bool", "bfloat16", "float16", "float32", "float64"}
_ELEMENTS |= {f"{u}int{width}" for u in ("", "u") for width in (8, 16, 32, 64)}


@transform_op("lhkit.hoist_into_globals")
def hoist_into_globals(target: Ops, *, max_bytes: int = 65536, rewriter: Rewriter) -> None:
    """Compute what depends on constants alone now, and load the result from a global.

    ::

        %w = arith.constant dense<[1.0, 4.0]> : tensor<2xf32>
        %r = math.sqrt %w : tensor<2xf32>
        // becomes
        ml_program.global private @hoisted_0(dense<[1.0, 2.0]> : tensor<2xf32>) : tensor<2xf32>
        %r = ml_program.global_load @hoisted_0 : tensor<2xf32>

    Transposes, packs and casts of weights run once and not in every call. They are compiled and run for this,
    on the CPU here. Views, fills and what exceeds ``max_bytes`` are left: they cost less than their data. After
    ``HoistIntoGlobals`` of IREE, whose globals are computed when a program is loaded; ``ml_program`` has no
    initializers. Weights that are resources stay too: kernels compute what depends on them once by themselves.

    Args:
        target: Functions, or ops around them; of each function the ops of its first block.
        max_bytes: The largest result that is kept in the IR.
        rewriter: How the payload is changed.

    Raises:
        SilenceableError: What is computed has no lowering. Nothing was changed then.
    """
    functions = {f: None for op in target for f in functions_in(op.operation)}
    found = [value for f in functions for value in _hoistable(f, max_bytes)]
    data = [_computed(value) for value in found]
    for value, attribute in zip(found, data, strict=True):
        op = value.owner.operation
        module = module_around(op)
        taken = {symbol_name(o) for o in module.regions[0].blocks[0].operations if "sym_name" in o.attributes}
        name = next(n for i in itertools.count() if (n := f"hoisted_{i}") not in taken)
        with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]), op.location:
            attributes = {
                "sym_name": ir.StringAttr.get(name),
                "sym_visibility": ir.StringAttr.get("private"),
                "type": ir.TypeAttr.get(value.type),
                "value": attribute,
            }
            ir.Operation.create(_GLOBAL, attributes=attributes)
        with rewriter.before(op):
            reference = {"global": ir.FlatSymbolRefAttr.get(name)}
            load = ir.Operation.create(_LOADS[0], [value.type], attributes=reference)
        rewriter.replace(op, load)


def _hoistable(function: Any, max_bytes: int) -> list[Any]:
    """Return the results of a function's ops that depend on constants alone and that something else reads."""
    # What a branch guards may not be computed: it may divide by zero.
    ops = [op.operation for op in function.regions[0].blocks[0].operations]
    constant: dict[Any, bool] = {}  # by op: whether data comes in, and not only scalars and fills
    for op in ops:
        read = _read_by(op)
        producers = [producer_of(v) for v in read]
        if _is_pure(op) and all(p in constant for p in producers):
            constant[op] = _is_data(op) or any(constant[p] for p in producers)
    return [
        op.results[0]
        for op, has_data in constant.items()
        if has_data and op.name not in _CHEAP and len(op.results) == 1
        if _is_small(op.results[0].type, max_bytes)
        if any(_top(use.owner.operation, function) not in constant for use in op.results[0].uses)
    ]


def _read_by(op: Any) -> list[Any]:
    """Return the values from around an op that it or what is in it reads."""
    inside = [op, *walk(op)]
    own = {r for o in inside if o != op for r in o.results}
    own |= {a for o in inside for region in o.regions for block in region.blocks for a in block.arguments}
    return [v for o in inside for v in o.operands if v not in own]


def _is_pure(op: Any) -> bool:
    inside = [op, *walk(op)]
    values = [v for o in inside for v in (*o.operands, *o.results)]
    return (
        bool(op.results)
        and all(o.name.startswith(_PURE) for o in inside)
        and not any(isinstance(v.type, ir.MemRefType) for v in values)
    )


def _is_data(op: Any) -> bool:
    value = op.attributes["value"] if op.name == "arith.constant" else None
    return isinstance(value, ir.DenseElementsAttr) and not value.is_splat


def _is_small(type_: Any, max_bytes: int) -> bool:
    if not isinstance(type_, ir.RankedTensorType) or not type_.has_static_shape:
        return False
    dtype, _, nbytes = element_array(type_)
    return dtype in _ELEMENTS and nbytes is not None and nbytes <= max_bytes


def _top(op: Any, function: Any) -> Any:
    """Return the op at the top of a function that an op is or is in."""
    while op.parent.operation != function:
        op = op.parent.operation
    return op


def _computed(value: Any) -> Any:
    """Return a value that depends on constants alone as an attribute."""
    # Lowering imports ops of this folder.
    from lhkit.compiler.machine.compiled_kernel import Recipe, build_kernel
    from lhkit.worker.shared_arrays import aligned_empty, dtype_named

    dtype, shape, _ = element_array(value.type)
    text = _function_of(value)
    source = Source("payload", "hoisted.mlir", "hoisted.mlir", text.encode())
    try:
        kernel = build_kernel(Recipe(source, "hoisted", opt_level=1))
    except LhkitError as error:
        raise SilenceableError(f"this cannot be computed here: {error}", at=value.owner) from None
    result = aligned_empty(shape, dtype_named(dtype))
    kernel.prepare([], [result])()
    return ir.DenseElementsAttr.get(result, type=value.type)


def _function_of(value: Any) -> str:
    """Return a module with a function that returns a value, as text."""
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        attributes = {
            "sym_name": ir.StringAttr.get("hoisted"),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get([], [value.type])),
        }
        block = ir.Operation.create("func.func", attributes=attributes, regions=1).regions[0].blocks.append()
    known: dict[Any, Any] = {}

    def copy_of(original: Any) -> Any:
        if original not in known:
            op = original.owner.operation
            reads = {v: copy_of(v) for v in _read_by(op)}
            with ir.InsertionPoint(block):
                copy = op.clone()
            for each in (copy, *walk(copy)):
                for i, operand in enumerate(each.operands):
                    each.operands[i] = reads.get(operand, operand)
            known.update(zip(op.results, copy.results, strict=True))
        return known[original]

    returned = copy_of(value)
    with ir.InsertionPoint(block):
        ir.Operation.create("func.return", operands=[returned])
    return str(module)
