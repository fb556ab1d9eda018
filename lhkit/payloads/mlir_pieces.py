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


class FunctionText:
    """The text of a function: its lines, and the type of each value by name; ``element`` is that of scalars."""

    def __init__(self, element: str, **arguments: str) -> None:
        self.element = element
        self.types = dict(arguments)
        self._arguments = ", ".join(f"%{name}: {type_}" for name, type_ in arguments.items())
        self._lines: list[str] = []

    def define(self, name: str, type_: str, text: str) -> None:
        """Add ``%name``, what an op returns."""
        self.types[name] = type_
        self._lines.append(f"  %{name} = {text}")

    def constant(self, name: str, value: object = "0.0") -> None:
        """Add a scalar."""
        self.define(name, self.element, f"arith.constant {value} : {self.element}")

    def sizes(self, rows_of: str, columns_of: str) -> None:
        """Add ``%m`` and ``%n``, the extents of new tensors of any size."""
        for number in (0, 1):
            self.define(f"c{number}", "index", f"arith.constant {number} : index")
        self.define("m", "index", f"tensor.dim %{rows_of}, %c0 : {self.types[rows_of]}")
        self.define("n", "index", f"tensor.dim %{columns_of}, %c1 : {self.types[columns_of]}")

    def op(
        self, name: str, op: str, operands: tuple[str, ...], into: str, type_: str, end: str | None = None
    ) -> None:
        """Add the result of a linalg op that writes into another value."""
        values, types = ", ".join(f"%{o}" for o in operands), ", ".join(self.types[o] for o in operands)
        end = f"-> {type_}" if end is None else end
        self.define(name, type_, f"linalg.{op} ins({values} : {types}) outs(%{into} : {type_}) {end}")

    def new(self, name: str, op: str, operands: tuple[str, ...], type_: str, end: str | None = None) -> None:
        """Add the result of a linalg op that writes into a new tensor."""
        extents = "%m, %n" if "?" in type_ else ""
        self.define(f"{name}_empty", type_, f"tensor.empty({extents}) : {type_}")
        self.op(name, op, operands, f"{name}_empty", type_, end)

    def filled(self, name: str, type_: str, value: str) -> None:
        """Add a new tensor filled with a scalar."""
        self.new(name, "fill", (value,), type_)

    def contraction(self, name: str, op: str, lhs: str, rhs: str, type_: str) -> None:
        """Add a named contraction that starts from ``%zero``."""
        self.filled(f"{name}_init", type_, "zero")
        self.op(name, op, (lhs, rhs), f"{name}_init", type_)

    def elementwise(self, name: str, op: str, *operands: str) -> None:
        """Add a named elementwise op on operands of one type."""
        self.new(name, op, operands, self.types[operands[0]])

    def broadcast(self, name: str, operand: str, type_: str, dimension: int) -> None:
        """Add an operand repeated along a new dimension."""
        self.new(name, "broadcast", (operand,), type_, f"dimensions = [{dimension}]")

    def reduced(self, name: str, op: str, operand: str, type_: str, start: str) -> None:
        """Add each row of an operand reduced with an op."""
        self.filled(f"{name}_init", type_, start)
        self.op(name, f"reduce {{ {op} }}", (operand,), f"{name}_init", type_, "dimensions = [1]")

    def payload(self, name: str, sizes: str, comment: str, *results: str) -> Payload:
        """Return the function that returns these values, with a comment above, and its reference, loaded."""
        values, types = ", ".join(f"%{r}" for r in results), ", ".join(self.types[r] for r in results)
        returned = types if len(results) == 1 else f"({types})"
        lines = "\n".join([*self._lines, f"  return {values} : {types}"])
        text = f"// {comment}\nfunc.func @{name}({self._arguments}) -> {returned} {{\n{lines}\n}}\n"
        reference = f"{shipped_folder('data') / 'references.py'}:{name}"
        return load_payload(text, name=f"<{name} {sizes}>", reference=reference)
