"""Questions to the compiler about transform ops: instances in generic syntax, right and wrong on purpose."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lhkit.compiler.catalogue.op_classes import Skeleton
from lhkit.compiler.ir.bindings import ir
from lhkit.model.op_catalogue import HandleKind, Role
from lhkit.model.step_form import STRUCTURE, TypedName, generic_text

ANY_OP, ANY_VALUE, ANY_PARAM = "!transform.any_op", "!transform.any_value", "!transform.param<i64>"
_MATCHED = "%operand_handle"
SCRATCH = TypedName("%scratch", ANY_OP)
TYPES = {"op": ANY_OP, "value": ANY_VALUE, "param": ANY_PARAM}
_MOST_ATTEMPTS = 16
_COMPLAINT = re.compile(
    r"(operand|result) #(\d+) must be (.*), but got|(requires) attribute '(\w+)'"
    r"|attribute '(\w+)' (failed) to satisfy constraint: (.*)|attribute `(\w+)` in property (conversion)"
)
_NARROW = re.compile(r"Transform IR handle to (\S+) operations")
_PREFIX = re.compile(r"^(variadic of|optional) ")
# What stands beside the scratch sequence, for ops that refer to named sequences.
_NEIGHBOURS = """
  transform.named_sequence @matcher(%x: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.yield %x : !transform.any_op
  }
  transform.named_sequence @action(%x: !transform.any_op {transform.readonly}) {
    transform.yield
  }"""
_CONVERT = "transform.apply_conversion_patterns to %scratch"
_AROUND = {
    "step": "{}",
    "structural": "{}",
    "pattern": "transform.apply_patterns to %scratch {{\n{}\n}} : !transform.any_op",
    "conversion-pattern": f"{_CONVERT} {{{{\n{{}}\n}}}} : !transform.any_op",
    "structure-matcher": "transform.match.structured %scratch : !transform.any_op {{\n"
    "^bb0(%structure: !transform.any_op):\n{}\ntransform.match.structured.yield\n}}",
    "type-converter": f"{_CONVERT} {{{{\n}}}} with type_converter {{{{\n{{}}\n}}}} : !transform.any_op",
}  # fmt: skip


def role_of(name: str) -> Role:
    """Return where an op may stand, which its name says."""
    if name.startswith("transform.match.structured."):
        return "structure-matcher"
    if name.startswith("transform.apply_conversion_patterns."):
        return "type-converter" if name.endswith("type_converter") else "conversion-pattern"
    if name.startswith(("transform.apply_patterns.", "transform.type_conversion.")):
        return "pattern" if name.startswith("transform.apply_patterns.") else "type-converter"
    return "step"


def scratch_text(line: str, role: str, arguments: Sequence[TypedName]) -> str:
    """Return a module whose last sequence holds one op, written as ``line``, where its role lets it stand."""
    outside = dict.fromkeys(a for a in (SCRATCH, *arguments) if a != STRUCTURE)
    listed = ", ".join(f"{a.name}: {a.type}" for a in outside)
    body = _AROUND[role].format(line)
    sequence = f"  transform.named_sequence @form({listed}) {{\n{body}\ntransform.yield\n  }}"
    return f"module attributes {{transform.with_named_sequence}} {{{_NEIGHBOURS}\n{sequence}\n}}\n"


def neighbours_text() -> str:
    """Return the module of `scratch_text` without its last sequence."""
    return f"module attributes {{transform.with_named_sequence}} {{{_NEIGHBOURS}\n}}\n"


def scratch_op(module: Any, role: str) -> Any:
    """Return the op that `scratch_text` was given, of its parsed text."""
    sequence = list(module.body.operations)[-1]
    op = sequence.operation.regions[0].blocks[0].operations[0].operation
    if role in ("step", "structural"):
        return op
    return next(o.operation for region in op.regions for block in region.blocks for o in block.operations)


def complaint(text: str) -> str | None:
    """Return what the compiler says of a text first, or None if it parses and verifies."""
    try:
        ir.Module.parse(text)
    except ir.MLIRError as error:
        return str(error.error_diagnostics[0].message)
    return None


@dataclass
class Trial:
    """An instance of an op in the making.

    Attributes:
        skeleton: The op.
        types: For each group of operands and results that is there, by name, the types of its values.
        attributes: Attributes as text.
        regions: The texts of its regions.
    """

    skeleton: Skeleton
    types: dict[str, list[str]] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    regions: list[str] = field(default_factory=list)

    def with_changes(self, *, types: Mapping[str, list[str]] = {}, attributes: Mapping[str, str] = {}) -> Trial:
        """Return a copy with other types of some groups and other attributes."""
        return Trial(self.skeleton, {**self.types, **types}, {**self.attributes, **attributes}, self.regions)

    def groups(self) -> tuple[list[list[TypedName]], list[list[TypedName]]]:
        """Return the operands and the results, grouped, with names."""
        skeleton = self.skeleton
        taken = {a.name for a in skeleton.operands}
        made = [f"%new_{a.name}" if a.name in taken else f"%{a.name}" for a in skeleton.results]
        given = [_named(f"%{a.name}", self.types.get(a.name, [])) for a in skeleton.operands]
        if (
            role_of(skeleton.name) == "structure-matcher"
            and given
            and given[0] == [TypedName(_MATCHED, ANY_OP)]
        ):
            given[0] = [STRUCTURE]
        return (
            given,
            [_named(n, self.types.get(f"->{a.name}", [])) for n, a in zip(made, skeleton.results, strict=True)],
        )

    def text(self) -> str:
        """Return the module around the instance."""
        operands, results = self.groups()
        line = generic_text(
            self.skeleton.name,
            operands,
            self.attributes,
            results,
            self.regions,
            segments=self.skeleton.segments,
        )
        return scratch_text(line, role_of(self.skeleton.name), [v for group in operands for v in group])

    def complaint(self) -> str | None:
        """Return what the compiler has against the instance, or None."""
        return complaint(self.text())


def _named(name: str, types: Sequence[str]) -> list[TypedName]:
    return [TypedName(name if len(types) == 1 else f"{name}_{i}", t) for i, t in enumerate(types)]


def first_trial(skeleton: Skeleton, regions: Sequence[str]) -> Trial:
    """Return the instance that gives only what there is one of."""
    types = {a.name: [ANY_OP] for a in skeleton.operands if a.count == "one"}
    types |= {f"->{a.name}": [ANY_OP] for a in skeleton.results if a.count == "one"}
    # MLIR's printer crashes where a list with entries that are operands is not there at all.
    lists = {n: _EMPTY[cls] for n, cls in skeleton.attributes if is_always_written(skeleton, n, cls)}
    return Trial(skeleton, types, lists, regions=list(regions))


_EMPTY = {"DenseI64ArrayAttr": "array<i64>", "DenseBoolArrayAttr": "array<i1>"}


def is_always_written(skeleton: Skeleton, attribute: str, cls: str) -> bool:
    """Return True for lists that may be empty but must be there: of sizes, and of which sizes are scalable."""
    return cls == "DenseBoolArrayAttr" or (cls in _EMPTY and dynamic_of(skeleton, attribute) is not None)


def dynamic_of(skeleton: Skeleton, attribute: str) -> str | None:
    """Return the operand that holds the entries of a static list that are not static, if there is one."""
    bare = attribute.removeprefix("static_")
    operands = [o.name for o in skeleton.operands]
    return next((n for n in (bare, f"dynamic_{bare}") if bare != attribute and n in operands), None)


def settle(trial: Trial) -> str | None:
    """Change a trial as the compiler's complaints say until there is none; return the one that remains."""
    for _ in range(_MOST_ATTEMPTS):
        message = trial.complaint()
        if message is None:
            return None
        match = _COMPLAINT.search(message)
        if match is None or not _follow(trial, match):
            return message
    return message


