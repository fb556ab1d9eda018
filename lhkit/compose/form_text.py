"""Printing of forms as steps, and their validation before parsing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from lhkit.model import op_catalogue
from lhkit.model.errors import usage_error
from lhkit.model.step_form import (
    AttributeValue,
    Form,
    FormBlock,
    TypedName,
    WrittenForm,
    attribute_text,
    generic_text,
)
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.requests import ReadForms, Source

_TERMINATORS = ("transform.yield", "transform.match.structured.yield")
_YIELD = '"transform.yield"() : () -> ()'
_INDENT = "  "


def form_text(form: Form, catalogue: op_catalogue.Catalogue) -> str:
    """Return a form as people write it: in custom syntax, generic where something set has no known spelling."""
    op = catalogue.op(form.op)
    _check(form, catalogue)
    between = " with type_converter " if op.name == "transform.apply_conversion_patterns" else ", "
    regions = between.join(_custom_region(block, catalogue) for block in form.regions)
    return op_catalogue.custom_text(form, op, regions) or generic_form_text(form, catalogue)


def _custom_region(block: FormBlock, catalogue: op_catalogue.Catalogue) -> str:
    steps = block.text or "\n".join(form_text(step, catalogue) for step in block.steps)
    body = "".join(f"{_INDENT}{line}\n" for line in steps.splitlines())
    arguments = ", ".join(f"{a.name}: {a.type}" for a in block.arguments)
    return f"{{\n{f'^bb0({arguments}):{chr(10)}' if arguments else ''}{body}}}"


def _check(form: Form, catalogue: op_catalogue.Catalogue) -> None:
    if problems := form_problems(form, catalogue):
        raise usage_error(f"{form.op}: {problems[0]}", "\n".join(problems[1:]) or None)


def generic_form_text(form: Form, catalogue: op_catalogue.Catalogue) -> str:
    """Return a form in MLIR's generic syntax, which every op has and which always parses."""
    op = catalogue.op(form.op)
    _check(form, catalogue)
    operands, results = dict(form.operands), dict(form.results)
    # The last kind of region may come several times.
    specs = itertools.chain(op.regions, itertools.repeat(op.regions[-1])) if op.regions else ()
    return generic_text(
        op.name,
        [operands.get(o.name, ()) for o in op.operands],
        dict(_properties(form, op)),
        [results.get(r.name, ()) for r in op.results],
        [_region_text(b, spec, catalogue) for b, spec in zip(form.regions, specs, strict=False)],
        segments=op.segments,
    )


def _properties(form: Form, op: op_catalogue.CatalogueOp) -> Iterator[tuple[str, str]]:
    given = dict(form.attributes)
    for spec in op.attributes:
        # A list that is empty by default has to be there: the compiler does not ask before it looks.
        value = given.get(spec.name, () if spec.default == () else None)
        if (value is not None and value is not False) or (spec.kind == "bool" and value is False):
            yield spec.name, attribute_value_text(value, spec)


def attribute_value_text(value: AttributeValue, spec: op_catalogue.AttributeSpec) -> str:
    """Return the value of an attribute in MLIR's generic syntax."""
    if spec.kind == "enum":
        texts = {c.name: c.text for c in spec.cases}
        if value not in texts:
            raise ValueError(f"{value!r} is none of {', '.join(texts)}")
        return texts[str(value)]
    return attribute_text(value, spec.kind, spec.storage)


def _region_text(block: FormBlock, spec: op_catalogue.RegionSpec, catalogue: op_catalogue.Catalogue) -> str:
    arguments = ", ".join(f"{a.name}: {a.type}" for a in block.arguments)
    lines = [f"^bb0({arguments}):" if arguments else "^bb0:"]
    lines += block.text.splitlines() or [generic_form_text(step, catalogue) for step in block.steps]
    ends = bool(block.steps) and block.steps[-1].op in _TERMINATORS
    if spec.kind in ("body", "alternatives") and not ends and not block.text:
        lines.append(_YIELD)
    inner = "\n".join(lines).replace("\n", f"\n{_INDENT}")
    return f"{{\n{inner}\n}}"


