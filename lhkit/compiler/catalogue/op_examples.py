"""Valid instances of transform ops: the smallest, and ones with everything set that can be set together."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from lhkit.compiler.catalogue.assembly_inference import learn_assembly
from lhkit.compiler.catalogue.corrections import EFFECTS_OF_BODIES, EXAMPLES, LOOP_RESULTS, SAMPLES
from lhkit.compiler.catalogue.form_reader import FormReader
from lhkit.compiler.catalogue.op_queries import (
    SCRATCH,
    TYPES,
    Trial,
    complaint,
    neighbours_text,
    scratch_op,
    scratch_text,
)
from lhkit.compiler.interpreter.effects import effects_of
from lhkit.compiler.ir.author_names import Names
from lhkit.compiler.ir.bindings import ir
from lhkit.model.op_catalogue import SCALABLE, AttributeSpec, CatalogueOp, Example, OperandSpec
from lhkit.model.step_form import AttributeValue, TypedName, attribute_text
from lhkit.worker.requests import Source

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
    examples = [growing.first, growing.read(grown)]
    problems = [op.note] if op.note else []
    for line in EXAMPLES.get(op.name, ()):
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
    """Sets one thing after another of an op, as long as the compiler takes it and reads what it prints of it.

    Attributes:
        steps: What was set, and the instance with it: one after the other, then each alone.
        problems: What the compiler prints and does not read.
    """

    def __init__(self, op: CatalogueOp, specs: Mapping[str, CatalogueOp]) -> None:
        self._op = op
        self._specs = specs
        self.steps: list[tuple[str, Example]] = []
        self.problems: list[str] = []

    @property
    def first(self) -> Example:
        """The smallest instance."""
        return self.steps[0][1]

    def read(self, trial: Trial) -> Example:
        return read_example(trial.text(), self._op.role, self._specs)

    def with_samples(self, trial: Trial) -> Trial:
        """Return a trial whose required attributes have values that mean something."""
        for spec in self._op.attributes:
            if spec.is_required and (self._op.name, spec.name) in SAMPLES:
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
    sample = SAMPLES.get((op, spec.name))
    for value in _candidates(spec) if sample is None else (sample,):
        if value == spec.default:
            continue
        text = attribute_text(_spelled(value, spec), spec.kind, spec.storage)
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


def _spelled(value: AttributeValue, spec: AttributeSpec) -> AttributeValue:
    return next(c.text for c in spec.cases if c.name == value) if spec.kind == "enum" else value


def _candidates(spec: AttributeSpec) -> tuple[AttributeValue, ...]:
    """Return values of an attribute to be tried: sensible ones, not the default, most telling first."""
    match spec.kind:
        case "flag":
            return (True,)
        case "bool":
            return (spec.default is False,)
        case "int":
            return (2, 1, 0)
        case "string":
            return ("linalg.copy", "memref.alloca", "text")
        case "enum":
            return tuple(c.name for c in reversed(spec.cases))
        case "ints":
            return _lists_of_integers(spec)
        case "bools":
            return ((True,), (True, False))
        case "int-lists":
            return (((1, 0),),)
        case _:
            return _WORDS.get(spec.kind, ())


def _lists_of_integers(spec: AttributeSpec) -> tuple[AttributeValue, ...]:
    if spec.dynamic:
        return ((8, None), (8, 4), (8,))
    orders = ((1, 0), (0,), (0, 1, 2))
    is_order = any(
        word in spec.name for word in ("order", "interchange", "transpose", "perm", "dims", "dimensions")
    )
    return (*orders, (8, 4)) if is_order else ((8, 4), (8,), *orders)


_WORDS: Mapping[str, tuple[Any, ...]] = {
    "type": ("f32",),
    "symbol": ("@matcher",),
    "any": ('"text"', "1 : i64"),
    "strings": (("linalg.matmul", "linalg.fill"),),
    "types": (("f32", "f64"),),
    "symbols": (("@matcher",),),
    "attributes": (("0.000000e+00 : f32",), ("#gpu.thread<x>",)),
    "dictionary": ((("top-down", "true"), ("max-iterations", "4 : i64")),),
}
