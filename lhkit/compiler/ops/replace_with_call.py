"""``lhkit.replace_with_call``: the call of an outlined function becomes the call of a microkernel.

What bufferization has to know about the microkernel (what it reads, what it writes) stands in the body of
the outlined function, so the body stays until buffers are there; then the function becomes a declaration.
See `lhkit.compiler.lowering.microkernel_calls`.
"""

from __future__ import annotations

from typing import Any

from lhkit.compiler.interpreter.effects import module_around
from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.functions import called_by, function_type, symbol_name
from lhkit.compiler.ir.parsing import walk
from lhkit.model.own_op_definition import DefiniteError, Ops, Rewriter, SilenceableError, transform_op

MICROKERNEL_MARK = "lhkit.microkernel"


@transform_op("lhkit.replace_with_call", consumes=["call"])
def replace_with_call(call: Ops, *, microkernel: str, signature: Any = None, rewriter: Rewriter) -> Ops:
    """Call a microkernel in place of an outlined function.

    The function that is called gets the microkernel's name. Its body stays until the payload has buffers: it
    says what the microkernel has to compute, what it reads and what it writes. What runs is what
    ``microkernels=`` (``--microkernel NAME=FILE``) names: C source or a function of a Python file, which gets
    a buffer for each tensor.

    Args:
        call: Calls (``func.call``), as ``transform.loop.outline`` returns them; consumed.
        microkernel: The name of the microkernel.
        signature: A type that the function has to have, such as ``(tensor<4x4xf32>) -> tensor<4x4xf32>``.
        rewriter: How the payload is changed.

    Returns:
        The calls of the microkernel.

    Raises:
        SilenceableError: A handle to something else, a function without a body, another signature.
    """
    functions = [_called_function(op.operation) for op in call]
    for op, function in zip(call, functions, strict=True):
        _check(op.operation, function, microkernel, signature)
    for op, function in zip(call, functions, strict=True):
        _take_over(op.operation, function, microkernel, rewriter)
    return call


def _called_function(call: Any) -> Any:
    name = called_by(call)
    if name is None:
        raise SilenceableError("only a func.call can become the call of a microkernel", at=call)
    function = _find(module_around(call), name)
    if function is None or not len(function.regions[0].blocks):
        what = "which has no body that says what it reads and writes"
        raise SilenceableError(f"it calls @{name}, {what}", at=call)
    return function


def _check(call: Any, function: Any, microkernel: str, signature: Any) -> None:
    type_ = function_type(function)
    if signature is not None and ir.TypeAttr(signature).value != type_:
        wanted = ir.TypeAttr(signature).value
        message = f"the signature of {microkernel} is {wanted}, and @{symbol_name(function)} has {type_}"
        raise SilenceableError(message, at=call)
    other = _find(module_around(call), microkernel)
    if other is None or other == function:
        return
    if MICROKERNEL_MARK not in other.attributes:
        raise SilenceableError(f"the payload has a function @{microkernel} already", at=other)
    if function_type(other) != type_:
        message = (
            f"{microkernel} is called with {function_type(other)} already, and @{symbol_name(function)}"
            f" has {type_}; every signature needs a microkernel of its own"
        )
        raise SilenceableError(message, at=call)


def _take_over(call: Any, function: Any, microkernel: str, rewriter: Rewriter) -> None:
    """Let a call, and the function that it calls, take the name of a microkernel."""
    module = module_around(call)
    before = symbol_name(function)
    if before == microkernel:
        return
    other = _find(module, microkernel)
    if other is not None and _text(other) != _text(function):
        message = f"@{before} does something else than what {microkernel} is called for already"
        raise DefiniteError(message, at=call)
    with call.context:
        callee = ir.FlatSymbolRefAttr.get(microkernel)
        for op in walk(module):
            if called_by(op) == before:
                op.attributes["callee"] = callee
        if other is not None:
            rewriter.erase(function)
            return
        function.attributes["sym_name"] = ir.StringAttr.get(microkernel)
        function.attributes["sym_visibility"] = ir.StringAttr.get("private")
        function.attributes[MICROKERNEL_MARK] = ir.UnitAttr.get()


def _text(function: Any) -> str:
    """Return what a function does as text, its name left out."""
    return "\n".join(str(block) for block in function.regions[0].blocks)


def _find(module: Any, name: str) -> Any:
    ops = [op.operation for op in module.regions[0].blocks[0].operations]
    return next((op for op in ops if op.name == "func.func" and symbol_name(op) == name), None)