def _follow(trial: Trial, match: re.Match[str]) -> bool:
    """Do what a complaint asks for; False if nothing new is known to do."""
    if match[1]:
        return _retype(trial, match[1], int(match[2]), match[3])
    name = match[5] or match[6] or match[9]
    if match[4]:
        trial.attributes[name] = _first_value(trial.skeleton, name)
        return True
    better = _value_for(match[8] or "", trial.attributes.get(name, ""))
    if better is None or trial.attributes.get(name) == better:
        return False
    trial.attributes[name] = better
    return True


def _retype(trial: Trial, side: str, number: int, constraint: str) -> bool:
    new = type_for(constraint)
    arguments = trial.skeleton.operands if side == "operand" else trial.skeleton.results
    arrow = "" if side == "operand" else "->"
    for argument in arguments:
        types = trial.types.get(arrow + argument.name, [])
        if number < len(types):
            if types[number] == new:
                return False
            types[number] = new
            return True
        number -= len(types)
    return False


def kinds_of(constraint: str) -> tuple[HandleKind, ...]:
    """Return which kinds of handles a constraint of the compiler allows."""
    if "any transform handle or parameter" in constraint:
        return ("op", "value", "param")
    if "any param type or any handle type" in constraint:
        return ("op", "param")
    if "TransformHandleTypeInterface" in constraint or _NARROW.search(constraint):
        return ("op", "value") if "TransformValueHandle" in constraint else ("op",)
    if "TransformValueHandle" in constraint:
        return ("value",)
    return ("param",) if "Param" in constraint else ("op", "value", "param")


