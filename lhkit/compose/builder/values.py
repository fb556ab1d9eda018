"""Python values as attributes of transform ops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lhkit.compose.builder.blocks import BuiltHandle, BuiltSequence
from lhkit.model.op_catalogue import AttributeSpec
from lhkit.model.step_form import AttributeValue, Items, Scalar, TypedName
from lhkit.text.naming import is_handle_name

_TYPES = {"op": "!transform.any_op", "value": "!transform.any_value", "param": "!transform.param<i64>"}
_LISTS = {"ints": "integers", "bools": "True and False", "strings": "strings", "types": "types",
          "symbols": "named sequences", "attributes": "attributes"}  # fmt: skip


def type_text(text: object) -> str:
    """Return a type of a handle: ``op``, ``value``, ``param``, an op's name, or MLIR text.

    Raises:
        ValueError: It is none of them.
    """
    if not isinstance(text, str) or not text:
        raise ValueError(f"{text!r} is no type: 'op', 'value', 'param', the name of an op, or MLIR text")
    return _TYPES.get(text) or (text if text.startswith("!") else f'!transform.op<"{text}">')


def attribute_data(value: Any, spec: AttributeSpec) -> tuple[AttributeValue, tuple[BuiltHandle, ...]]:
    """Return what a Python value is as an attribute, and the handles that stand in it.

    Raises:
        ValueError: It is no value of that attribute; the message says what would be one.
    """
    if spec.kind == "dictionary":
        return _dictionary(value)
    if spec.kind == "int" and spec.dynamic and isinstance(value, BuiltHandle):
        return None, (value,)
    if spec.kind == "ints" and spec.dynamic:
        entries = _items(value, "integers and handles")
        sizes = tuple(None if isinstance(e, BuiltHandle) else _integer(e) for e in entries)
        return sizes, tuple(e for e in entries if isinstance(e, BuiltHandle))
    if spec.kind == "int-lists":
        return tuple(
            tuple(map(_integer, _items(v, "integers"))) for v in _items(value, "lists of integers")
        ), ()
    if spec.kind in _LISTS:
        return tuple(_scalar(v, spec.kind) for v in _items(value, _LISTS[spec.kind])), ()
    if spec.kind == "enum":
        if value not in [c.name for c in spec.cases]:
            raise ValueError(f"{value!r} is none of {', '.join(c.name for c in spec.cases)}")
        return str(value), ()
    return _scalar(value, spec.kind), ()


def _items(value: Any, what: str) -> Sequence[Any]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
        raise ValueError(f"{_shown(value)} is no list of {what}")
    return value


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ValueError(f"{_shown(value)} is no integer")
    return int(value.__index__())


def _shown(value: Any) -> str:
    return f"the handle {value}" if isinstance(value, BuiltHandle) else repr(value)


def _scalar(value: Any, kind: str) -> Scalar:
    if kind in ("flag", "bool", "bools"):
        if not isinstance(value, bool):
            raise ValueError(f"{_shown(value)} is neither True nor False")
        return value
    if kind in ("int", "ints"):
        return _integer(value)
    if kind in ("symbol", "symbols"):
        name = value.name if isinstance(value, BuiltSequence) else value
        if not isinstance(name, str):
            raise ValueError(f"{_shown(value)} is neither a named sequence nor a name")
        return f"@{name.removeprefix('@')}"
    if kind in ("any", "attributes") and not isinstance(value, str):
        return mlir_text(value)
    if not isinstance(value, str):
        raise ValueError(f"{_shown(value)} is no string")
    return value


def mlir_text(value: Any) -> str:
    """Return a Python value as an attribute in MLIR's syntax; a string is taken as such text.

    Raises:
        ValueError: There is no spelling for it.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:e} : f64"
    if isinstance(value, list | tuple):
        return f"[{', '.join(str(v) if type(v) is int else mlir_text(v) for v in value)}]"
    return f"{_integer(value)} : i64"


def _dictionary(value: Any) -> tuple[AttributeValue, tuple[BuiltHandle, ...]]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{_shown(value)} is no dictionary")
    entries: list[Items] = []
    handles: list[BuiltHandle] = []
    for name, entry in value.items():
        if isinstance(entry, BuiltHandle):
            entries.append((str(name), f"#transform.param_operand<index = {len(handles)} : i64>"))
            handles.append(entry)
        else:
            entries.append((str(name), mlir_text(entry)))
    return tuple(entries), tuple(handles)


def typed(handles: Sequence[BuiltHandle]) -> tuple[TypedName, ...]:
    """Return handles as forms hold them."""
    return tuple(h.typed for h in handles)


def handle_name(name: object) -> str:
    """Return the name of a handle with ``%``.

    Raises:
        ValueError: It cannot be one.
    """
    text = f"%{str(name).removeprefix('%')}"
    if not is_handle_name(text):
        raise ValueError(f"{name!r} cannot be a handle's name: letters, digits and _, no digit first")
    return text
