"""Forms of steps and the results of a search, as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lhkit.compose.builder.parameters import Parameter, parameters_of
from lhkit.compose.form_text import kind_of_type
from lhkit.compose.recipes import Recipe
from lhkit.draw.svg import element, escaped
from lhkit.model.op_catalogue import CatalogueOp
from lhkit.model.step_form import TypedName
from lhkit.workbench.form_fields import NAMES, RESULTS

# Arguments that may be left out and seldom are.
_USUAL = ("ops", "interface", "op_name", "factor")
Offered = Sequence[tuple[TypedName, bool]]


def found_html(ops: Iterable[CatalogueOp], recipes: Iterable[Recipe]) -> str:
    """Return ops and recipes as a list to choose from."""
    items = [_item(op.name, op.short_name, op.sentence, op.group) for op in ops]
    items += [_item(r.name, r.name, r.sentence, "recipe") for r in recipes]
    if not items:
        return element("p", "Nothing like that.", class_="lh-note")
    return element("ul", *items, class_="lhw-found")


def _item(name: str, shown: str, sentence: str, group: str) -> str:
    words = (element("b", escaped(shown)), element("span", escaped(group), class_="lhw-group"))
    said = element("span", escaped(sentence), class_="lhw-sentence")
    return element("li", element("button", *words, said, type="button", data_choose=name))


def form_html(op: CatalogueOp, handles: Offered, fields: Mapping[str, Any], *, is_new: bool) -> str:
    """Return the form of an op: what it needs first, the rest folded.

    Args:
        op: The op.
        handles: The handles that may be given, each with whether it is dead by then.
        fields: What the fields hold.
        is_new: Whether the step is a new one, whose results may be named.
    """
    first: list[str] = []
    more: list[str] = []
    for parameter in parameters_of(op):
        row = _field(parameter, handles, fields.get(parameter.name, ""))
        is_shown = parameter.is_required or fields.get(parameter.name) not in (None, "", False)
        (first if is_shown or _is_usual(parameter) else more).append(row)
    if is_new and op.results:
        listed = ", ".join(r.name for r in op.results)
        more.append(_row(NAMES, f"names of {listed}", _text_input(NAMES, "")))
        if any(r.count == "many" for r in op.results):
            said = "how many handles it gives, where its arguments do not tell"
            more.append(_row(RESULTS, said, _text_input(RESULTS, "")))
    folded = element("details", element("summary", "more arguments"), *more) if more else ""
    return "".join(first) + folded


def recipe_form_html(recipe: Recipe, handles: Offered) -> str:
    """Return the form of a recipe: a handle for each argument."""
    fitting = [(h, dead) for h, dead in handles if kind_of_type(h.type) == "op"]
    return "".join(
        _row(f"handle {i}", type_, _menu(f"handle{i}", fitting, "", is_required=True))
        for i, type_ in enumerate(recipe.arguments)
    )


def _is_usual(parameter: Parameter) -> bool:
    """Return whether an argument that may be left out is what the op is about: its sizes, its options."""
    spec = parameter.attribute
    return spec is not None and (spec.dynamic is not None or spec.name in _USUAL)


def _field(parameter: Parameter, handles: Offered, value: Any) -> str:
    spec, operand = parameter.attribute, parameter.operand
    if spec is None and operand is not None and operand.count != "many":
        fitting = [(h, dead) for h, dead in handles if kind_of_type(h.type) in operand.kinds]
        chosen = _menu(parameter.name, fitting, str(value), is_required=parameter.is_required)
        return _row(parameter.name, parameter.describe(), chosen)
    if spec is not None and spec.kind == "flag":
        box = element("input", type="checkbox", name=parameter.name, checked="" if value is True else None)
        return _row(parameter.name, parameter.describe(), box)
    words = [c.name for c in spec.cases] if spec is not None and spec.kind == "enum" else []
    words = ["true", "false"] if spec is not None and spec.kind == "bool" else words
    if words:
        shown = str(value).lower() if isinstance(value, bool) else str(value)
        options = [_option(w, w, chosen=w == shown) for w in ["", *words]]
        return _row(parameter.name, parameter.describe(), element("select", *options, name=parameter.name))
    return _row(parameter.name, parameter.describe(), _text_input(parameter.name, str(value)))


def _row(name: str, said: str, control: str) -> str:
    label = element("span", escaped(name), class_="lhw-field-name")
    return element("label", label, control, element("small", escaped(said)), class_="lhw-field")


def _text_input(name: str, value: str) -> str:
    return element("input", type="text", name=name, value=value, autocomplete="off", spellcheck="false")


def _menu(name: str, handles: Offered, value: str, *, is_required: bool) -> str:
    options = [] if is_required else [_option("", "—", chosen=not value)]
    known = [h.name for h, _ in handles]
    if value and value not in known:
        options.append(_option(value, value, chosen=True))
    for handle, dead in handles:
        shown = f"{handle.name} (dead by then)" if dead else handle.name
        options.append(_option(handle.name, shown, chosen=handle.name == value))
    return element("select", *options, name=name)


def _option(value: str, shown: str, *, chosen: bool) -> str:
    return element("option", escaped(shown), value=value, selected="selected" if chosen else None)
