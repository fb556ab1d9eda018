"""Valid instances of transform ops: the smallest, and ones with everything set that can be set together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lhkit.compiler.bindings import ir
from lhkit.compiler.catalogue_asking import TYPES, Trial, complaint, role_of, scratch_op, scratch_text
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


def examples_of(op: CatalogueOp, trial: Trial | None, specs: Mapping[str, CatalogueOp]) -> tuple[Example, ...]:
    """Return valid instances of an op: the smallest first, none where no instance is known."""
    if trial is None:
        return ()
    texts = [trial.text(), _grown(op, trial).text()]
    texts += [scratch_text(line, role_of(op.name), ARGUMENTS) for line in EXAMPLES.get(op.name, ())]
    examples = [read_example(text, specs) for text in texts]
    return tuple(dict.fromkeys(examples))


def read_example(text: str, specs: Mapping[str, CatalogueOp]) -> Example:
    """Return the op of a scratch text as an example."""
    module = ir.Module.parse(text)
    reader = FormReader(specs, Names([Source("schedule", "-", "-", text.encode())]))
    op = scratch_op(module)
    return Example(reader.form(op), reader.printed(op))


def _grown(op: CatalogueOp, trial: Trial) -> Trial:
    """Return a trial with everything set that the compiler lets stand together, each taken in order."""
    for operand in op.operands:
        if not trial.types.get(operand.name) and not any(a.dynamic == operand.name for a in op.attributes):
            grown = trial.with_changes(types={operand.name: [operand.type]})
            trial = grown if grown.complaint() is None else trial
    for spec in op.attributes:
        trial = next((t for t in _settings(op.name, spec, trial) if t.complaint() is None), trial)
    return trial


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
            return (((8, None),) if spec.dynamic else ()) + ((8,), (1, 0), (1,), (0,), (0, 1, 2), (8, 8, 8))
        case "bools":
            return ((True,), (True, False))
        case "int-lists":
            return (((1, 0),),)
        case _:
            return _WORDS.get(spec.kind, ())


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