def type_for(constraint: str) -> str:
    """Return a type that fits a constraint of the compiler."""
    if narrow := _NARROW.search(constraint):
        return f'!transform.op<"{narrow[1]}">'
    return TYPES[kinds_of(constraint)[0]]


_FIRST = {
    "IntegerAttr": "1 : i64",
    "BoolAttr": "true",
    "StringAttr": '"text"',
    "SymbolRefAttr": "@matcher",
    "DictAttr": "{}",
    "TypeAttr": "i64",
    "DenseI64ArrayAttr": "array<i64: 0>",
    "DenseI32ArrayAttr": "array<i32: 0>",
    "DenseBoolArrayAttr": "array<i1: true>",
    "ArrayAttr": "[]",
    "Attribute": "1 : i32",
    "flag": "unit",
}


def _first_value(skeleton: Skeleton, name: str) -> str:
    return _FIRST[dict(skeleton.attributes)[name]]


def _value_for(constraint: str, given: str) -> str | None:
    """Return a value for an attribute that was refused, or None if nothing is known."""
    if "32-bit signless" in constraint:
        return "1 : i32"
    if exact := re.search(r"i64 dense array attribute with exactly (\d+) elements", constraint):
        return f"array<i64: {', '.join(['1'] * int(exact[1]))}>"
    return "1 : i64" if given == "1 : i32" else None


def required_attributes(trial: Trial) -> tuple[str, ...]:
    """Return the attributes of a valid instance without which the compiler refuses it."""
    required = []
    for name in trial.attributes:
        attributes = {n: text for n, text in trial.attributes.items() if n != name}
        message = dataclasses.replace(trial, attributes=attributes).complaint() or ""
        if f"requires attribute '{name}'" in message:
            required.append(name)
    return tuple(required)


def ask_constraints(trial: Trial) -> dict[str, str]:
    """Return the compiler's words for what it asks of operands, results (``->name``) and attributes.

    Each is given what cannot be right, alone, in an instance that is right otherwise.
    """
    asked: dict[str, str] = {}
    for arrow, arguments in (("", trial.skeleton.operands), ("->", trial.skeleton.results)):
        for argument in arguments:
            key = arrow + argument.name
            message = trial.with_changes(
                types={key: ["i1"] * max(1, len(trial.types.get(key, [])))}
            ).complaint()
            match = _COMPLAINT.search(message or "")
            if match and match[1]:
                asked[key] = _PREFIX.sub("", match[3])
    for name, kind in trial.skeleton.attributes:
        for wrong in _WRONG.get(kind, ()):
            match = _COMPLAINT.search(trial.with_changes(attributes={name: wrong}).complaint() or "")
            if match and (match[6] or match[9]) == name:
                asked[name] = match[8] or "conversion"
                break
    return asked


_WRONG = {
    "IntegerAttr": ("-7 : i3", "-7 : i64", "-7 : i32"),
    "ArrayAttr": ("[unit]", "[[unit]]"),
    "Attribute": ("unit",),
    "DenseI64ArrayAttr": ("array<i64: -7, -7>",),
}
