"""Adding steps from the catalogue and from recipes, and changing those that are there."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lhkit.compose.form_text import form_text, read_forms
from lhkit.compose.recipes import Recipe, insert_recipe
from lhkit.compose.step_candidates import USUAL, include_text
from lhkit.compose.trial_steps import known_recipes
from lhkit.load.catalogue_cache import load_catalogue
from lhkit.load.user_code import known_own_ops
from lhkit.model.errors import usage_error
from lhkit.model.op_catalogue import Catalogue, with_own_ops
from lhkit.model.schedule import Schedule
from lhkit.model.step_form import Form, TypedName, WrittenForm
from lhkit.text.script import Script
from lhkit.text.step_edits import insert_step, replace_step
from lhkit.workbench.commands_steps import change
from lhkit.workbench.form_fields import (
    StepPlace,
    asked_place,
    built_form,
    form_html,
    found_html,
    handles_at,
    has_body,
    number_after,
    recipe_form_html,
    written_fields,
)
from lhkit.workbench.screen import mapping, text

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench

_MOST_FOUND = 24
_MOST_RECIPES = 8
_ROLES = ("step",)


def catalogue_of(workbench: Workbench) -> Catalogue:
    """Return the ops that can be used: those of the bindings, of lhkit, and one's own."""
    worker = workbench.worker
    return with_own_ops(load_catalogue(worker), known_own_ops(worker))


def _place(workbench: Workbench, command: Mapping[str, Any]) -> tuple[Script, StepPlace]:
    script = workbench.parsed_script()
    return script, asked_place(command, script, workbench.session.schedule.entry)


def _search(workbench: Workbench, question: Mapping[str, Any]) -> str:
    """``{"words": str}`` → ops and recipes that they point to; without words the usual ones."""
    catalogue, words = catalogue_of(workbench), text(question, "words").strip()
    if not words:
        usual = ("structured.match", *USUAL[:-1])
        return found_html((catalogue.op(name) for name in usual if f"transform.{name}" in catalogue), ())
    ops = [op for op in catalogue.search(words, most=2 * _MOST_FOUND) if op.role in _ROLES]
    asked, recipes = words.lower().split(), _recipes(workbench.session.schedule)
    fitting = [r for r in recipes if all(w in f"{r.name} {r.sentence} recipe".lower() for w in asked)]
    return found_html(ops[:_MOST_FOUND], fitting[:_MOST_RECIPES])


@functools.lru_cache(maxsize=2)
def _recipes(schedule: Schedule) -> tuple[Recipe, ...]:
    """Return the recipes that can be added to a schedule; reading the shipped ones takes a moment."""
    script = Script(schedule.text, schedule.source)
    return tuple(r for r in known_recipes(script, schedule) if not r.clash)


def _recipe(workbench: Workbench, name: str) -> Recipe:
    found = next((r for r in _recipes(workbench.session.schedule) if r.name == name), None)
    if found is None:
        raise usage_error(f"there is no recipe {name}")
    return found


def _form(workbench: Workbench, question: Mapping[str, Any]) -> dict[str, Any]:
    """``{"op": name, "after": number}`` or ``{"step": number}`` → the form, and where its step goes."""
    script, place = _place(workbench, question)
    handles = handles_at(script, place)
    if place.side == "step":
        written = _written(workbench, script, place.number)
        op = catalogue_of(workbench).op(written.form.op)
        if has_body(op):
            message = f"{op.name} has steps inside: its arguments are changed in the text"
            raise usage_error(message, "Its inner steps can be edited one by one.")
        html = form_html(op, handles, written_fields(written.form, op), is_new=False)
        return _asked(op.name, op.short_name, op.sentence, html, place.describe(script))
    name = text(question, "op")
    if name.startswith("@"):
        recipe = _recipe(workbench, name)
        return _asked(name, name, recipe.sentence, recipe_form_html(recipe, handles), place.describe(script))
    op = catalogue_of(workbench).op(name)
    html = form_html(op, handles, {}, is_new=True)
    return _asked(op.name, op.short_name, op.sentence, html, place.describe(script))


def _asked(op: str, title: str, sentence: str, html: str, where: str) -> dict[str, Any]:
    return {"op": op, "title": title, "sentence": sentence, "html": html, "where": where}


def _written(workbench: Workbench, script: Script, number: int) -> WrittenForm:
    """Return a step of the text as a form."""
    place = script.syntax.place(script.find(number).name_start)
    forms = read_forms(script.text, name=script.source, worker=workbench.worker)
    found = next((f for f in forms if (f.line, f.column) == (place.line, place.column)), None)
    if found is None:
        raise usage_error(f"step {number} cannot be read as a form")
    return found


def _built(workbench: Workbench, command: Mapping[str, Any]) -> tuple[StepPlace, str, str, Script]:
    """Return where the step of a form goes, its text, the sequences that it needs, and the text it is for."""
    script, place = _place(workbench, command)
    handles = [handle for handle, _ in handles_at(script, place)]
    fields = mapping(command, "fields")
    old: Form | None = None
    if place.side == "step":
        old = _written(workbench, script, place.number).form
    name = old.op if old is not None else text(command, "op")
    if name.startswith("@"):
        recipe = _recipe(workbench, name)
        return place, include_text(recipe, _given(recipe, fields, handles)), recipe.sequences, script
    catalogue = catalogue_of(workbench)
    form = built_form(catalogue.op(name), fields, handles, catalogue, old)
    return place, form_text(form, catalogue), "", script


def _given(recipe: Recipe, fields: Mapping[str, Any], handles: list[TypedName]) -> list[TypedName]:
    known = {handle.name: handle for handle in handles}
    names = [str(fields.get(f"handle{i}", "")) for i in range(len(recipe.arguments))]
    if missing := [name for name in names if name not in known]:
        raise usage_error(f"{recipe.name} takes {len(names)} handles, and {missing[0] or 'one'} is not there")
    return [known[name] for name in names]


def _preview(workbench: Workbench, question: Mapping[str, Any]) -> str:
    """``{"op", "fields", "after"}`` or ``{"step", "fields"}`` → the step as it will be written."""
    return _built(workbench, question)[1]


def _add(workbench: Workbench, command: Mapping[str, Any]) -> None:
    """``{"op": name, "fields": {…}, "after" | "before" | "inside": number}``."""
    place, lines, sequences, script = _built(workbench, command)
    place_of = place.as_keyword
    number = number_after(script, place)
    if sequences:
        change(workbench, command, lambda s: insert_recipe(s, lines, sequences, **place_of))
    else:
        change(workbench, command, lambda s: insert_step(s, lines, **place_of))
    workbench.show_number(number)


def _set(workbench: Workbench, command: Mapping[str, Any]) -> None:
    """``{"step": number, "fields": {…}}``."""
    place, lines, _, _ = _built(workbench, command)
    change(workbench, command, lambda script: replace_step(script, place.number, lines))
    workbench.show_number(place.number)


COMMANDS: Mapping[str, Callable[[Workbench, Mapping[str, Any]], None]] = {"add_step": _add, "set_step": _set}
QUESTIONS: Mapping[str, Callable[[Workbench, Mapping[str, Any]], Any]] = {
    "search": _search,
    "form": _form,
    "preview": _preview,
}