def form_problems(form: Form, catalogue: op_catalogue.Catalogue) -> tuple[str, ...]:
    """Return what can be seen to be wrong with a form without the compiler, in words; empty if nothing."""
    op = catalogue.op(form.op)
    problems = [
        *_handle_problems("operand", form.operands, op.operands),
        *_attribute_problems(form, op),
        *_handle_problems("result", form.results, op.results),
    ]
    least = sum(r.count == "one" for r in op.regions)
    takes_any = any(r.count == "many" for r in op.regions)
    if len(form.regions) < least or (len(form.regions) > least and not takes_any):
        more = " or more" if takes_any else ""
        problems.append(f"it has {least}{more} regions, and {len(form.regions)} are given")
    return tuple(problems)


def _handle_problems(
    side: str,
    given: Sequence[tuple[str, Sequence[TypedName]]],
    specs: Sequence[op_catalogue.OperandSpec | op_catalogue.ResultSpec],
) -> Iterator[str]:
    known = {s.name: s for s in specs}
    for name, values in given:
        if name not in known:
            yield f"there is no {side} {name!r}; there are {', '.join(known) or 'none'}"
            continue
        spec = known[name]
        for value in values:
            kind = kind_of_type(value.type)
            if kind is not None and kind not in spec.kinds:
                wanted = " or ".join(spec.kinds)
                yield f"{side} {name!r} takes {wanted} handles, and {value.name} is {value.type}"
    counts = {name: len(values) for name, values in given}
    for spec in specs:
        count = counts.get(spec.name, 0)
        if (spec.count == "one" and count != 1) or (spec.count == "optional" and count > 1):
            most = "exactly one value" if spec.count == "one" else "at most one value"
            yield f"{side} {spec.name!r} is {most}, and {count} are given"


def kind_of_type(type_: str) -> op_catalogue.HandleKind | None:
    """Return which kind of handle a type is of, or None if it is none that is known."""
    if type_ == "!transform.any_op" or type_.startswith("!transform.op<"):
        return "op"
    if type_ == "!transform.any_param" or type_.startswith("!transform.param<"):
        return "param"
    return "value" if type_ == "!transform.any_value" else None


def _attribute_problems(form: Form, op: op_catalogue.CatalogueOp) -> Iterator[str]:
    given, operands = dict(form.attributes), dict(form.operands)
    for name, value in given.items():
        spec = op.attribute(name)
        if spec is None:
            known = ", ".join(a.name for a in op.attributes) or "none"
            yield f"there is no attribute {name!r}; there are {known}"
            continue
        if value is False and spec.kind == "flag":
            continue
        try:
            attribute_value_text(value, spec)
        except ValueError as error:
            yield f"attribute {name!r}: {error}"
    for spec in op.attributes:
        if spec.is_required and spec.name not in given:
            yield f"attribute {spec.name!r} is required"
        if spec.dynamic is not None and spec.kind == "ints":
            value = given.get(spec.name)
            open_entries = sum(v is None for v in value) if isinstance(value, tuple) else 0
            values = len(operands.get(spec.dynamic, ()))
            if open_entries != values:
                yield f"{spec.name!r} leaves {open_entries} entries open, and {spec.dynamic!r} gives {values}"


def mixed_entries(form: Form, spec: op_catalogue.AttributeSpec) -> tuple[int | TypedName, ...]:
    """Return a list of sizes as one reads it: numbers, and values where a size is given as an operand."""
    value = dict(form.attributes).get(spec.name, spec.default)
    values = iter(dict(form.operands).get(spec.dynamic or "", ()))
    entries = value if isinstance(value, tuple) else ()
    return tuple(next(values) if entry is None else entry for entry in entries if not isinstance(entry, tuple))  # type: ignore[misc]


# Forms of the steps of a schedule, read and written by the compiler.


def read_forms(text: str, *, name: str = "<schedule>", worker: Worker | None = None) -> tuple[WrittenForm, ...]:
    """Return the steps of a schedule's named sequences as forms, in order; inner steps are in their regions."""
    source = Source("schedule", "schedule", name, text.encode())
    return (worker or shared_worker()).ask(ReadForms(source)).value
