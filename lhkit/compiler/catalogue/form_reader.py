"""Forms of parsed transform ops, and their text with the value names of the source."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from lhkit.compiler.ir.author_names import Names
from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.functions import symbol_name
from lhkit.compiler.ir.parsing import walk
from lhkit.compiler.ir.schedule_modules import sequence_ops
from lhkit.model.op_catalogue import AttributeSpec, CatalogueOp, OperandSpec, ResultSpec
from lhkit.model.step_form import (
    DYNAMIC,
    AttributeValue,
    Form,
    FormBlock,
    Items,
    TypedName,
    WrittenForm,
    left_side,
)

_YIELD = "transform.yield"
_VALUE = re.compile(r'"(?:[^"\\]|\\.)*"|%[\w$.-]+(?:#\d+)?')
_OUTSIDE = "<<UNKNOWN SSA VALUE>>"


def written_forms(module: Any, specs: Mapping[str, CatalogueOp], names: Names) -> tuple[WrittenForm, ...]:
    """Return the steps of the named sequences of a module, those of one after those of the one before it."""
    reader = FormReader(specs, names)
    steps = []
    for sequence in sequence_ops(module):
        blocks = sequence.regions[0].blocks
        for op in (o.operation for o in (blocks[0].operations if len(blocks) else ())):
            if op.name == _YIELD and not len(op.operands):
                continue
            span = names.place(op.location)
            line, column = (span.line, span.column) if span else (1, 1)
            steps.append(WrittenForm(reader.form(op), reader.printed(op), symbol_name(sequence), line, column))
    return tuple(steps)


class FormReader:
    """Reads forms from the ops of one parsed text."""

    def __init__(self, specs: Mapping[str, CatalogueOp], names: Names) -> None:
        self._specs = specs
        self._names = names
        self._written: dict[Any, str] = {}

    def form(self, op: Any) -> Form:
        """Return an op as data."""
        spec = self._specs[op.name]
        operands = [TypedName(self._name(v), str(v.type)) for v in op.operands]
        results = [TypedName(self._name(v), str(v.type)) for v in op.results]
        return Form(
            op=op.name,
            operands=_grouped(operands, spec.operands, _sizes(op, "operand")),
            attributes=tuple(
                (a.name, value)
                for a in spec.attributes
                if a.name in op.attributes and (value := attribute_value(op.attributes[a.name], a)) != a.default
            ),
            results=_grouped(results, spec.results, _sizes(op, "result")),
            regions=tuple(self._block(region) for region in op.regions),
        )

    def printed(self, op: Any, *, generic: bool = False) -> str:
        """Return an op as MLIR prints it, its values named as their author named them."""
        inner = list(walk(op))
        blocks = [block for o in (op, *inner) for region in o.regions for block in region.blocks]
        arguments = [a for block in blocks for a in block.arguments]
        values = [*(v for o in (op, *inner) for v in (*o.operands, *o.results)), *arguments]
        known = {v.get_name(use_local_scope=True): self._name(v) for v in values}
        if len(op.operands) and _OUTSIDE in op.get_asm(use_local_scope=True):
            # Isolated from above, it prints alone: numbers start again inside, and names go by locations.
            known = {}
            for argument in arguments:
                argument.set_location(ir.Location.name(self._name(argument)[1:]))
            for o in inner:
                if len(o.results):
                    o.location = ir.Location.name(self._name(o.results[0]).partition("#")[0][1:])
        text = op.get_asm(use_local_scope=True, use_name_loc_as_prefix=not known, print_generic_op_form=generic)
        for value in op.operands:
            text = text.replace(_OUTSIDE, self._name(value), 1)
        if len(op.results):
            text = f"{left_side([self._name(r) for r in op.results])} = {text.partition(' = ')[2]}"
        text = _VALUE.sub(lambda m: known.get(m[0], m[0]), text)
        return "\n".join(line.rstrip() for line in text.splitlines())

    def _name(self, value: Any) -> str:
        if value not in self._written:
            if isinstance(value.owner, ir.Block):
                self._written[value] = self._names.argument(value)
            else:
                owner = value.owner
                names = self._names.results(owner.operation)
                self._written.update(zip(owner.results, names, strict=True))
        return self._written[value]

    def _block(self, region: Any) -> FormBlock:
        if not len(region.blocks):
            return FormBlock()
        block = region.blocks[0]
        ops = [o.operation for o in block.operations]
        if ops and ops[-1].name == _YIELD and not len(ops[-1].operands):
            ops.pop()
        arguments = tuple(TypedName(self._name(a), str(a.type)) for a in block.arguments)
        if any(o.name not in self._specs for o in ops):
            return FormBlock(arguments, text="\n".join(self.printed(o, generic=True) for o in ops))
        return FormBlock(arguments, tuple(self.form(o) for o in ops))


def _sizes(op: Any, side: str) -> list[int] | None:
    key = f"{side}SegmentSizes"
    return list(ir.DenseI32ArrayAttr(op.attributes[key])) if key in op.attributes else None


def _grouped(
    values: Sequence[TypedName], specs: Sequence[OperandSpec | ResultSpec], sizes: Sequence[int] | None
) -> tuple[tuple[str, tuple[TypedName, ...]], ...]:
    """Return values by what they are in the catalogue; groups that are empty are left out."""
    if sizes is None:
        left = len(values) - sum(s.count == "one" for s in specs)
        sizes = [1 if s.count == "one" else left for s in specs]
    groups, at = [], 0
    for spec, size in zip(specs, sizes, strict=True):
        if size:
            groups.append((spec.name, tuple(values[at : at + size])))
        at += size
    return tuple(groups)


def attribute_value(attribute: Any, spec: AttributeSpec) -> AttributeValue:
    """Return an attribute as data; see `AttributeSpec.kind` for what that is."""
    match spec.kind:
        case "flag":
            return True
        case "bool":
            return bool(ir.BoolAttr(attribute).value)
        case "int":
            return int(ir.IntegerAttr(attribute).value)
        case "string":
            return str(ir.StringAttr(attribute).value)
        case "enum":
            text = str(attribute)
            return next((c.name for c in spec.cases if c.text == text), text)
        case "ints" | "bools":
            return _numbers(attribute, spec)
        case "dictionary":
            return tuple((a.name, str(a.attr)) for a in ir.DictAttr(attribute))
        case "int-lists":
            return tuple(_plain_numbers(ir.ArrayAttr(a)) for a in ir.ArrayAttr(attribute))
        case "strings":
            return tuple(str(ir.StringAttr(a).value) for a in ir.ArrayAttr(attribute))
        case "types" | "symbols" | "attributes":
            return tuple(str(a) for a in ir.ArrayAttr(attribute))
        case _:
            return str(attribute)


def _numbers(attribute: Any, spec: AttributeSpec) -> Items:
    dense = {
        "array<i64>": ir.DenseI64ArrayAttr,
        "array<i32>": ir.DenseI32ArrayAttr,
        "array<i1>": ir.DenseBoolArrayAttr,
    }.get(spec.storage)
    if dense is None:
        return _plain_numbers(ir.ArrayAttr(attribute))
    return tuple(None if n == DYNAMIC and spec.dynamic else n for n in dense(attribute))


def _plain_numbers(array: Any) -> Items:
    return tuple(a.value for a in array)
