"""What a builder's function takes: the operands, patterns and attributes of an op under Python names."""

from __future__ import annotations

import functools
import inspect
import itertools
import keyword
from collections.abc import Mapping
from dataclasses import dataclass

from lhkit.model.op_catalogue import AttributeSpec, CatalogueOp, OperandSpec, RegionSpec, Role

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
    """A parameter of a builder's function.

    Attributes:
        name: Its name in Python: as the text of a schedule spells it where it does.
        operand: The operand it gives; with an attribute too, that for the entries not known beforehand.
        attribute: The attribute it gives.
        region: The region it gives: patterns, or the text of payload ops.
    """

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
        words = (
            f"one of {', '.join(c.name for c in spec.cases)}"
            if spec.cases
            else _KINDS.get(spec.kind, spec.kind)
        )
        mixed = ", or handles in their place" if self.operand is not None else ""
        ending = (
            ", required" if self.is_required else "" if spec.default is None else f", default {spec.default}"
        )
        return f"{words}{mixed}{ending}"


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
    """Return the word that stands before a list of sizes in the text of a schedule."""
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
    for p in positional:
        rest = p.takes_rest and p is positional[-1]
        kind = inspect.Parameter.VAR_POSITIONAL if rest else inspect.Parameter.POSITIONAL_OR_KEYWORD
        optional = not p.is_required and not rest
        listed.append(inspect.Parameter(p.name, kind, default=None if optional else inspect.Parameter.empty))
    listed = [*_required_first(listed)]
    for p in parameters:
        if not p.is_positional:
            default = inspect.Parameter.empty if p.is_required else p.attribute and p.attribute.default
            listed.append(inspect.Parameter(p.name, inspect.Parameter.KEYWORD_ONLY, default=default))
    if op.results:
        listed += [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=None) for n in RESERVED]
    if any(r.kind == "body" for r in op.regions):
        listed.append(inspect.Parameter(BODY_ARGUMENTS, inspect.Parameter.KEYWORD_ONLY, default=None))
    return inspect.Signature(listed)


def _required_first(parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
    """Return positional parameters in an order that Python takes; none of the ops needs another one."""
    optional = False
    for i, p in enumerate(parameters):
        needs = p.default is inspect.Parameter.empty and p.kind is not inspect.Parameter.VAR_POSITIONAL
        if needs and optional:
            parameters[i] = p.replace(default=None)
        optional = optional or not needs
    return parameters


def documentation_of(op: CatalogueOp) -> str:
    """Return the docstring of an op's function."""
    lines = [op.sentence or f"{op.name}.", ""]
    if arguments := parameters_of(op):
        lines += ["Args:", *(f"    {p.name}: {p.describe()}." for p in arguments)]
    if op.results:
        lines += ["    names: Names of the results, instead of automatic ones.", "    types: Their types."]
        lines += [
            "    results: How many there are, where that cannot be told from the arguments.",
            "",
            "Returns:",
        ]
        lines += [
            f"    {r.name}: {'any number' if r.count == 'many' else r.count}, {r.type}." for r in op.results
        ]
    lines += ["", op.documentation.strip()] if op.documentation.strip() else []
    return "\n".join(lines)
