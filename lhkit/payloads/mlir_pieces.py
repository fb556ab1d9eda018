"""Pieces of MLIR that the generators share."""

from __future__ import annotations

from lhkit.load.loader import load_payload
from lhkit.load.shipped_files import shipped_folder
from lhkit.model.errors import usage_error
from lhkit.model.payload import Payload

_FLOAT_TYPES = {"bfloat16": "bf16", "float16": "f16", "float32": "f32", "float64": "f64"}


def tensor(element_type: str, *shape: int | str) -> str:
    """Return a tensor type; an extent may be ``"?"``."""
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element_type}>"


def element_type(dtype: str, *extents: int) -> str:
    """Return MLIR's name of a float type, after checking the extents that go with it."""
    if dtype not in _FLOAT_TYPES:
        raise usage_error(f"no payload of {dtype!r}", f"Element types: {', '.join(_FLOAT_TYPES)}.")
    check_extents(*extents)
    return _FLOAT_TYPES[dtype]


def check_extents(*extents: int) -> None:
    """Raise a `UsageError` for extents below 1."""
    if wrong := [n for n in extents if n < 1]:
        raise usage_error(f"an extent of {wrong[0]}", "Extents are at least 1.")


def filled(name: str, type_: str, value: str, element: str) -> str:
    """Return the lines that make ``%name``, a new tensor filled with the scalar ``value``."""
    return (
        f"  %{name}_empty = tensor.empty() : {type_}\n"
        f"  %{name} = linalg.fill ins({value} : {element}) outs(%{name}_empty : {type_}) -> {type_}\n"
    )


def contraction(
    name: str, op: str, lhs: str, lhs_type: str, rhs: str, rhs_type: str, out: str, element: str
) -> str:
    """Return the lines that make ``%name``, a named contraction that starts from ``%zero``, in scope."""
    return filled(f"{name}_init", out, "%zero", element) + (
        f"  %{name} = linalg.{op} ins({lhs}, {rhs} : {lhs_type}, {rhs_type})"
        f" outs(%{name}_init : {out}) -> {out}\n"
    )


def elementwise(name: str, op: str, type_: str, *operands: str) -> str:
    """Return the lines that make ``%name`` with a named elementwise op on operands of one type."""
    types = ", ".join([type_] * len(operands))
    return (
        f"  %{name}_empty = tensor.empty() : {type_}\n"
        f"  %{name} = linalg.{op} ins({', '.join(operands)} : {types})"
        f" outs(%{name}_empty : {type_}) -> {type_}\n"
    )


def broadcast(name: str, operand: str, from_type: str, to_type: str, dimension: int) -> str:
    """Return the lines that make ``%name``: an operand repeated along a new dimension."""
    return (
        f"  %{name}_empty = tensor.empty() : {to_type}\n"
        f"  %{name} = linalg.broadcast ins({operand} : {from_type}) outs(%{name}_empty : {to_type})"
        f" dimensions = [{dimension}]\n"
    )


def function(name: str, arguments: dict[str, str], result: str, body: str, comment: str) -> str:
    """Return a function with a comment above; its body ends with a return."""
    listed = ", ".join(f"%{n}: {t}" for n, t in arguments.items())
    return f"// {comment}\nfunc.func @{name}({listed}) -> {result} {{\n{body}}}\n"


def generate(name: str, text: str, sizes: str) -> Payload:
    """Return the loaded payload of a generator, with its reference."""
    reference = f"{shipped_folder('data') / 'references.py'}:{name}"
    return load_payload(text, name=f"<{name} {sizes}>", reference=reference)
