"""Modules in which forms stand alone, to be parsed by the compiler."""

from collections.abc import Callable, Iterator, Sequence

from lhkit.compose.form_text import generic_form_text
from lhkit.model.op_catalogue import Catalogue
from lhkit.model.step_form import STRUCTURE, AttributeValue, Form, FormBlock, TypedName


def scratch_module(
    forms: Sequence[Form], catalogue: Catalogue, *, write: Callable[[Form, Catalogue], str] = generic_form_text
) -> str:
    """Return a module in which every form stands alone, in the named sequence ``@form`` of a module of its own.

    Its operands are the sequence's arguments; named sequences that it refers to are declared as it needs them;
    patterns stand in the op that takes them.

    Args:
        forms: Valid forms.
        catalogue: The catalogue with their ops.
        write: What turns a form into text.

    Raises:
        UsageError: A form is none of its op's.
    """
    modules = [
        "\n".join(["module attributes {transform.with_named_sequence} {", *_parts(form, catalogue, write), "}"])
        for form in forms
    ]
    return "\n".join(["module {", *modules, "}", ""])


def _parts(form: Form, catalogue: Catalogue, write: Callable[[Form, Catalogue], str]) -> Iterator[str]:
    """Yield the declarations that a form needs, and the sequence that holds it."""
    yield from dict(_declarations(form)).values()
    given = [v for v in form.operand_values if v != STRUCTURE]
    arguments = {v.name: v for v in (TypedName("%scratch", "!transform.any_op"), *given)}
    listed = ", ".join(f"{v.name}: {v.type}" for v in arguments.values())
    text = write(_standing(form, catalogue), catalogue)
    yield f"transform.named_sequence @form({listed}) {{\n{text}\ntransform.yield\n}}"


def _standing(form: Form, catalogue: Catalogue) -> Form:
    """Return a form that may stand as a step: a pattern is put into the op that takes it."""
    target = (("target", (TypedName("%scratch", "!transform.any_op"),)),)
    role = catalogue.op(form.op).role
    if role == "pattern":
        return Form("transform.apply_patterns", target, regions=(FormBlock(steps=(form,)),))
    if role == "conversion-pattern":
        return Form("transform.apply_conversion_patterns", target, regions=(FormBlock(steps=(form,)),))
    if role == "structure-matcher":
        body = FormBlock((STRUCTURE,), (form, Form("transform.match.structured.yield")))
        return Form("transform.match.structured", (("operand_handle", target[0][1]),), regions=(body,))
    if role == "type-converter":
        regions = (FormBlock(), FormBlock(steps=(form,)))
        return Form("transform.apply_conversion_patterns", target, regions=regions)
    return form


def _declarations(form: Form) -> Iterator[tuple[str, str]]:
    """Yield the named sequences that a form refers to, each with the text that declares it as needed."""
    given, made, values = dict(form.operands), dict(form.results), dict(form.attributes)
    if form.op == "transform.include":
        yield _declaration(values["target"], form.operand_values, form.result_values)
    elif form.op == "transform.collect_matching":
        yield _declaration(values["matcher"], given["root"], form.result_values)
    elif form.op == "transform.foreach_match":
        for name in _symbols(values["matchers"]):
            yield _declaration(name, form.operand_values, ())
        for name in _symbols(values["actions"]):
            yield _declaration(name, (), made.get("forwarded_outputs", ()))
    for block in form.regions:
        for step in block.steps:
            yield from _declarations(step)


def _symbols(value: AttributeValue) -> Iterator[AttributeValue]:
    yield from value if isinstance(value, tuple) else ()


def _declaration(
    name: AttributeValue, takes: Sequence[TypedName], gives: Sequence[TypedName]
) -> tuple[str, str]:
    arguments = ", ".join(f"{v.type} {{transform.readonly}}" for v in takes)
    results = ", ".join(v.type for v in gives)
    return str(name), f"transform.named_sequence private {name}({arguments}) -> ({results})"
