"""Transform ops defined in Python: conversion of values, registration, files with ops, checks of their uses.

No exception of such an op unwinds through the interpreter: `own_op_failures` keeps it, the interpreter is told
that the op failed, and the caller that applied the schedule asks for the exception.
"""

from __future__ import annotations

import contextlib
import difflib
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from lhkit.compiler.extension.own_op_failures import know_text, place_in, remember
from lhkit.compiler.ir.bindings import expect_dialect, extend_contexts, host_module, ir
from lhkit.compiler.ir.context_pool import forget_contexts
from lhkit.compiler.ir.parsing import failure_in, span_of, walk
from lhkit.model.errors import Diagnostic, LhkitError, error_for, usage_error
from lhkit.model.own_op_definition import DefiniteError, Definition, OwnOp, take_definitions
from lhkit.model.span import Span
from lhkit.model.trace_record import HandleKind
from lhkit.worker.requests import Source


def arguments_of(definition: Definition, op: Any, state: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return what the operands and attributes of an op are, for the function that applies it."""
    ask = {
        "op": lambda handle: list(state.get_payload_ops(handle)),
        "value": lambda handle: list(state.get_payload_values(handle)),
        "param": lambda handle: [_python_value(p) for p in state.get_params(handle)],
    }
    positional = [ask[o.kind](v) for o, v in zip(definition.op.operands, op.operands, strict=True)]
    typed = zip(definition.op.attributes, definition.attribute_types, strict=True)
    named = {
        a.name: op.attributes[a.name] if t is Any else _python_value(op.attributes[a.name])
        for a, t in typed
        if a.name in op.attributes
    }
    return positional, named


def _python_value(attribute: Any) -> Any:
    """Return an attribute as a number, string, bool or list of them; others as they are."""
    if isinstance(attribute, ir.UnitAttr):
        return True
    for cls in (ir.BoolAttr, ir.IntegerAttr, ir.FloatAttr, ir.StringAttr, ir.FlatSymbolRefAttr):
        if isinstance(attribute, cls):
            return cls(attribute).value
    if isinstance(attribute, ir.ArrayAttr):
        return [_python_value(a) for a in attribute]
    if isinstance(attribute, ir.DenseI64ArrayAttr | ir.DenseI32ArrayAttr):
        return [int(n) for n in attribute]
    return attribute


def fits(attribute: Any, type_: Any) -> bool:
    """Return True if an attribute is of a Python type that an own op declares."""
    value = _python_value(attribute)
    if type_ is Any:
        return True
    if type_ in (list[int], list[str]):
        (element,) = type_.__args__
        return isinstance(value, list) and all(type(v) is element for v in value)
    return type(value) is type_


def set_results(
    definition: Definition, op: Any, results: Any, returned: Any, is_gone: Callable[[Any], bool]
) -> None:
    """Hand on what the function of an own op returned as the op's results."""
    kinds = definition.op.results
    name = definition.op.name
    parts = (returned,) if len(kinds) == 1 else () if returned is None else returned
    if not isinstance(parts, tuple) or len(parts) != len(kinds):
        expected = "nothing" if not kinds else f"a tuple of {len(kinds)}"
        raise DefiniteError(f"{name} is to return {expected}, not {_described(returned)}")
    checked = [_checked(name, kind, part, is_gone) for kind, part in zip(kinds, parts, strict=True)]
    setters: Mapping[HandleKind, Any] = {
        "op": results.set_ops,
        "value": results.set_values,
        "param": results.set_params,
    }
    for result, kind, values in zip(op.results, kinds, checked, strict=True):
        setters[kind](result, [_attribute(v, result.type) for v in values] if kind == "param" else values)


def _checked(name: str, kind: HandleKind, part: Any, is_gone: Callable[[Any], bool]) -> list[Any]:
    """Return a part of what was returned as a list of what its kind of handle points to."""
    allowed: tuple[Any, ...] = {
        "op": (ir.Operation, ir.OpView),
        "value": (ir.Value,),
        "param": (int, float, str, ir.Attribute),
    }[kind]
    values = [part] if isinstance(part, allowed) else part
    if not isinstance(values, list | tuple) or not all(isinstance(v, allowed) for v in values):
        raise DefiniteError(f"{name} is to return a list for a handle of kind {kind}, not {_described(part)}")
    if kind == "op":
        values = [v.operation for v in values]
        if any(is_gone(v) for v in values):
            raise DefiniteError(f"{name} returns an operation that it has erased or replaced")
    return list(values)


def _described(value: Any) -> str:
    if isinstance(value, list | tuple) and value:
        return f"a {type(value).__name__} of {', '.join(sorted({type(v).__name__ for v in value}))}"
    return "nothing" if value is None else type(value).__name__


def _attribute(value: Any, type_: Any) -> Any:
    """Return a parameter as an attribute of the type that the handle's type names, i64 where it names none."""
    if isinstance(value, ir.Attribute):
        return value
    named = re.fullmatch(r"!transform\.param<(.*)>", str(type_))
    return attribute_of(value, ir.Type.parse(named[1]) if named else ir.IntegerType.get_signless(64))


def attribute_of(value: float | str, integer: Any) -> Any:
    """Return a Python value as an attribute, an ``int`` of the type ``integer``."""
    match value:
        case str():
            return ir.StringAttr.get(value)
        case bool():
            return ir.BoolAttr.get(value)
        case int():
            return ir.IntegerAttr.get(integer, value)
        case _:
            return ir.FloatAttr.get(ir.F64Type.get(), value)


class TrackedRewriter:
    """The interpreter's rewriter, with mistakes refused that would end the process; see `Rewriter`."""

    def __init__(self, rewriter: Any) -> None:
        self._rewriter = rewriter
        self._root: Any = None
        self._erased: list[Any] = []

    def erase(self, op: Any) -> None:
        """Erase an operation whose results nothing uses."""
        self._check(op, "erased")
        op = op.operation
        if any(list(result.uses) for result in op.results):
            raise DefiniteError(f"{op.name} cannot be erased: something uses what it computes", at=op)
        self._note(op)
        self._rewriter.erase_op(op)

    def replace(self, op: Any, by: Any) -> None:
        """Replace an operation by another, or by a sequence of values."""
        self._check(op, "replaced")
        op = op.operation
        is_op = isinstance(by, ir.Operation | ir.OpView)
        values = list(by.operation.results) if is_op else list(by)
        old, new = [r.type for r in op.results], [v.type for v in values]
        if old != new:
            spelled = [", ".join(map(str, types)) or "nothing" for types in (old, new)]
            message = f"{op.name} computes {spelled[0]} and cannot be replaced by what computes {spelled[1]}"
            raise DefiniteError(message, at=op)
        self._note(op)
        self._rewriter.replace_op(op, by.operation if is_op else values)

    @contextlib.contextmanager
    def before(self, op: Any) -> Iterator[None]:
        """Create operations before one, with its location."""
        self._check(op, "built before")
        with ir.InsertionPoint(op.operation), op.operation.location:
            yield

    def is_gone(self, op: Any) -> bool:
        """Return True if an operation was erased or replaced."""
        # Operations are the same if their addresses are, and addresses are used again.
        if not any(op.operation == gone for gone in self._erased):
            return False
        return not any(op.operation == other for other in (self._root, *walk(self._root)))

    def _note(self, op: Any) -> None:
        if self._root is None:
            self._root = op
            while self._root.parent is not None:
                self._root = self._root.parent.operation
        self._erased.append(op)

    def _check(self, op: Any, what: str) -> None:
        if not isinstance(op, ir.Operation | ir.OpView):
            raise DefiniteError(f"{type(op).__name__} is not a payload operation and cannot be {what}")
        if self.is_gone(op):
            raise DefiniteError(f"an operation that is gone cannot be {what}")


_transform: Any = host_module("dialects.transform")
_irdl: Any = host_module("dialects.irdl")

_definitions: dict[str, Definition] = {}
_generation = 0
# What the interpreter calls for each op: made once, attached to every context.
_models: dict[str, tuple[Any, Any]] = {}


def register(definitions: Sequence[Definition]) -> None:
    """Make ops known to all contexts from now on."""
    global _generation  # noqa: PLW0603 - one for the process, as the definitions are
    _generation += 1
    forget_contexts()
    for definition in definitions:
        _definitions[definition.op.name] = definition
        _models[definition.op.name] = (_applying(definition), _with_effects(definition))
        expect_dialect(definition.op.dialect)


def generation() -> int:
    """Return how often ops were registered: a cache key of all that depends on what they are."""
    return _generation


def find_definition(name: str) -> Definition | None:
    """Return the definition of an own op, or None."""
    return _definitions.get(name)


def known_ops() -> tuple[OwnOp, ...]:
    """Return what is known about every own op, lhkit's among them."""
    return tuple(definition.op for definition in _definitions.values())


def load_own_ops(context: Any) -> None:
    """Make all own ops known to a context."""
    if not _definitions:
        return
    with context:
        _irdl.load_dialects(ir.Module.parse(_dialects_text(list(_definitions.values()))))
    for name, models in _models.items():
        # An op without a model of its effects ends the process.
        for model in models:
            model.attach(name, context=context)


extend_contexts(load_own_ops)


def _dialects_text(definitions: Sequence[Definition]) -> str:
    """Return the ops in the language of IRDL: only how many operands and results, `signatures` checks kinds."""
    dialects: dict[str, list[str]] = {}
    for definition in definitions:
        op = definition.op
        operands, results = len(op.operands), len(op.results)
        lines = [f"%v{i} = irdl.any" for i in range(operands + results)]
        for keyword, first, count in (("operands", 0, operands), ("results", operands, results)):
            if count:
                lines.append(
                    f"irdl.{keyword}({', '.join(f'v{i}: %v{i}' for i in range(first, first + count))})"
                )
        body = "\n".join(lines)
        name = op.name.partition(".")[2]
        dialects.setdefault(op.dialect, []).append(f'irdl.operation @"{name}" {{\n{body}\n}}')
    return "\n".join(f"irdl.dialect @{name} {{\n" + "\n".join(ops) + "\n}" for name, ops in dialects.items())


def _applying(definition: Definition) -> Any:
    class Applying(_transform.TransformOpInterface):  # type: ignore[misc]
        @staticmethod
        def apply(op: Any, rewriter: Any, results: Any, state: Any) -> Any:
            outcome = _transform.DiagnosedSilenceableFailure
            try:
                _apply(definition, op, TrackedRewriter(rewriter), results, state)
            except BaseException as error:  # noqa: BLE001 - must not unwind through the interpreter
                kind = remember(definition.op, op, error)
                return outcome.SilenceableFailure if kind == "silenceable" else outcome.DefiniteFailure
            return outcome.Success

        @staticmethod
        def allow_repeated_handle_operands(_op: Any) -> bool:
            return False

    return Applying


def _apply(definition: Definition, op: Any, rewriter: TrackedRewriter, results: Any, state: Any) -> None:
    positional, named = arguments_of(definition, op, state)
    if definition.rewriter is not None:
        named[definition.rewriter] = rewriter
    # Attributes of floats want a location, too.
    with ir.Location.unknown():
        returned = definition.function(*positional, **named)
        set_results(definition, op, results, returned, rewriter.is_gone)


def _with_effects(definition: Definition) -> Any:
    consumes = [operand.is_consumed for operand in definition.op.operands]

    class WithEffects(_transform.MemoryEffectsOpInterface):  # type: ignore[misc]
        @staticmethod
        def get_effects(op: Any, effects: Any) -> None:
            # The verifier may ask an op that has not as many operands as it should have.
            operands = list(zip(op.op_operands, consumes, strict=False))
            declarations = ((True, _transform.consumes_handle), (False, _transform.only_reads_handle))
            for wanted, declare in declarations:
                chosen = [operand for operand, is_consumed in operands if is_consumed is wanted]
                if chosen:
                    declare(chosen, effects)
            if len(op.results):
                _transform.produces_handle(op.results, effects)
            reads = _transform.only_reads_payload if definition.op.reads_only else _transform.modifies_payload
            reads(effects)

    return WithEffects


_NO_OPS = 'An op is a function with @transform_op("my.name"), imported from lhkit.own_ops.'


def load_op_file(file: str, text: str) -> tuple[OwnOp, ...]:
    """Run a file with own ops and make its ops known."""
    take_definitions()
    _run(file, text)
    definitions = take_definitions()
    if not definitions:
        raise usage_error(f"{file} defines no transform op", _NO_OPS)
    _refuse_clashes(definitions, file, text)
    know_text(Source("code", file, file, text.encode()))
    register(definitions)
    return tuple(d.op for d in definitions)


def _run(file: str, text: str) -> None:
    try:
        code = compile(text, file, "exec")
    except SyntaxError as error:
        at = Span(file, error.lineno or 1, error.offset or 1)
        raise usage_error(f"{file} does not parse: {error.msg}", at=at, text=text) from None
    except ValueError as error:
        raise usage_error(f"{file} does not parse: {error}") from None
    folder = str(Path(file).parent)
    if folder not in sys.path:
        sys.path.append(folder)
    module: Any = ModuleType(f"lhkit_own_ops_of_{Path(file).stem}")
    module.__file__ = file
    sys.modules[module.__name__] = module
    try:
        exec(code, module.__dict__)
    except LhkitError as error:
        place = place_in(file, error)
        raise usage_error(error.failure.message, error.failure.advice, at=place, text=text) from None
    except BaseException as error:  # noqa: BLE001 - a file of the user's may raise anything
        said = str(error).strip().partition("\n")[0]
        what = f"{type(error).__name__}: {said}" if said else type(error).__name__
        raise usage_error(f"{file} does not load: {what}", at=place_in(file, error), text=text) from None


def _refuse_clashes(definitions: Sequence[Definition], file: str, text: str) -> None:
    """Refuse names that are taken: by MLIR, by another file, or earlier in this one."""
    context = ir.Context()
    seen: dict[str, OwnOp] = {}
    for definition in definitions:
        op = definition.op
        place = Span(file, op.line, 1)
        if op.dialect == "lhkit" or _is_registered(context, op.dialect):
            owner = "lhkit" if op.dialect == "lhkit" else "MLIR"
            message = f"the dialect of {op.name} is one of {owner}'s"
            raise usage_error(message, "Give it a dialect of its own, such as my.", at=place, text=text)
        if (earlier := seen.get(op.name)) is not None:
            raise usage_error(f"{op.name} is defined in line {earlier.line} already", at=place, text=text)
        if (other := find_definition(op.name)) is not None:
            where = f"{other.op.file}:{other.op.line}"
            raise usage_error(f"{op.name} is defined by {where} already", at=place, text=text)
        seen[op.name] = op


def _is_registered(context: Any, dialect: str) -> bool:
    try:
        context.get_dialect_descriptor(dialect)
    except ValueError:
        return False
    return True


_KINDS = {
    "!transform.any_op": "op",
    "!transform.op<": "op",
    "!pdl.operation": "op",
    "!transform.any_value": "value",
}
_WORDS = {"op": "a handle to ops", "value": "a handle to values", "param": "a parameter"}


def check_own_ops(module: Any, sources: Sequence[Source]) -> None:
    """Refuse a schedule with an own op that is not used as it is defined."""
    problems = []
    for op in walk(module.operation):
        definition = find_definition(op.name)
        if definition is None:
            continue
        for message in _problems(op, definition):
            notes = (Diagnostic("note", f"it is used as {_form_of(definition.op)}"),)
            problems.append(Diagnostic("error", f"{op.name}: {message}", span_of(op.location), notes))
    if problems:
        message = f"{sources[0].name} does not verify"
        raise error_for(failure_in(sources, "schedule-verify", message, tuple(problems), stage="parse"))


def _problems(op: Any, definition: Definition) -> Iterator[str]:
    own = definition.op
    for operand, value in zip(own.operands, op.operands, strict=True):
        if (kind := _kind(value.type)) != operand.kind:
            wanted, given = _WORDS[operand.kind], _WORDS[kind]
            yield f"{operand.name} is to be {wanted}, and {value.type} is {given}"
    for i, (wanted_kind, result) in enumerate(zip(own.results, op.results, strict=True)):
        if (kind := _kind(result.type)) != wanted_kind:
            yield f"result {i} is {_WORDS[wanted_kind]}, and {result.type} is {_WORDS[kind]}"
    known = {a.name: t for a, t in zip(own.attributes, definition.attribute_types, strict=True)}
    for attribute in own.attributes:
        if attribute.default is None and attribute.name not in op.attributes:
            yield f"the attribute {attribute.name} ({attribute.type}) is missing"
    for name in op.attributes:
        if name in known:
            if not fits(op.attributes[name], known[name]):
                spelled = next(a.type for a in own.attributes if a.name == name)
                yield f"the attribute {name} is to be of type {spelled}, and {op.attributes[name]} is not"
        elif "." not in name:
            near = difflib.get_close_matches(name, known, 1)
            yield f"there is no attribute {name}" + (f"; is {near[0]} meant?" if near else "")


def _kind(type_: Any) -> str:
    text = str(type_)
    return next((kind for start, kind in _KINDS.items() if text.startswith(start)), "param")


def _form_of(own: OwnOp) -> str:
    """Return how an own op is written in a schedule."""
    types = {"op": "!transform.any_op", "value": "!transform.any_value", "param": "!transform.any_param"}
    operands = ", ".join(f"%{o.name}" for o in own.operands)
    attributes = ", ".join(f"{a.name} = {a.type}" + ("" if a.default is None else "?") for a in own.attributes)
    given = ", ".join(types[o.kind] for o in own.operands)
    results = ", ".join(types[r] for r in own.results)
    written = f" {{{attributes}}}" if attributes else ""
    return f'"{own.name}"({operands}){written} : ({given}) -> ({results})'
