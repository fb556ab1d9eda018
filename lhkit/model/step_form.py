"""Forms of steps as data, and their generic syntax."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Scalar = bool | int | float | str | None
Items = tuple[Scalar, ...]
# None inside a list of integers is a placeholder for the next operand.
AttributeValue = Scalar | tuple[Scalar | Items, ...]

# What the dialect writes for a size that is given as an operand.
DYNAMIC = -(1 << 63)
_OP_TYPE = re.compile(r'!transform\.op<"([^"]+)">')


def op_of_type(type_: str) -> str | None:
    """Return the op name in a handle type ``!transform.op<"…">``, None for other types."""
    match = _OP_TYPE.search(type_)
    return match[1] if match else None


@dataclass(frozen=True, slots=True)
class TypedName:
    """An SSA value as it is written: ``%loop`` of type ``!transform.any_op``."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class FormBlock:
    """The body of a region."""

    arguments: tuple[TypedName, ...] = ()
    steps: tuple[Form, ...] = ()
    text: str = ""  # The ops in generic syntax instead, where they are not transform ops


@dataclass(frozen=True, slots=True)
class Form:
    """One transform op with everything that it is given."""

    op: str
    # For each operand of the catalogue that is given: its name there and the values
    operands: tuple[tuple[str, tuple[TypedName, ...]], ...] = ()
    # For each attribute that differs from its default: its name and the value as data
    attributes: tuple[tuple[str, AttributeValue], ...] = ()
    # For each result of the catalogue that there is: its name there and the values
    results: tuple[tuple[str, tuple[TypedName, ...]], ...] = ()
    regions: tuple[FormBlock, ...] = ()

    @property
    def operand_values(self) -> tuple[TypedName, ...]:
        """All operands in order."""
        return tuple(v for _, values in self.operands for v in values)

    @property
    def result_values(self) -> tuple[TypedName, ...]:
        """All results in order."""
        return tuple(v for _, values in self.results for v in values)


@dataclass(frozen=True, slots=True)
class WrittenForm:
    """A step of a schedule as a form."""

    form: Form
    text: str
    sequence: str
    line: int
    column: int


# The argument of the body of ``transform.match.structured``, to which its conditions apply.
STRUCTURE = TypedName("%structure", "!transform.any_op")


def left_side(names: Sequence[str]) -> str:
    """Return the names of an op's results as written before the ``=``: ``%tiled, %loops:2``."""
    parts: list[list[str]] = []
    for name in names:
        prefix, _, number = name.partition("#")
        if number not in ("", "0") and parts and parts[-1][0] == f"{prefix}#0":
            parts[-1].append(name)
        else:
            parts.append([name])
    return ", ".join(p[0] if "#" not in p[0] else f"{p[0].partition('#')[0]}:{len(p)}" for p in parts)


def attribute_text(value: AttributeValue, kind: str, storage: str) -> str:
    """Return an attribute's value in MLIR's syntax."""
    if kind == "flag" and value is True:
        return "unit"
    if kind in _LISTS and isinstance(value, tuple):
        return _list_text(value, kind, storage)
    text = _scalar_text(value, kind, f"a value of kind {kind}")
    return f"{text} : {storage}" if kind == "int" else text


def _scalar_text(value: object, kind: str, expected: str) -> str:
    """Return a value without its type; ``expected`` says in the error what it is not."""
    match kind, value:
        case "bool", bool():
            return str(value).lower()
        case "int", int() if not isinstance(value, bool):
            return str(value)
        case "string", str():
            return quoted(value)
        case "type" | "symbol" | "enum" | "any" | "attribute", str():
            return value
    raise ValueError(f"{value!r} is not {expected}")


def quoted(value: object) -> str:
    """Return a value as a string of MLIR: between quotes, what would end or change it escaped."""
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c >= " " and c != "\x7f" else f"\\{ord(c):02X}" for c in escaped) + '"'


def _list_text(value: Sequence[object], kind: str, storage: str) -> str:
    if kind == "int-lists":
        return f"[{', '.join(_list_text(_tuple(v), 'ints', '[i64]') for v in value)}]"
    if kind == "dictionary":
        return f"{{{', '.join(f'{_key(name)} = {text}' for name, text in map(_tuple, value))}}}"
    if kind == "ints":
        value = [DYNAMIC if v is None else v for v in value]
    items = [_scalar_text(v, kind[:-1], f"allowed in a list of kind {kind}") for v in value]
    if storage.startswith("array<"):
        return f"{storage[:-1]}{': ' if items else ''}{', '.join(items)}>"
    typed = f" : {storage[1:-1]}" if kind == "ints" else ""
    return f"[{', '.join(item + typed for item in items)}]"


def _key(name: object) -> str:
    return str(name) if re.fullmatch(r"[A-Za-z_][\w$.]*", str(name)) else quoted(name)


def _tuple(value: object) -> tuple[object, ...]:
    if not isinstance(value, tuple):
        raise ValueError(f"{value!r} is not a list")
    return value


_LISTS = frozenset(("ints", "bools", "strings", "types", "symbols", "attributes", "int-lists", "dictionary"))


def generic_text(
    name: str,
    operands: Sequence[Sequence[TypedName]],
    properties: Mapping[str, str],
    results: Sequence[Sequence[TypedName]],
    regions: Sequence[str] = (),
    *,
    segments: tuple[bool, bool] = (False, False),
) -> str:
    """Return an op in MLIR's generic syntax."""
    properties = dict(properties)
    for asked, groups, key in zip(segments, (operands, results), ("operand", "result"), strict=True):
        if asked:
            sizes = ", ".join(str(len(group)) for group in groups)
            properties[f"{key}SegmentSizes"] = f"array<i32: {sizes}>"
    given = [v for group in operands for v in group]
    made = [v for group in results for v in group]
    text = f"{left_side([v.name for v in made])} = " if made else ""
    text += f'"{name}"({", ".join(v.name for v in given)})'
    listed = ", ".join(f"{k} = {v}" for k, v in properties.items())
    # Ops that are defined in Python have no properties: their attributes are in the op's dictionary.
    has_properties = name.startswith("transform.")
    if listed and has_properties:
        text += f" <{{{listed}}}>"
    if regions:
        text += f" ({', '.join(regions)})"
    if listed and not has_properties:
        text += f" {{{listed}}}"
    return f"{text} : ({', '.join(v.type for v in given)}) -> ({', '.join(v.type for v in made)})"
