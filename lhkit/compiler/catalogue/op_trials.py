"""Valid instances of transform ops, found by asking the compiler about instances in generic syntax."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lhkit.compiler.catalogue.assembly_inference import learn_assembly
from lhkit.compiler.catalogue.corrections import EFFECTS_OF_BODIES, LOOP_RESULTS, correction_of, op_examples
from lhkit.compiler.catalogue.form_reader import FormReader
from lhkit.compiler.catalogue.op_classes import Skeleton
from lhkit.compiler.interpreter.effects import effects_of
from lhkit.compiler.ir.author_names import Names
from lhkit.compiler.ir.bindings import ir
from lhkit.model.op_catalogue import (
    SCALABLE,
    AttributeSpec,
    CatalogueOp,
    Example,
    HandleKind,
    OperandSpec,
    Role,
)
from lhkit.model.step_form import STRUCTURE, AttributeValue, TypedName, attribute_text, generic_text
from lhkit.worker.requests import Source

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
# Ops beside the scratch sequence, for ops that refer to named sequences.
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
    """An instance of an op in the making: types by group of operands and results (``->name``); texts."""

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
        if role_of(skeleton.name) == "structure-matcher" and given[:1] == [[TypedName(_MATCHED, ANY_OP)]]:
            given[0] = [STRUCTURE]
        results = zip(made, skeleton.results, strict=True)
        return given, [_named(n, self.types.get(f"->{a.name}", [])) for n, a in results]

    def text(self) -> str:
        """Return the module around the instance."""
        (operands, results), name, segments = self.groups(), self.skeleton.name, self.skeleton.segments
        line = generic_text(name, operands, self.attributes, results, self.regions, segments=segments)
        return scratch_text(line, role_of(name), [v for group in operands for v in group])

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
        trial.attributes[name] = _FIRST[dict(trial.skeleton.attributes)[name]]
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
    groups = [trial.types.get(arrow + argument.name, []) for argument in arguments]
    places = [(types, i) for types in groups for i in range(len(types))]
    types, i = places[number]
    is_new = types[i] != new
    types[i] = new
    return is_new


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


def _value_for(constraint: str, given: str) -> str | None:
    """Return a value for an attribute that was refused, or None if nothing is known."""
    if "32-bit signless" in constraint:
        return "1 : i32"
    if exact := re.search(r"i64 dense array attribute with exactly (\d+) elements", constraint):
        return f"array<i64: {', '.join(['1'] * int(exact[1]))}>"
    return "1 : i64" if given == "1 : i32" else None


def required_attributes(trial: Trial) -> tuple[str, ...]:
    """Return the attributes of a valid instance without which the compiler refuses it."""

    def complaint_without(name: str) -> str:
        attributes = {n: text for n, text in trial.attributes.items() if n != name}
        return dataclasses.replace(trial, attributes=attributes).complaint() or ""

    return tuple(n for n in trial.attributes if f"requires attribute '{n}'" in complaint_without(n))


def ask_constraints(trial: Trial) -> dict[str, str]:
    """Return the constraints on operands, results (``->name``) and attributes, by trying wrong ones."""
    asked: dict[str, str] = {}
    for arrow, arguments in (("", trial.skeleton.operands), ("->", trial.skeleton.results)):
        for argument in arguments:
            key = arrow + argument.name
            wrong_types = {key: ["i1"] * max(1, len(trial.types.get(key, [])))}
            match = _COMPLAINT.search(trial.with_changes(types=wrong_types).complaint() or "")
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


ARGUMENTS = (
    TypedName("%other", "!transform.any_op"),
    TypedName("%value", "!transform.any_value"),
    TypedName("%param", "!transform.param<i64>"),
    TypedName("%any", "!transform.any_param"),
    TypedName("%loop", '!transform.op<"scf.for">'),
)


def with_examples(op: CatalogueOp, trial: Trial | None, specs: Mapping[str, CatalogueOp]) -> CatalogueOp:
    """Return an op with valid instances, the smallest first, and with the custom syntax that they show."""
    if trial is None:
        return op
    growing = _Growing(op, specs)
    grown = growing.grown(growing.with_samples(trial))
    examples = [growing.steps[0][1], growing.read(grown)]
    problems = [op.note] if op.note else []
    for line in op_examples().get(op.name, ()):
        text = scratch_text(line, op.role, ARGUMENTS)
        if message := complaint(text):
            problems.append(f"{line.splitlines()[0]}: {message}")
        else:
            examples.append(read_example(text, op.role, specs))
    note = "\n".join(dict.fromkeys(problems + growing.problems))
    operands = _with_effects(op, examples)
    op = dataclasses.replace(op, operands=operands, examples=tuple(dict.fromkeys(examples)), note=note)
    return dataclasses.replace(op, assembly=learn_assembly(op, growing.steps))


def _with_effects(op: CatalogueOp, examples: Sequence[Example]) -> tuple[OperandSpec, ...]:
    """Return an op's operands with what the compiler infers of its instances: which of them it consumes."""
    if not op.operands:
        return ()
    if op.role == "structure-matcher":  # they ask and change nothing
        return tuple(dataclasses.replace(o, is_consumed=False) for o in op.operands)
    effects: dict[str, bool] = {}
    neighbours = ir.Module.parse(neighbours_text())
    for example in examples:
        form = example.form
        arguments = [v for v in form.operand_values if v != SCRATCH]
        module = ir.Module.parse(scratch_text(example.text, op.role, arguments))
        consumed = iter(effects_of(neighbours.operation, [scratch_op(module, op.role)])[0].consumed)
        for name, values in form.operands:
            effects[name] = any(list(itertools.islice(consumed, len(values))))
    known = {} if op.name in EFFECTS_OF_BODIES else effects
    return tuple(dataclasses.replace(o, is_consumed=known.get(o.name)) for o in op.operands)


