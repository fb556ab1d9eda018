"""Ops that are there for debugging: assertions and prints taken out, and prints put around calls.

``lhkit.strip_debug_ops`` and ``lhkit.trace_dispatches``. What the second puts in, the first takes out.
"""

from __future__ import annotations

from typing import Any

from lhkit.compiler.interpreter.effects import module_around
from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.functions import called_by, function_type, symbol_name
from lhkit.compiler.ir.parsing import walk
from lhkit.compiler.lowering.runtime_calls import SIGNATURES
from lhkit.model.own_op_definition import Ops, Rewriter, SilenceableError, transform_op

_DEBUG_OPS = ("cf.assert", "vector.print")


@transform_op("lhkit.strip_debug_ops")
def strip_debug_ops(target: Ops, *, rewriter: Rewriter) -> None:
    """Erase assertions and prints.

    ::

        cf.assert %same, "sizes differ"
        vector.print %x : f32
        call @printMemrefF32(%m) : (memref<*xf32>) -> ()
        // becomes nothing

    What computes the condition of an assertion stays; the next canonicalization removes it where nothing else
    reads it. Prints are ``vector.print`` and calls of the print functions of MLIR's runner libraries, unless
    the module defines a function of that name itself. Without an assertion an input that it would have refused
    is computed with. After ``StripDebugOps`` of IREE; the pass ``strip-debuginfo`` removes locations and leaves
    these ops.

    Args:
        target: Where they are looked for: inside of these ops. Handles to what is erased become empty.
        rewriter: How the payload is changed.
    """
    # An op may be inside of two targets, and what was erased may not be looked at.
    found = {op: None for root in target for op in walk(root.operation) if _is_debug_op(op)}
    for op in found:
        rewriter.erase(op)


def _is_debug_op(op: Any) -> bool:
    if op.name in _DEBUG_OPS:
        return True
    name = called_by(op)
    if name is None or not name.startswith("print") or name not in SIGNATURES or op.results:
        return False
    return all(not f.regions[0].blocks for f in _functions_beside(op) if symbol_name(f) == name)


def _functions_beside(op: Any) -> list[Any]:
    """Return the functions at the top of the module around an op."""
    ops = module_around(op).regions[0].blocks[0].operations
    return [each.operation for each in ops if each.operation.name == "func.func"]


@transform_op("lhkit.trace_dispatches")
def trace_dispatches(target: Ops, *, rewriter: Rewriter) -> None:
    """Print what calls are given and what they return, when the kernel runs.

    ::

        %y = call @layer(%x) : (tensor<4xf32>) -> tensor<4xf32>
        // becomes
        vector.print str "layer: argument 0"
        call @printMemrefF32(%x_unranked) : (tensor<*xf32>) -> ()
        %y = call @layer(%x) : (tensor<4xf32>) -> tensor<4xf32>
        vector.print str "layer: result 0"
        call @printMemrefF32(%y_unranked) : (tensor<*xf32>) -> ()

    The print functions are those of MLIR's runner libraries, declared where they are not yet; what they print
    is ``kernel.printed``. Numbers stay; a value that was computed in place may be copied for the print. After
    ``InjectDispatchTracing`` of IREE. ``lhkit.strip_debug_ops`` takes the prints out again.

    Args:
        target: ``func.call`` ops; they stay as they are.
        rewriter: How the payload is changed.

    Raises:
        SilenceableError: Another op; an element type without a print function; a function of that name is
            declared for something else. Nothing was changed then.
    """
    for op in target:
        if called_by(op.operation) is None:
            raise SilenceableError("this is no func.call, and only calls are traced", at=op)
        for value in (*op.operation.operands, *op.operation.results):
            _check_printed(op.operation, value.type)
    for op in target:
        call = op.operation
        block = call.block.operations
        following = next(o.operation for i, o in enumerate(block) if i and block[i - 1].operation == call)
        with rewriter.before(call):
            _print_all(call, "argument", call.operands)
        with rewriter.before(following):
            _print_all(call, "result", call.results)


def _is_array(type_: Any) -> bool:
    return isinstance(type_, ir.ShapedType) and not isinstance(type_, ir.VectorType)


def _check_printed(call: Any, type_: Any) -> None:
    if not _is_array(type_):
        # As vector.print takes them.
        if not isinstance(type_, ir.IntegerType | ir.IndexType | ir.FloatType | ir.VectorType):
            raise SilenceableError(f"no print is known for {type_}", at=call)
        return
    name, unranked = _print_function(type_)
    if name is None:
        raise SilenceableError(f"no function of MLIR's runner libraries prints {type_}", at=call)
    for function in _functions_beside(call):
        if symbol_name(function) == name and list(function_type(function).inputs) != [unranked]:
            raise SilenceableError(f"@{name} is declared here, and not for {unranked}", at=function)


def _print_function(type_: Any) -> tuple[str | None, Any]:
    """Return the function that prints a tensor or memref, and the type it is declared with."""
    element = ir.ShapedType(type_).element_type
    served = f"(memref<*x{element}>) -> ()"
    name = next((n for n, signature in SIGNATURES.items() if signature == served), None)
    kind = "memref" if isinstance(type_, ir.MemRefType | ir.UnrankedMemRefType) else "tensor"
    return name, ir.Type.parse(f"{kind}<*x{element}>")


def _print_all(call: Any, what: str, values: Any) -> None:
    for number, value in enumerate(values):
        text = ir.StringAttr.get(f"{called_by(call)}: {what} {number}\n")
        ir.Operation.create("vector.print", attributes={"stringLiteral": text})
        if _is_array(value.type):
            _print_array(call, value)
        else:
            ir.Operation.create("vector.print", operands=[value])


def _print_array(call: Any, value: Any) -> None:
    name, unranked = _print_function(value.type)
    assert name is not None
    function = next((f for f in _functions_beside(call) if symbol_name(f) == name), None)
    if function is None:
        with ir.InsertionPoint.at_block_begin(module_around(call).regions[0].blocks[0]):
            attributes = {
                "sym_name": ir.StringAttr.get(name),
                "sym_visibility": ir.StringAttr.get("private"),
                "function_type": ir.TypeAttr.get(ir.FunctionType.get([unranked], [])),
            }
            function = ir.Operation.create("func.func", attributes=attributes, regions=1)
    # Bufferization takes what is declared to write its arguments, and cannot copy one without a rank.
    reads = ir.DictAttr.get({"bufferization.access": ir.StringAttr.get("read")})
    function.attributes["arg_attrs"] = ir.ArrayAttr.get([reads])
    if value.type != unranked:
        kind = str(unranked).partition("<")[0]
        value = ir.Operation.create(f"{kind}.cast", [unranked], [value]).result
    callee = {"callee": ir.FlatSymbolRefAttr.get(name)}
    ir.Operation.create("func.call", operands=[value], attributes=callee)
