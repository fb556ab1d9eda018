"""Functions for the ops of the catalogue, in namespaces by op name, with help and completion."""

from __future__ import annotations

import difflib
import functools
import inspect
import itertools
import keyword
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lhkit.compose.builder.blocks import Block, error_here
from lhkit.model.errors import UsageError
from lhkit.model.op_catalogue import AttributeSpec, Catalogue, CatalogueOp, OperandSpec, RegionSpec, Role
from lhkit.model.step_form import Form


class Caller(Protocol):
    """What op functions need of the builder that they add steps to."""

    catalogue: Catalogue

    @property
    def block(self) -> Block:
        """The block that steps are added to."""
        ...

    def call(self, op: CatalogueOp, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Add a step and return its results."""
        ...


# What a builder's function takes: the operands, patterns and attributes of an op under Python names.


PATTERN_ROLES: Mapping[str, Role] = {
    "patterns": "pattern",
    "conversion-patterns": "conversion-pattern",
    "type-converter": "type-converter",
}
BUILT_REGIONS = ("body", "alternatives")
RESERVED = ("names", "types", "results")
BODY_ARGUMENTS = "arguments"
FAILURES = "failure_propagation_mode"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a builder's function; beside an attribute, ``operand`` takes its dynamic entries."""

    name: str
    operand: OperandSpec | None = None
    attribute: AttributeSpec | None = None
    region: RegionSpec | None = None

    @property
    def is_positional(self) -> bool:
        """True if it need not be named."""
        return self.attribute is None

    @property
    def takes_rest(self) -> bool:
        """True if it takes any number of handles."""
        return self.attribute is None and self.operand is not None and self.operand.count == "many"

    @property
    def is_required(self) -> bool:
        """True if the op does not go without it."""
        if self.attribute is not None:
            return self.attribute.is_required and self.attribute.name != FAILURES
        if self.operand is not None:
            return self.operand.count == "one"
        return self.region is not None and self.region.count == "one"

    def describe(self) -> str:
        """Return what it takes, in words."""
        spec = self.attribute
        if spec is None and self.operand is not None:
            what = " or ".join(self.operand.kinds)
            many = {"one": f"{what} handle", "optional": f"{what} handle, may be left out"}
            return many.get(self.operand.count, f"{what} handles") + (
                ", consumed" * bool(self.operand.is_consumed)
            )
        if spec is None:
            return "the text of its ops" if self.region and self.region.kind == "payload" else "patterns"
        words = _KINDS.get(spec.kind, spec.kind)
        if spec.cases:
            words = f"one of {', '.join(c.name for c in spec.cases)}"
        if self.operand is not None:
            words += ", or handles in their place"
        if self.is_required:
            return f"{words}, required"
        return words if spec.default is None else f"{words}, default {spec.default}"


_KINDS = {
    "flag": "True or False",
    "bool": "True or False",
    "int": "an integer",
    "string": "a string",
    "enum": "a word",
    "type": "a type",
    "symbol": "a named sequence or @name",
    "any": "an attribute",
    "ints": "a list of integers",
    "bools": "a list of True and False",
    "strings": "a list of strings",
    "types": "a list of types",
    "symbols": "a list of named sequences",
    "attributes": "a list of attributes",
    "int-lists": "a list of lists of integers",
    "dictionary": "a dictionary",
}


@functools.lru_cache(maxsize=512)
def parameters_of(op: CatalogueOp) -> tuple[Parameter, ...]:
    """Return the parameters of an op: operands, patterns, then attributes, as the dialect orders them."""
    operands = {o.name: o for o in op.operands}
    mixed = {a.dynamic for a in op.attributes if a.dynamic}
    hidden = {"dynamic_options"} if op.attribute("options") else set()
    found = [Parameter(o.name, operand=o) for o in op.operands if o.name not in mixed | hidden]
    found += [Parameter(r.name, region=r) for r in op.regions if r.kind not in BUILT_REGIONS]
    for a in op.attributes:
        name = FAILURES_NAME if a.name == FAILURES else _spelled(op, a) if a.dynamic else a.name
        name += "_" * keyword.iskeyword(name)
        found.append(Parameter(name, operand=operands.get(a.dynamic or ""), attribute=a))
    return tuple(found)


FAILURES_NAME = "failures"


def _spelled(op: CatalogueOp, spec: AttributeSpec) -> str:
    """Return the keyword before a list of sizes in the text of a schedule."""
    pieces = op.assembly.pieces if op.assembly else ()
    for before, piece in itertools.pairwise(pieces):
        if piece.kind == "attribute" and piece.text == spec.name and before.kind == "text":
            word = before.text.replace("=", "").strip()
            if word.isidentifier():
                return word
    return spec.name.removeprefix("static_")


def signature_of(op: CatalogueOp) -> inspect.Signature:
    """Return the signature of an op's function, for completion and help."""
    parameters = parameters_of(op)
    positional = [p for p in parameters if p.is_positional]
    listed = []
    has_optional = False  # Python takes no required parameter behind an optional one; no op needs it
    for p in positional:
        if p.takes_rest and p is positional[-1]:
            listed.append(inspect.Parameter(p.name, inspect.Parameter.VAR_POSITIONAL))
            continue
        has_optional = has_optional or not p.is_required
        nothing = None if has_optional else inspect.Parameter.empty
        listed.append(inspect.Parameter(p.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=nothing))
    for p in parameters:
        if not p.is_positional:
            default = inspect.Parameter.empty if p.is_required else p.attribute and p.attribute.default
            listed.append(inspect.Parameter(p.name, inspect.Parameter.KEYWORD_ONLY, default=default))
    if op.results:
        listed += [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=None) for n in RESERVED]
    if any(r.kind == "body" for r in op.regions):
        listed.append(inspect.Parameter(BODY_ARGUMENTS, inspect.Parameter.KEYWORD_ONLY, default=None))
    return inspect.Signature(listed)