def read_example(text: str, role: str, specs: Mapping[str, CatalogueOp]) -> Example:
    """Return the op of a scratch text as an example."""
    module = ir.Module.parse(text)
    reader = FormReader(specs, Names([Source("schedule", "-", "-", text.encode())]))
    op = scratch_op(module, role)
    return Example(reader.form(op), reader.printed(op))


class _Growing:
    """Sets operands and attributes of an op one by one, as long as the compiler reads what it prints of it.

    ``steps`` are names of what was set with the instances: one after the other, then each alone.
    """

    def __init__(self, op: CatalogueOp, specs: Mapping[str, CatalogueOp]) -> None:
        self._op = op
        self._specs = specs
        self.steps: list[tuple[str, Example]] = []
        self.problems: list[str] = []

    def read(self, trial: Trial) -> Example:
        return read_example(trial.text(), self._op.role, self._specs)

    def with_samples(self, trial: Trial) -> Trial:
        """Return a trial whose required attributes have values that mean something."""
        for spec in self._op.attributes:
            if spec.is_required and spec.name in correction_of(self._op.name).samples:
                trial = self._first(_settings(self._op.name, spec, trial)) or trial
        self.steps = [("", self.read(trial))]
        return trial

    def grown(self, trial: Trial) -> Trial:
        """Return a trial with everything set that may stand together, each taken in order."""
        smallest = trial
        for name, settings in self._all_settings():
            if set_too := self._first(settings(trial)):
                trial = set_too
                self.steps.append((name, self.read(trial)))
        for name, settings in self._all_settings():
            if alone := self._first(settings(smallest)):
                self.steps.append((name, self.read(alone)))
        return trial

    def _all_settings(self) -> Iterator[tuple[str, Callable[[Trial], Iterator[Trial]]]]:
        """Yield each thing that may be set, and the function that gives ways to set it in a trial."""
        for operand in self._op.operands:
            if operand.count != "one" and all(a.dynamic != operand.name for a in self._op.attributes):
                yield operand.name, functools.partial(_giving, operand)
        for spec in self._op.attributes:
            yield spec.name, functools.partial(_settings, self._op.name, spec)

    def _first(self, trials: Iterator[Trial]) -> Trial | None:
        """Return the first of some trials that is valid and that the compiler can read again."""
        for trial in trials:
            if trial.complaint() is not None:
                continue
            example = self.read(trial)
            message = complaint(scratch_text(example.text, self._op.role, example.form.operand_values))
            if message is None:
                return trial
            self.problems.append(f"MLIR prints what it does not read: {example.text} ({message})")
        return None


def _giving(operand: OperandSpec, trial: Trial) -> Iterator[Trial]:
    yield trial.with_changes(types={operand.name: [operand.type]})


def _settings(op: str, spec: AttributeSpec, trial: Trial) -> Iterator[Trial]:
    """Yield a trial with each value that an attribute may be tried with."""
    sample = correction_of(op).samples.get(spec.name)
    for value in _candidates(spec) if sample is None else (sample,):
        if value == spec.default:
            continue
        spelled = next(c.text for c in spec.cases if c.name == value) if spec.kind == "enum" else value
        text = attribute_text(spelled, spec.kind, spec.storage)
        attributes, types = {spec.name: text}, _types_with(op, spec, value)
        if SCALABLE in trial.attributes and spec.dynamic is not None and isinstance(value, tuple):
            attributes[SCALABLE] = f"array<i1: {', '.join(['false'] * len(value))}>"
        for given in ("param", "op"):
            if spec.dynamic is not None and isinstance(value, tuple) and None in value:
                types[spec.dynamic] = [TYPES[given]]
            yield trial.with_changes(types=types, attributes=attributes)


def _types_with(op: str, spec: AttributeSpec, value: AttributeValue) -> dict[str, list[str]]:
    """Return the results that a list of sizes asks for."""
    loops = LOOP_RESULTS.get((op, spec.name))
    sizes = value if isinstance(value, tuple) else ()
    return {f"->{loops}": [TYPES["op"]] * sum(size != 0 for size in sizes)} if loops else {}


def _candidates(spec: AttributeSpec) -> tuple[AttributeValue, ...]:
    """Return values of an attribute to be tried: sensible ones, not the default, most telling first."""
    match spec.kind:
        case "bool":
            return (spec.default is False,)
        case "enum":
            return tuple(c.name for c in reversed(spec.cases))
        case "ints":
            return _lists_of_integers(spec)
        case _:
            return _VALUES.get(spec.kind, ())


def _lists_of_integers(spec: AttributeSpec) -> tuple[AttributeValue, ...]:
    if spec.dynamic:
        return ((8, None), (8, 4), (8,))
    orders = ((1, 0), (0,), (0, 1, 2))
    is_order = re.search("order|interchange|transpose|perm|dims|dimensions", spec.name)
    return (*orders, (8, 4)) if is_order else ((8, 4), (8,), *orders)


_VALUES: Mapping[str, tuple[Any, ...]] = {
    "flag": (True,),
    "int": (2, 1, 0),
    "string": ("linalg.copy", "memref.alloca", "text"),
    "bools": ((True,), (True, False)),
    "int-lists": (((1, 0),),),
    "type": ("f32",),
    "symbol": ("@matcher",),
    "any": ('"text"', "1 : i64"),
    "strings": (("linalg.matmul", "linalg.fill"),),
    "types": (("f32", "f64"),),
    "symbols": (("@matcher",),),
    "attributes": (("0.000000e+00 : f32",), ("#gpu.thread<x>",)),
    "dictionary": ((("top-down", "true"), ("max-iterations", "4 : i64")),),
}
