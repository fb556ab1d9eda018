"""The ops of the catalogue as functions: families by the parts of their names, with help and completion."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from lhkit.compose.builder.building_places import error_here
from lhkit.compose.builder.parameters import PATTERN_ROLES, documentation_of, signature_of
from lhkit.model.errors import UsageError
from lhkit.model.op_catalogue import CatalogueOp
from lhkit.model.step_form import Form

if TYPE_CHECKING:
    from lhkit.compose.builder.schedule_builder import Builder


class UnknownOpError(UsageError, AttributeError):
    """There is no op of that name; an attribute error too, as Python expects of one that is not there."""


class OpFamily:
    """Ops whose names begin alike: ``s.structured``, ``s.apply_patterns``; callable where that is an op too."""

    def __init__(self, builder: Builder, path: str) -> None:
        self._builder = builder
        self._path = path
        self._op = _op_named(builder, path)
        self.__name__ = path.rpartition(".")[2]
        if self._op is not None:
            self.__doc__ = documentation_of(self._op)
            self.__signature__ = signature_of(self._op)
        elif path:
            self.__doc__ = f"Transform ops of {path}: {', '.join(self._members())}."

    def __getattr__(self, name: str) -> OpFamily:
        if name.startswith("_"):
            raise AttributeError(name)
        return member(self._builder, self._path, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._members()]

    def __repr__(self) -> str:
        return f"<transform.{self._path}{getattr(self, '__signature__', '')}>"

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Add a step, or return a pattern for one; see the op's own documentation."""
        if self._op is None:
            raise error_here(f"transform.{self._path} is no op", f"Its ops: {', '.join(self._members())}.")
        return self._builder.call(self._op, arguments, named)

    def _members(self) -> list[str]:
        return members(self._builder, self._path)


def _op_named(builder: Builder, path: str) -> CatalogueOp | None:
    # Ops of one's own stand under their own names.
    name = next((n for n in (f"transform.{path}", path) if n in builder.catalogue), "")
    if not path or not name:
        return None
    op = builder.catalogue.op(name)
    return None if op.role == "structural" else op


def members(builder: Builder, path: str) -> list[str]:
    """Return the next parts of the names of the ops of a family."""
    start = f"{path}." if path else ""
    names = [o.short_name for o in builder.catalogue.ops if o.role != "structural"]
    return sorted({n.removeprefix(start).partition(".")[0] for n in names if n.startswith(start)})


def member(builder: Builder, path: str, name: str) -> OpFamily:
    """Return a family or an op of a family.

    Raises:
        UnknownOpError: There is none; with the nearest names and the place in the caller's Python.
    """
    known = members(builder, path)
    if name in known:
        return OpFamily(builder, f"{path}.{name}" if path else name)
    where = f"transform.{path}" if path else "the builder"
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    near += [o.short_name for o in builder.catalogue.ops if o.name.endswith(f".{name}")][:3]
    advice = f"Near it: {', '.join(near)}." if near else f"There are {', '.join(known[:12])} …"
    raise UnknownOpError(error_here(f"{where} has no op {name!r}", advice).failure)


def is_pattern(op: CatalogueOp) -> bool:
    """Return True for what stands in a step that takes patterns, and is no step itself."""
    return op.role in PATTERN_ROLES.values()


def pattern_form(builder: Builder, kind: str, given: Any) -> Form:
    """Return the form of a pattern: one that was made by its function, or named by the end of its name.

    Raises:
        ValueError: There is no such pattern for that region.
    """
    role = PATTERN_ROLES[kind]
    if isinstance(given, OpFamily):
        given = given()
    if isinstance(given, Form):
        if builder.catalogue.op(given.op).role != role:
            raise ValueError(f"{given.op} is no {role}")
        return given
    known = {o.name: o for o in builder.catalogue.with_role(role)}
    for start in ("transform.apply_patterns.", "transform.apply_conversion_patterns.", "transform.", ""):
        if isinstance(given, str) and f"{start}{given}" in known:
            return Form(f"{start}{given}")
    short = [n.removeprefix("transform.").partition(".")[2] for n in known]
    near = difflib.get_close_matches(str(given), short, n=3, cutoff=0.5)
    raise ValueError(f"{given!r} is no {role}" + (f"; near it: {', '.join(near)}" if near else ""))