def documentation_of(op: CatalogueOp) -> str:
    """Return the docstring of an op's function."""
    lines = [op.sentence or f"{op.name}.", ""]
    if arguments := parameters_of(op):
        lines += ["Args:", *(f"    {p.name}: {p.describe()}." for p in arguments)]
    if op.results:
        lines += ["    names: Names of the results, instead of automatic ones.", "    types: Their types."]
        lines.append("    results: How many there are, where that cannot be told from the arguments.")
        lines += ["", "Returns:"]
        for r in op.results:
            lines.append(f"    {r.name}: {'any number' if r.count == 'many' else r.count}, {r.type}.")
    lines += ["", op.documentation.strip()] if op.documentation.strip() else []
    return "\n".join(lines)


class UnknownOpError(UsageError, AttributeError):
    """There is no op of that name; an attribute error too, as Python expects of one that is not there."""


class OpFamily:
    """Ops whose names begin alike: ``s.structured``, ``s.apply_patterns``; callable where that is an op too."""

    def __init__(self, builder: Caller, path: str) -> None:
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
            raise error_here(f"transform.{self._path} is not an op", f"Its ops: {', '.join(self._members())}.")
        return self._builder.call(self._op, arguments, named)

    def _members(self) -> list[str]:
        return members(self._builder, self._path)


def _op_named(builder: Caller, path: str) -> CatalogueOp | None:
    # User-defined ops have their own namespaces.
    name = next((n for n in (f"transform.{path}", path) if n in builder.catalogue), "")
    if not path or not name:
        return None
    op = builder.catalogue.op(name)
    return None if op.role == "structural" else op


def members(builder: Caller, path: str) -> list[str]:
    """Return the next parts of the names of the ops of a family."""
    start = f"{path}." if path else ""
    names = [o.short_name for o in builder.catalogue.ops if o.role != "structural"]
    return sorted({n.removeprefix(start).partition(".")[0] for n in names if n.startswith(start)})


def member(builder: Caller, path: str, name: str) -> OpFamily:
    """Return a family or an op of a family."""
    known = members(builder, path)
    if name in known:
        return OpFamily(builder, f"{path}.{name}" if path else name)
    where = f"transform.{path}" if path else "the builder"
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    near += [o.short_name for o in builder.catalogue.ops if o.name.endswith(f".{name}")][:3]
    advice = f"Near it: {', '.join(near)}." if near else f"There are {', '.join(known[:12])} …"
    raise UnknownOpError(error_here(f"{where} has no op {name!r}", advice).failure)


def is_pattern(op: CatalogueOp) -> bool:
    """Return True for pattern ops, which are nested in a step and are no steps."""
    return op.role in PATTERN_ROLES.values()


def pattern_form(builder: Caller, kind: str, given: Any) -> Form:
    """Return the form of a pattern: one that was made by its function, or named by the end of its name."""
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
