"""Definition of transform ops in Python: decorator, argument types and errors.

Pure: the file is loaded in the worker only, and this is what it and the worker agree on.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, TypeVar

from lhkit.model.errors import usage_error
from lhkit.model.trace_record import HandleKind

Ops = Annotated[list[Any], "op"]
"""What an op handle points to: payload operations of the bindings."""
Values = Annotated[list[Any], "value"]
"""What a value handle points to: payload values of the bindings."""
Params = Annotated[list[Any], "param"]
"""What a parameter holds: Python integers, floats, strings, or attributes of the bindings."""

_ADVICE = "Write def f(target: Ops, *, size: int = 4, rewriter: Rewriter) -> Ops, with names of lhkit.own_ops."


class OwnOpError(Exception):
    """An own op does not apply; one of the two kinds below.

    Args:
        message: Why, in one sentence.
        at: The payload operation that it is about.
        notes: What else to say, each with the payload operation that it is about.
    """

    def __init__(self, message: str, at: Any = None, notes: Sequence[tuple[str, Any]] = ()) -> None:
        super().__init__(message)
        self.at = at
        self.notes = tuple(notes)


class SilenceableError(OwnOpError):
    """The op cannot be applied here and has changed nothing: what is around it may try something else."""


class DefiniteError(OwnOpError):
    """The op has failed for good, with the payload perhaps changed in part: the whole schedule fails."""


class Rewriter(Protocol):
    """How an own op changes the payload, so that the handles of the schedule follow."""

    def erase(self, op: Any) -> None:
        """Erase a payload operation whose results nothing uses; handles lose it."""

    def replace(self, op: Any, by: Any) -> None:
        """Replace an operation by another, or by a sequence of values: uses and handles follow."""

    def before(self, op: Any) -> AbstractContextManager[None]:
        """Create operations before one, with its location, inside of a ``with`` statement."""


@dataclass(frozen=True, slots=True)
class OwnOperand:
    """An operand: what handle it takes, and what is done to it."""

    name: str
    kind: HandleKind
    is_consumed: bool


@dataclass(frozen=True, slots=True)
class OwnAttribute:
    """An attribute: its type as Python spells it, and its default as text, None where it is required."""

    name: str
    type: str
    default: str | None = None


@dataclass(frozen=True, slots=True)
class OwnOp:
    """A user-defined transform op."""

    name: str
    operands: tuple[OwnOperand, ...]
    attributes: tuple[OwnAttribute, ...]
    results: tuple[HandleKind, ...]
    doc: str = ""
    reads_only: bool = False
    file: str = ""
    line: int = 1

    @property
    def dialect(self) -> str:
        """The part of the name before the first dot."""
        return self.name.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Definition:
    """An own op with the function that applies it."""

    op: OwnOp
    function: Callable[..., Any]
    rewriter: str | None  # The parameter that takes the rewriter, or None
    attribute_types: tuple[Any, ...]


_defined: list[Definition] = []


def take_definitions() -> list[Definition]:
    """Return what was defined since the last call."""
    taken = _defined.copy()
    _defined.clear()
    return taken


F = TypeVar("F", bound=Callable[..., Any])


def transform_op(name: str, *, consumes: Sequence[str] = (), reads_only: bool = False) -> Callable[[F], F]:
    """Make a function a transform op.

    Its parameters by position are the operands, annotated with `Ops`, `Values` or `Params`; those by keyword
    are attributes (``int``, ``float``, ``bool``, ``str``, ``list[int]``, ``list[str]``, ``Any`` for attributes
    as they are), optional where they have a default; one annotated with `Rewriter` is given the rewriter. The
    annotation of what it returns gives the results: `Ops`, `Values`, `Params`, or a tuple of them.

    Args:
        name: ``dialect.op``; the dialect is none of MLIR's.
        consumes: The operands that it consumes; it only reads the others.
        reads_only: It leaves the payload as it is.

    Raises:
        UsageError: Name, parameters or annotations do not say what op it is.
    """

    def define(function: F) -> F:
        _defined.append(_definition(name, function, consumes, reads_only))
        return function

    return define


def _definition(
    name: str, function: Callable[..., Any], consumes: Sequence[str], reads_only: bool
) -> Definition:
    dialect, _, rest = name.partition(".")
    if not (dialect.isidentifier() and rest and rest.replace(".", "_").isidentifier()):
        raise usage_error(f"{name!r} is not an op name", "Names look like my.reverse.")
    consumes = (consumes,) if isinstance(consumes, str) else tuple(consumes)
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise usage_error(f"the annotations of {name} cannot be read: {error}", _ADVICE) from None
    operands, attributes, types, rewriter = [], [], [], None
    for parameter in inspect.signature(function).parameters.values():
        hint = hints.get(parameter.name)
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise usage_error(f"{name} takes *{parameter.name}; an op has a fixed number of operands", _ADVICE)
        if hint is Rewriter:
            rewriter = parameter.name
        elif parameter.kind is parameter.KEYWORD_ONLY:
            attributes.append(_attribute(name, parameter, hint))
            types.append(hint)
        else:
            kind = _kind(hint, f"the operand {parameter.name!r} of {name}")
            operands.append(OwnOperand(parameter.name, kind, parameter.name in consumes))
    for unknown in set(consumes) - {o.name for o in operands}:
        raise usage_error(f"{name} consumes {unknown!r}, which is none of its operands", _ADVICE)
    op = OwnOp(
        name,
        tuple(operands),
        tuple(attributes),
        _results(name, hints.get("return", type(None))),
        inspect.getdoc(function) or "",
        reads_only,
        function.__code__.co_filename,
        function.__code__.co_firstlineno,
    )
    return Definition(op, function, rewriter, tuple(types))


def _attribute(name: str, parameter: inspect.Parameter, hint: Any) -> OwnAttribute:
    if hint not in (int, float, bool, str, list[int], list[str], Any):
        raise usage_error(f"the attribute {parameter.name!r} of {name} has no type that is known", _ADVICE)
    spelled = hint.__name__ if isinstance(hint, type) and hint in (int, float, bool, str) else str(hint)
    default = None if parameter.default is parameter.empty else repr(parameter.default)
    return OwnAttribute(parameter.name, spelled.removeprefix("typing."), default)


def _results(name: str, hint: Any) -> tuple[HandleKind, ...]:
    if hint in (None, type(None)):
        return ()
    hints = typing.get_args(hint) if typing.get_origin(hint) is tuple else (hint,)
    return tuple([_kind(h, f"what {name} returns") for h in hints])


def _kind(hint: Any, what: str) -> HandleKind:
    for known, kind in ((Ops, "op"), (Values, "value"), (Params, "param")):
        if hint == known:
            return kind  # type: ignore[return-value]
    raise usage_error(f"{what} is annotated with none of Ops, Values, Params", _ADVICE)
