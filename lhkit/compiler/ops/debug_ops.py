"""Ops that are there for debugging: assertions and prints taken out, and prints or clocks put around calls.

``lhkit.strip_debug_ops`` and ``lhkit.trace_dispatches``. What the second puts in, the first takes out. The
clock of the second is also what `lhkit.profile` reads between the parts of a kernel.
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
_CLOCK = "rtclock"  # Of MLIR's runner libraries: seconds as f64


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
    computed = {
        v.owner: None for op in found for v in op.operands if isinstance(v.owner, ir.Operation | ir.OpView)
    }
    for op in found:
        rewriter.erase(op)
    _erase_clocks(list(computed), rewriter)


def _erase_clocks(printed: list[Any], rewriter: Rewriter) -> None:
    """Erase differences of the clock that nothing reads, and the readings, which are calls and never dead."""
    for difference in printed:
        readings = [v.owner for v in difference.operands]
        if difference.name != "arith.subf" or any(called_by(r) != _CLOCK for r in readings):
            continue
        for op in (difference, *readings):
            if not any(list(result.uses) for result in op.results):
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
def trace_dispatches(target: Ops, *, times: bool = False, rewriter: Rewriter) -> None:
    """Print what calls are given and what they return, or how long they take, when the kernel runs.

    ::

        %y = call @layer(%x) : (tensor<4xf32>) -> tensor<4xf32>
        // becomes
        vector.print str "layer: argument 0"
        call @printMemrefF32(%x_unranked) : (tensor<*xf32>) -> ()
        %y = call @layer(%x) : (tensor<4xf32>) -> tensor<4xf32>
        vector.print str "layer: result 0"
        call @printMemrefF32(%y_unranked) : (tensor<*xf32>) -> ()

        // or, with {times}, becomes
        %start = call @rtclock() : () -> f64
        %y = call @layer(%x) : (tensor<4xf32>) -> tensor<4xf32>
        %end = call @rtclock() : () -> f64
        %seconds = arith.subf %end, %start : f64
        vector.print str "layer: seconds"
        vector.print %seconds : f64

    The print functions are those of MLIR's runner libraries, declared where they are not yet; what they print
    is ``kernel.printed``. Numbers stay; a value that was computed in place may be copied for the print. After
    ``InjectDispatchTracing`` of IREE. ``lhkit.strip_debug_ops`` takes the prints out again.

    Args:
        target: ``func.call`` ops; they stay as they are.
        times: Print the seconds that a call takes in place of its values. `lhkit.profile` reads this clock
            between the parts of a kernel, over many calls and without prints.
        rewriter: How the payload is changed.

    Raises:
        SilenceableError: Another op; an element type without a print function; a function of that name is
            declared for something else. Nothing was changed then.
    """
    for op in target:
        if called_by(op.operation) is None:
            raise SilenceableError("this is no func.call, and only calls are traced", at=op)
        for value in () if times else (*op.operation.operands, *op.operation.results):
            _check_printed(op.operation, value.type)
        if times:
            _check_declared(op.operation, _CLOCK, [], [ir.F64Type.get()])
    for op in target:
        call = op.operation
        block = call.block.operations
        following = next(o.operation for i, o in enumerate(block) if i and block[i - 1].operation == call)
        start = None
        with rewriter.before(call):
            if times:
                start = read_clock(call)
            else:
                _print_all(call, "argument", call.operands)
        with rewriter.before(following):
            if times:
                _print_seconds(call, start)
            else:
                _print_all(call, "result", call.results)


def _print_seconds(call: Any, start: Any) -> None:
    readings = [read_clock(call), start]
    seconds = ir.Operation.create("arith.subf", operands=readings, results=[start.type]).result
    _print_line(f"{called_by(call)}: seconds")
    ir.Operation.create("vector.print", operands=[seconds])


def read_clock(call: Any) -> Any:
    """Read the clock at the insertion point; return the seconds, an f64 value.

    Args:
        call: An op of the module, at whose top the clock is declared where it is not yet.
    """
    f64 = ir.F64Type.get()
    if not any(symbol_name(f) == _CLOCK for f in _functions_beside(call)):
        _declare(call, _CLOCK, [], [f64])
    callee = {"callee": ir.FlatSymbolRefAttr.get(_CLOCK)}
    return ir.Operation.create("func.call", results=[f64], attributes=callee).result


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
    _check_declared(call, name, [unranked], [])


def _check_declared(call: Any, name: str, inputs: list[Any], results: list[Any]) -> None:
    wanted = ir.FunctionType.get(inputs, results)
    for function in _functions_beside(call):
        if symbol_name(function) == name and function_type(function) != wanted:
            raise SilenceableError(f"@{name} is declared here, and not as {wanted}", at=function)


def _declare(call: Any, name: str, inputs: list[Any], results: list[Any]) -> Any:
    with ir.InsertionPoint.at_block_begin(module_around(call).regions[0].blocks[0]):
        attributes = {
            "sym_name": ir.StringAttr.get(name),
            "sym_visibility": ir.StringAttr.get("private"),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(inputs, results)),
        }
        return ir.Operation.create("func.func", attributes=attributes, regions=1)


def _print_function(type_: Any) -> tuple[str | None, Any]:
    """Return the function that prints a tensor or memref, and the type it is declared with."""
    element = ir.ShapedType(type_).element_type
    served = f"(memref<*x{element}>) -> ()"
    name = next((n for n, signature in SIGNATURES.items() if signature == served), None)
    kind = "memref" if isinstance(type_, ir.MemRefType | ir.UnrankedMemRefType) else "tensor"
    return name, ir.Type.parse(f"{kind}<*x{element}>")


def _print_all(call: Any, what: str, values: Any) -> None:
    for number, value in enumerate(values):
        _print_line(f"{called_by(call)}: {what} {number}")
        if _is_array(value.type):
            _print_array(call, value)
        else:
            ir.Operation.create("vector.print", operands=[value])


def _print_line(text: str) -> None:
    ir.Operation.create("vector.print", attributes={"stringLiteral": ir.StringAttr.get(f"{text}\n")})


def _print_array(call: Any, value: Any) -> None:
    name, unranked = _print_function(value.type)
    assert name is not None
    function = next((f for f in _functions_beside(call) if symbol_name(f) == name), None)
    if function is None:
        function = _declare(call, name, [unranked], [])
    # Bufferization takes what is declared to write its arguments, and cannot copy one without a rank.
    reads = ir.DictAttr.get({"bufferization.access": ir.StringAttr.get("read")})
    function.attributes["arg_attrs"] = ir.ArrayAttr.get([reads])
    if value.type != unranked:
        kind = str(unranked).partition("<")[0]
        value = ir.Operation.create(f"{kind}.cast", [unranked], [value]).result
    callee = {"callee": ir.FlatSymbolRefAttr.get(name)}
    ir.Operation.create("func.call", operands=[value], attributes=callee)
