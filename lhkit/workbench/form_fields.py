"""Forms of steps: fields to builder arguments and back, their HTML, and the places where steps go."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lhkit.compose.builder.blocks import BuiltHandle
from lhkit.compose.builder.op_functions import BUILT_REGIONS, Parameter, parameters_of
from lhkit.compose.builder.schedule_builder import Body, Builder
from lhkit.compose.form_text import kind_of_type, mixed_entries
from lhkit.compose.recipes import Recipe
from lhkit.compose.trial_steps import values_in_scope
from lhkit.draw.svg import element, escaped
from lhkit.model.errors import LhkitError, UsageError, usage_error
from lhkit.model.op_catalogue import AttributeKind, Catalogue, CatalogueOp
from lhkit.model.step_form import Form, TypedName, attribute_text
from lhkit.model.trace_record import HandleChange, Trace, TraceStep
from lhkit.text.lexer import lex, without_trivia
from lhkit.text.op_tree import OpSyntax
from lhkit.text.parser import split_list
from lhkit.text.script import SEQUENCE, Script
from lhkit.text.step_edits import type_of
from lhkit.tiles.op_dimensions import loops_of
from lhkit.worker.client import Worker

Fields = Mapping[str, Any]
Reader = Callable[[Any, Mapping[str, BuiltHandle]], Any]
_ITEM = re.compile(r'"(?:[^"\\]|\\.)*"|[^,\s]+')
# Fields beside the parameters of the op.
NAMES, RESULTS = "names", "results"


def has_body(op: CatalogueOp) -> bool:
    """Return whether an op has a body of steps, which no form can edit."""
    return any(region.kind in BUILT_REGIONS for region in op.regions)


def built_form(
    op: CatalogueOp, fields: Fields, handles: Sequence[TypedName], catalogue: Catalogue, old: Form | None = None
) -> Form:
    """Return the step of a form; a replaced step ``old`` keeps its result names and pattern settings."""
    stand_ins = {f"%given{i}": handle for i, handle in enumerate(handles)}
    builder = Builder(catalogue, arguments={name[1:]: h.type for name, h in stand_ins.items()})
    known = {h.name: built for h, built in zip(handles, builder.arguments, strict=True)}
    named: dict[str, Any] = {}
    for parameter in parameters_of(op):
        value = _argument(parameter, fields.get(parameter.name), known, old)
        if value is not None:
            named[parameter.name] = value
    if count := str(fields.get(RESULTS, "")).strip():
        named[RESULTS] = _integer(count)
    if names := _items(fields.get(NAMES, "")):
        named[NAMES] = names
    made = builder.call(op, (), named)
    if isinstance(made, Body):
        with made as choice:
            if made.op.regions[0].kind == "alternatives":
                with choice.region():
                    pass
    form = _renamed(builder.block.nodes[-1].as_form(), stand_ins)
    return form if old is None else dataclasses.replace(form, results=_kept_names(form, old))


def _kept_names(form: Form, old: Form) -> tuple[tuple[str, tuple[TypedName, ...]], ...]:
    """Return the results under the names that later steps use: of %loop there may be three from now on."""
    before = dict(old.results)
    stems = {name: values[0].name.partition("#")[0] for name, values in old.results if values}
    if len(set(stems.values())) < len(stems):  # one name for results of several kinds
        same = [(n, len(v)) for n, v in form.results] == [(n, len(v)) for n, v in old.results]
        return old.results if same else form.results
    return tuple((n, _named_as(stems[n], before[n], v) if n in stems else v) for n, v in form.results)


def _named_as(stem: str, before: tuple[TypedName, ...], values: tuple[TypedName, ...]) -> tuple[TypedName, ...]:
    if len(values) == len(before):
        return before
    numbers = [""] if len(values) == 1 else [f"#{i}" for i in range(len(values))]
    return tuple(TypedName(stem + n, v.type) for n, v in zip(numbers, values, strict=True))


def _argument(parameter: Parameter, value: Any, known: Mapping[str, BuiltHandle], old: Form | None) -> Any:
    if value is None or value in ("", []):
        return None
    if parameter.attribute is not None:
        read = _READERS.get(parameter.attribute.kind)
        return read(value, known) if read is not None else str(value).strip()
    if parameter.operand is not None:
        given = [_handle(name, known) for name in _items(value)]
        if parameter.operand.count == "many":
            return tuple(given)
        if len(given) != 1:
            raise usage_error(f"{parameter.name!r} is one handle, and {len(given)} are given")
        return given[0]
    if parameter.region is not None and parameter.region.kind == "payload":
        return str(value)
    names = _items(value)
    for block in old.regions if old is not None else ():
        if [_last(step.op) for step in block.steps] == [_last(name) for name in names]:
            return block  # keeps their settings
    return names


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _handle(name: str, known: Mapping[str, BuiltHandle]) -> BuiltHandle:
    if name not in known:
        listed = ", ".join(list(known)[:8]) or "none"
        raise usage_error(f"there is no handle {name} to be read there", f"There are: {listed}.")
    return known[name]


def _items(value: Any) -> list[str]:
    """Split a list: ``[8, 32]``, ``8 32`` or ``"linalg.add"``."""
    if isinstance(value, list):
        return [str(item) for item in value]
    text = str(value).strip()
    inside = text[1:-1] if text[:1] + text[-1:] in ("[]", "{}", "()") else text
    return [item.strip('"') if item.startswith('"') else item for item in _ITEM.findall(inside)]


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise usage_error(f"{text!r} is not an integer") from None


def _int(value: Any, known: Mapping[str, BuiltHandle]) -> Any:
    text = str(value).strip()
    return _handle(text, known) if text.startswith("%") else _integer(text)


def _bool(value: Any, _: Mapping[str, BuiltHandle]) -> bool:
    words = {"true": True, "false": False}
    if isinstance(value, bool):
        return value
    if str(value).strip() not in words:
        raise usage_error(f"{value!r} is neither true nor false")
    return words[str(value).strip()]


def _strings(value: Any, known: Mapping[str, BuiltHandle]) -> list[Any]:
    return [known.get(item, item) for item in _items(value)]


def _attributes(value: Any, _: Mapping[str, BuiltHandle]) -> list[str]:
    # An attribute may hold spaces (``0.0 : f32``) and commas in brackets.
    text = str(value).strip()
    inside = text[1:-1] if text[:1] + text[-1:] == "[]" else text
    return [inside[item[0].start : item[-1].end] for item in split_list(without_trivia(lex(inside)))]


def _literal(value: Any, _: Mapping[str, BuiltHandle]) -> Any:
    try:
        return ast.literal_eval(str(value))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: nested too deeply
        raise usage_error(f"{value!r} cannot be read", "Lists in lists are written [[0, 1], [2]].") from None


def _dictionary(value: Any, known: Mapping[str, BuiltHandle]) -> dict[str, Any]:
    pairs = (item.partition("=") for item in _attributes(str(value).strip("{} "), known))
    return {name.strip(): _entry(text.strip(), known) for name, _, text in pairs}


def _entry(text: str, known: Mapping[str, BuiltHandle]) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"-?[0-9]+", text):
        return int(text)
    return known.get(text, text.strip('"'))


_READERS: Mapping[AttributeKind, Reader] = {
    "flag": _bool,
    "bool": _bool,
    "int": _int,
    "ints": lambda value, known: [_int(item, known) for item in _items(value)],
    "bools": lambda value, known: [_bool(item, known) for item in _items(value)],
    "strings": _strings,
    "symbols": _strings,
    "types": _attributes,
    "attributes": _attributes,
    "int-lists": _literal,
    "dictionary": _dictionary,
}


def _renamed(form: Form, names: Mapping[str, TypedName]) -> Form:
    operands = [(slot, tuple(names.get(v.name, v) for v in values)) for slot, values in form.operands]
    regions = [dataclasses.replace(b, steps=tuple(_renamed(s, names) for s in b.steps)) for b in form.regions]
    return dataclasses.replace(form, operands=tuple(operands), regions=tuple(regions))


def written_fields(form: Form, op: CatalogueOp) -> dict[str, Any]:
    """Return the fields of a written step: the inverse of `built_form`."""
    operands, attributes = dict(form.operands), dict(form.attributes)
    fields: dict[str, Any] = {}
    for parameter in parameters_of(op):
        spec = parameter.attribute
        if spec is None:
            values = operands.get(parameter.operand.name, ()) if parameter.operand else ()
            fields[parameter.name] = ", ".join(v.name for v in values)
            if parameter.region is not None:
                names = [_last(s.op) for block in form.regions for s in block.steps]
                fields[parameter.name] = ", ".join(names) or "".join(b.text for b in form.regions)
        elif spec.kind == "ints":
            entries = mixed_entries(form, spec) if spec.name in attributes else ()
            fields[parameter.name] = ", ".join(e.name if isinstance(e, TypedName) else str(e) for e in entries)
        elif spec.kind in ("flag", "bool"):
            fields[parameter.name] = attributes.get(spec.name, "")
        elif spec.name in attributes:
            value = attributes[spec.name]
            fields[parameter.name] = _written(value, spec.kind, spec.storage)
        elif spec.dynamic and operands.get(spec.dynamic):
            fields[parameter.name] = operands[spec.dynamic][0].name
    return fields


def _written(value: Any, kind: str, storage: str) -> str:
    if kind == "int-lists":
        return str([list(v) for v in value])
    if kind == "dictionary":
        return attribute_text(value, kind, storage)
    if kind == "bools":
        # One per size, usually all false; left empty, it need not match a changed number of sizes.
        return ", ".join(str(v).lower() for v in value) if any(value) else ""
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


# Optional arguments that are usually given.
_USUAL = ("ops", "interface", "op_name", "factor")
Offered = Sequence[tuple[TypedName, bool]]


def found_html(ops: Iterable[CatalogueOp], recipes: Iterable[Recipe]) -> str:
    """Return ops and recipes as a list to choose from."""
    items = [_item(op.name, op.short_name, op.sentence, op.group, _argument_names(op)) for op in ops]
    items += [_item(r.name, r.name, r.sentence, "recipe") for r in recipes]
    if not items:
        return element("p", "Nothing like that.", class_="lh-note")
    return element("ul", *items, class_="lhw-found")


def _argument_names(op: CatalogueOp) -> str:
    return " ".join(
        [o.name for o in op.operands] + [a.name for a in op.attributes] + [r.name for r in op.results]
    )


def _item(name: str, shown: str, sentence: str, group: str, more: str = "") -> str:
    words = (element("b", escaped(shown)), element("span", escaped(group), class_="lhw-group"))
    said = element("span", escaped(sentence), class_="lhw-sentence")
    found = {"type": "button", "data_choose": name, "data_more": more or None}  # words that it is found by too
    return element("li", element("button", *words, said, **found))


def form_html(op: CatalogueOp, handles: Offered, fields: Mapping[str, Any], *, is_new: bool) -> str:
    """Return the form of an op: required and usual arguments first, the rest folded."""
    first: list[str] = []
    more: list[str] = []
    for parameter in parameters_of(op):
        row = _field(parameter, handles, fields.get(parameter.name, ""))
        is_shown = parameter.is_required or fields.get(parameter.name) not in (None, "", False)
        spec = parameter.attribute  # sizes and options are usual
        is_usual = spec is not None and (spec.dynamic is not None or spec.name in _USUAL)
        (first if is_shown or is_usual else more).append(row)
    if is_new and op.results:
        listed = ", ".join(r.name for r in op.results)
        more.append(_row(NAMES, f"names of {listed}", _text_input(NAMES, "")))
        if any(r.count == "many" for r in op.results):
            said = "how many handles it gives, where its arguments do not tell"
            more.append(_row(RESULTS, said, _text_input(RESULTS, "")))
    folded = element("details", element("summary", "more arguments"), *more) if more else ""
    return "".join(first) + folded


def untiled_words(fields: Fields, trace: Trace | None, worker: Worker | None) -> str:
    """Return the loops of the op that a form tiles, and those that its sizes leave whole; else ""."""
    handles = {h.name: h.id for h in trace.handle_records} if trace is not None else {}
    target = str(fields.get("target", ""))
    if trace is None or "tile_sizes" not in fields or target not in handles:
        return ""
    try:
        loops = loops_of(trace, handles[target], worker=worker)
    except LhkitError:  # no structured op
        return ""
    sizes = _items(fields["tile_sizes"])
    marks = {"reduction": " (reduction)"}
    listed = [f"{d.name} {d.extent or '?'}{marks.get(d.role, '')}" for d in loops.dimensions]
    left = [d.name for i, d in enumerate(loops.dimensions) if i >= len(sizes) or sizes[i] == "0"]
    words = f"{loops.op} has the loops {', '.join(listed)}"
    return f"{words}; {', '.join(left)} will not be tiled (a size per loop, 0 leaves it whole)" if left else ""


def recipe_form_html(recipe: Recipe, handles: Offered) -> str:
    """Return the form of a recipe: a handle for each argument."""
    fitting = [(h, dead) for h, dead in handles if kind_of_type(h.type) == "op"]
    return "".join(
        _row(f"handle {i}", type_, _menu(f"handle{i}", fitting, "", is_required=True))
        for i, type_ in enumerate(recipe.arguments)
    )


def _field(parameter: Parameter, handles: Offered, value: Any) -> str:
    spec, operand, name = parameter.attribute, parameter.operand, parameter.name
    kind = "" if spec is None else spec.kind
    if spec is None and operand is not None and operand.count != "many":
        fitting = [(h, dead) for h, dead in handles if kind_of_type(h.type) in operand.kinds]
        control = _menu(name, fitting, str(value), is_required=parameter.is_required)
    elif kind == "flag":
        control = element("input", type="checkbox", name=name, checked="" if value is True else None)
    elif spec is not None and kind in ("enum", "bool"):
        words = [c.name for c in spec.cases] if kind == "enum" else ["true", "false"]
        shown = str(value).lower() if isinstance(value, bool) else str(value)
        control = element("select", *(_option(w, w, chosen=w == shown) for w in ["", *words]), name=name)
    else:
        control = _text_input(name, str(value))
    return _row(name, parameter.describe(), control)


def _row(name: str, said: str, control: str) -> str:
    label = element("span", escaped(name), class_="lhw-field-name")
    return element("label", label, control, element("small", escaped(said)), class_="lhw-field")


def _text_input(name: str, value: str) -> str:
    return element("input", type="text", name=name, value=value, autocomplete="off", spellcheck="false")


def _menu(name: str, handles: Offered, value: str, *, is_required: bool) -> str:
    options = [] if is_required else [_option("", "—", chosen=not value)]
    if value and all(value != h.name for h, _ in handles):
        options.append(_option(value, value, chosen=True))
    for handle, dead in handles:
        shown = f"{handle.name} (invalidated by then)" if dead else handle.name
        options.append(_option(handle.name, shown, chosen=handle.name == value))
    return element("select", *options, name=name)


def _option(value: str, shown: str, *, chosen: bool) -> str:
    return element("option", escaped(shown), value=value, selected="selected" if chosen else None)


@dataclass(frozen=True, slots=True)
class StepPlace:
    """A place ``after``, ``before`` or ``inside`` a step of a text, or ``step`` to replace it."""

    side: str
    number: int

    @property
    def as_keyword(self) -> dict[str, int]:
        """The place as `lhkit.text.step_edits.insert_step` takes it."""
        return {self.side: self.number}

    def describe(self, script: Script) -> str:
        """Return the place in words."""
        op = script.find(self.number)
        name = op.name.removeprefix("transform.")
        at = f"{name} in line {script.line_of(op)}"
        return {"inside": f"at the end of {at}", "step": at}.get(self.side, f"{self.side} {at}")


def place_of(script: Script, op: OpSyntax) -> str:
    """Return the place of a step in a text, as ``"line:column"``."""
    place = script.syntax.place(op.name_start)
    return f"{place.line}:{place.column}"


def asked_step(command: Mapping[str, Any], field: str, script: Script, trace: Trace | None) -> int:
    """Return the number in a text of the step that a command names.

    Args:
        command: The command.
        field: Its field with the step: an index of the trace, a place as of `place_of`, a handle that the step
            defines, or the ``@name`` of a sequence.
        script: The text.
        trace: Its trace; None if there is none.
    """
    step = command.get(field)
    if isinstance(step, bool) or not isinstance(step, (int, str)):
        raise usage_error(f"{field!r} is the number of a step, not {step!r}")
    if isinstance(step, str) and ":" not in step:
        return script.number_of(script.find(step))
    if isinstance(step, int):
        places = steps_by_place(trace).items()
        place = next((at for at, ran in places if any(each.index == step for each in ran)), None)
        if place is None:
            advice = 'Steps are counted from 0, as they ran. "line:column" names one that did not run.'
            raise usage_error(f"there is no step {step} in the trace of this text", advice)
        step = "{}:{}".format(*place)
    number = next((n for n, op in enumerate(script.steps) if place_of(script, op) == step), None)
    if number is None:
        raise usage_error(f"no step begins at {step}")
    return number


def asked_place(command: Mapping[str, Any], script: Script, trace: Trace | None, entry: str) -> StepPlace:
    """Return the place that a command names; default the end of the entry sequence."""
    for side in ("after", "before", "inside", "step"):
        if command.get(side) is not None:
            number = asked_step(command, side, script, trace)
            return StepPlace("inside" if script.find(number).name == SEQUENCE else side, number)
    return StepPlace("inside", script.number_of(script.find(f"@{entry}")))


def number_after(script: Script, place: StepPlace) -> int:
    """Return the number of a step after its insertion at a place."""
    op = script.find(place.number)
    if place.side == "before":
        return place.number
    if place.side == "inside":
        inner = [o for o in script.steps if op.start < o.start < op.end]
        last = op.regions[-1].ops[-1] if op.regions and op.regions[-1].ops else None
        return script.number_of(last) if last is not None else place.number + len(inner) + 1
    return place.number + sum(op.start <= o.start < op.end for o in script.steps)


def handles_at(script: Script, place: StepPlace) -> tuple[tuple[TypedName, bool], ...]:
    """Return the handles in scope at a place, nearest first, each with whether it is consumed by then."""
    op = script.find(place.number)
    at, inner = op.end if place.side == "after" else op.start, op.start
    if place.side == "inside" and op.regions:
        at, inner = op.regions[-1].end - 1, op.regions[-1].start + 1
    found: list[tuple[TypedName, bool]] = []
    for definition, value, is_dead in values_in_scope(script, inner, at):
        with contextlib.suppress(UsageError):  # its type is not written: it cannot be offered
            found.append((TypedName(value, type_of(script, definition, value)), is_dead))
    return tuple(sorted(found, key=lambda entry: entry[1]))


def selected_first(
    handles: Offered, script: Script, place: StepPlace, trace: Trace, selected: tuple[str, str]
) -> tuple[Offered, bool]:
    """Sort the handles for a new step: the live ones that are selected or hold the selected op, newest first.

    Args:
        handles: As of `handles_at`; those that the trace knows to be invalidated are marked and come last.
        script: The text.
        place: The place of the new step.
        trace: The trace of the text.
        selected: ``handle`` or ``op``, and its ids; or empty.

    Returns:
        The handles, and whether the first one is selected or holds the selected op.
    """
    op, (kind, ids) = script.find(place.number), selected
    home = next(s for s in reversed(script.steps) if s.name == SEQUENCE and s.start <= op.start < s.end)
    at = script.syntax.place(op.name_start)
    ran = steps_by_place(trace).get((at.line, at.column)) if place.side == "after" else None
    states = trace.states_after(ran[-1].index if ran else len(trace.step_records) - 1)
    known = {
        record.name: states[record.id]
        for record in trace.handle_records
        if record.id in states and record.sequence == home.symbol
    }
    wanted: set[object] = set(ids.split())
    ranked: list[tuple[TypedName, bool, bool]] = []
    for handle, is_dead in handles:
        change = known.get(handle.name, HandleChange("", "live"))
        held: set[object] = (
            {change.handle} if kind == "handle" else {*change.payload} if kind == "op" else set()
        )
        is_invalid = is_dead or change.state == "invalid"
        ranked.append((handle, is_invalid, not held & wanted))
    ranked.sort(key=lambda entry: entry[1:])
    return [entry[:2] for entry in ranked], bool(ranked) and not any(ranked[0][1:])


def steps_by_place(trace: Trace | None) -> dict[tuple[int, int], list[TraceStep]]:
    """Return the trace steps of each step of the text, by its line and column."""
    found: dict[tuple[int, int], list[TraceStep]] = {}
    for step in trace.step_records if trace is not None else ():
        if step.source is not None and trace is not None and step.source.file == trace.schedule.source:
            found.setdefault((step.source.line, step.source.column), []).append(step)
    return found
