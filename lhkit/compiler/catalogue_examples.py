"""Valid instances of transform ops: the smallest, and ones with everything set that can be set together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lhkit.compiler.bindings import ir
from lhkit.compiler.catalogue_asking import TYPES, Trial, complaint, scratch_op, scratch_text
from lhkit.compiler.catalogue_corrections import EXAMPLES, SAMPLES
from lhkit.compiler.forms import FormReader
from lhkit.compiler.names import Names
from lhkit.compiler.sources import Source
from lhkit.model.catalogue import AttributeSpec, CatalogueOp, Example
from lhkit.model.forms import AttributeValue, TypedName, attribute_text

ARGUMENTS = (
    TypedName("%other", "!transform.any_op"),
    TypedName("%value", "!transform.any_value"),
    TypedName("%param", "!transform.param<i64>"),
    TypedName("%any", "!transform.any_param"),
    TypedName("%loop", '!transform.op<"scf.for">'),
)


def examples_of(
    op: CatalogueOp, trial: Trial | None, specs: Mapping[str, CatalogueOp]
) -> tuple[tuple[Example, ...], tuple[str, ...]]:
    """Return valid instances of an op, the smallest first, and what the compiler refuses of what should be one."""
    if trial is None:
        return (), ()
    growing = _Growing(op, specs)
    trial = growing.with_samples(trial)
    texts = [trial.text(), growing.grown(trial).text()]
    problems = growing.problems
    for line in EXAMPLES.get(op.name, ()):
        text = scratch_text(line, op.role, ARGUMENTS)
        if message := complaint(text):
            problems.append(f"{line.splitlines()[0]}: {message}")
        else:
            texts.append(text)
    return tuple(dict.fromkeys(read_example(text, op.role, specs) for text in texts)), tuple(problems)


def read_example(text: str, role: str, specs: Mapping[str, CatalogueOp]) -> Example:
    """Return the op of a scratch text as an example."""
    module = ir.Module.parse(text)
    reader = FormReader(specs, Names([Source("schedule", "-", "-", text.encode())]))
    op = scratch_op(module, role)
    return Example(reader.form(op), reader.printed(op))


class _Growing:
    """Sets one thing after another of an op, as long as the compiler takes it and reads what it prints of it."""

    def __init__(self, op: CatalogueOp, specs: Mapping[str, CatalogueOp]) -> None:
        self._op = op
        self._specs = specs
        self.problems: list[str] = []

    def with_samples(self, trial: Trial) -> Trial:
        """Return a trial whose required attributes have values that mean something."""
        for spec in self._op.attributes:
            if spec.is_required and (self._op.name, spec.name) in SAMPLES:
                trial = self._first(_settings(self._op.name, spec, trial), trial, spec.name)
        return trial

    def grown(self, trial: Trial) -> Trial:
        """Return a trial with everything set that may stand together, each taken in order."""
        for operand in self._op.operands:
            if not trial.types.get(operand.name) and not any(
                a.dynamic == operand.name for a in self._op.attributes
            ):
                one = trial.with_changes(types={operand.name: [operand.type]})
                trial = self._first(iter([one]), trial, operand.name)
        for spec in self._op.attributes:
            trial = self._first(_settings(self._op.name, spec, trial), trial, spec.name)
        return trial

    def _first(self, trials: Iterator[Trial], otherwise: Trial, name: str) -> Trial:
        """Return the first of some trials that is valid and that the compiler can read again."""
        for trial in trials:
            if trial.complaint() is not None:
                continue
            example = read_example(trial.text(), self._op.role, self._specs)
            values = example.form.operand_values
            message = complaint(scratch_text(example.text, self._op.role, values))
            if message is None:
                return trial
            self.problems.append(f"with {name}, MLIR prints what it does not read: {example.text} ({message})")
        return otherwise


def _settings(op: str, spec: AttributeSpec, trial: Trial) -> Iterator[Trial]:
    """Yield a trial with each value that an attribute may be tried with."""
    sample = SAMPLES.get((op, spec.name))
    for value in _candidates(spec) if sample is None else (sample,):
        if value == spec.default:
            continue
        text = attribute_text(_spelled(value, spec), spec.kind, spec.storage)
        types = {}
        if spec.dynamic is not None and isinstance(value, tuple) and None in value:
            types = {spec.dynamic: [TYPES["param"]]}
            if trial.with_changes(types=types, attributes={spec.name: text}).complaint() is not None:
                types = {spec.dynamic: [TYPES["op"]]}
        yield trial.with_changes(types=types, attributes={spec.name: text})


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
