"""Transform ops of our own: probes call back while a schedule runs, and one gives handles their payload."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lhkit.compiler.ir.bindings import expect_dialect, host_module, ir
from lhkit.model.trace_record import HandleKind

# A dialect of its own: the ops that people write are in others, and one can be loaded only once.
PROBE = "lhkit_trace.probe"
GIVEN = "lhkit_trace.given"
_DIALECT = """irdl.dialect @lhkit_trace {
  irdl.operation @probe {
    %number = irdl.any
    irdl.attributes { "number" = %number }
  }
  irdl.operation @given {
    %handle = irdl.any
    irdl.results(handle: %handle)
  }
}"""

# What is called with the number of a probe and the interpreter's state; False stops the application.
Listener = Callable[[int, Any], bool]
_listeners: list[Listener] = []
# What the next ``given`` ops hand out, one after the other: payload ops, values or attributes.
_given: list[Iterator[Sequence[Any]]] = []

_transform: Any = host_module("dialects.transform")
expect_dialect("lhkit_trace")


class _Apply(_transform.TransformOpInterface):  # type: ignore[misc]
    @staticmethod
    def apply(op: Any, _rewriter: Any, _results: Any, state: Any) -> Any:
        go_on = _listeners[-1](ir.IntegerAttr(op.attributes["number"]).value, state)
        result = _transform.DiagnosedSilenceableFailure
        return result.Success if go_on else result.DefiniteFailure

    @staticmethod
    def allow_repeated_handle_operands(_op: Any) -> bool:
        return False


class _Give(_transform.TransformOpInterface):  # type: ignore[misc]
    @staticmethod
    def apply(op: Any, _rewriter: Any, results: Any, _state: Any) -> Any:
        handle, payload = op.results[0], list(next(_given[-1]))
        give = {"op": results.set_ops, "value": results.set_values, "param": results.set_params}
        give[kind_of(handle.type)](handle, payload)
        return _transform.DiagnosedSilenceableFailure.Success

    @staticmethod
    def allow_repeated_handle_operands(_op: Any) -> bool:
        return False


class _Effects(_transform.MemoryEffectsOpInterface):  # type: ignore[misc]
    # Older bindings hand over a list to fill, newer ones take what is returned.
    @staticmethod
    def get_effects(_op: Any, _effects: Any = None) -> list[Any]:
        return []


def load_probe(context: Any) -> None:
    """Make our ops known to a context; once for each."""
    with context:
        host_module("dialects.irdl").load_dialects(ir.Module.parse(_DIALECT))
        _Apply.attach(PROBE, context=context)
        _Give.attach(GIVEN, context=context)
        # An op without a model of its effects ends the process.
        for name in (PROBE, GIVEN):
            _Effects.attach(name, context=context)


def insert_probe(before: Any, number: int) -> None:
    """Insert a probe before a transform op, in place."""
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
    ir.Operation.create(
        PROBE, attributes={"number": attribute}, loc=ir.Location.unknown(), ip=ir.InsertionPoint(before)
    )


def kind_of(type_: Any) -> HandleKind:
    """Return what a transform value of a type is a handle to."""
    text = str(type_)
    if text.startswith(("!transform.any_op", "!transform.op<", "!pdl.operation")):
        return "op"
    return "value" if text.startswith("!transform.any_value") else "param"


@contextlib.contextmanager
def giving(payloads: Sequence[Sequence[Any]]) -> Iterator[None]:
    """Let the ops ``given`` hand out these lists of payload ops, values or attributes, one after the other."""
    _given.append(iter(payloads))
    try:
        yield
    finally:
        _given.pop()


@contextlib.contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let probes call a function; what it raises is raised here, after the application has stopped."""
    raised: list[BaseException] = []

    def guarded(number: int, state: Any) -> bool:
        if raised:
            return False
        try:
            return listener(number, state)
        except BaseException as error:  # noqa: BLE001 - must not unwind through the interpreter
            raised.append(error)
            return False

    _listeners.append(guarded)
    try:
        yield
    finally:
        _listeners.pop()
        if raised:
            raise raised[0]
