"""Commands of a workbench and the questions of its forms: view, history, runs, edits of steps and text."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lhkit.compose.form_text import form_text, read_forms
from lhkit.compose.recipes import Recipe, insert_recipe
from lhkit.compose.step_candidates import USUAL, include_text
from lhkit.compose.trial_steps import known_recipes
from lhkit.model.errors import UsageError, usage_error
from lhkit.model.schedule import Schedule
from lhkit.model.step_form import TypedName, WrittenForm
from lhkit.model.trace_record import Trace
from lhkit.text import step_edits
from lhkit.text.script import Edited, Script, is_terminator
from lhkit.workbench import form_fields
from lhkit.workbench.layout_memory import checked_layout, remember_layout
from lhkit.workbench.runs import RunKind
from lhkit.workbench.screen import (
    Command,
    Notice,
    Typed,
    brought_forward,
    fitting,
    flag,
    integer,
    mapping,
    text,
)
from lhkit.workbench.workbench_core import WorkbenchCore
from lhkit.worker.cancellation import was_stopped

_SELECTED_KINDS = ("", "step", "handle", "op")
_RUNS: Mapping[RunKind, str] = {
    "run": "Running",
    "measure": "Measuring",
    "sweep": "Sweeping",
    "propose": "Proposing",
}


def _select(workbench: WorkbenchCore, command: Command) -> None:
    """``{"step": index, "kind": "step" | "handle" | "op" | "", "ids": str, "by": view}``.

    Unknown ids, such as those of an earlier trace's picture, select nothing.
    """
    trace = workbench.trace
    step, kind = integer(command, "step"), text(command, "kind")
    last = len(trace.step_records) - 1 if trace else -1
    if not -1 <= step <= last:
        raise usage_error(f"there is no step {step}; there are {last + 1}")
    if kind not in _SELECTED_KINDS:
        raise usage_error(f"nothing of kind {kind!r} can be selected")
    asked = dataclasses.replace(workbench.screen, step=step, kind=kind, ids=text(command, "ids"))
    workbench.screen = dataclasses.replace(fitting(asked, trace), by=str(command.get("by", "")))
    if workbench.screen.kind == "handle":
        workbench.tryouts.prepare()  # the next question is likely about it
    if trace and workbench.screen.kind == "op":
        workbench.fusion.choose(trace, workbench.screen.ids)


def _open(workbench: WorkbenchCore, command: Command) -> None:
    """``{"area": name, "pane": name, "by": view}``: bring a pane to the front of its area."""
    front = brought_forward(workbench.screen.front, text(command, "pane"), text(command, "area"))
    workbench.look(front=front, by=str(command.get("by", "")))


def _set_layout(workbench: WorkbenchCore, command: Command) -> None:
    """``{"layout": JSON text, "by": view}``: where the panes are, for this workbench and the user's next."""
    layout = checked_layout(text(command, "layout"))
    remember_layout(layout)
    workbench.look(layout=layout, by=str(command.get("by", "")))


def _undo_or_redo(workbench: WorkbenchCore, command: Command) -> None:
    session, name = workbench.session, text(command, "do")
    if not (session.undo() if name == "undo" else session.redo()):
        raise usage_error(f"there is nothing to {name}")


def _checkpoint(workbench: WorkbenchCore, command: Command) -> None:
    """``{"name": str}``; default the next free number."""
    taken = workbench.session.checkpoints
    free = next(n for n in range(1, len(taken) + 2) if f"checkpoint {n}" not in taken)
    workbench.session.checkpoint(str(command.get("name") or f"checkpoint {free}").strip())


def _take_repair(workbench: WorkbenchCore, command: Command) -> None:
    """``{"number": int, "title": str, "of": "fusion"}``: apply a repair that was found, or one of a fusion."""
    number, found = integer(command, "number"), workbench.repairs.found
    if command.get("of") == "fusion":
        answer = workbench.fusion.answer
        found = answer.repairs.found if answer and workbench.fusion.version == workbench.version_id else ()
    if not 0 <= number < len(found) or found[number].title != command.get("title"):
        raise usage_error("that repair is of another problem", "Take one of those that are shown now.")
    workbench.session.set_text(found[number].text, title=f"repair: {found[number].title}")


def _set_knobs(workbench: WorkbenchCore, command: Command) -> None:
    """``{"knobs": {name: value}, "gesture": id}``: changes of one gesture are one version."""
    gesture = command.get("gesture")
    amends = gesture is not None and gesture == workbench.gesture
    workbench.gesture = None
    knobs = mapping(command, "knobs")
    workbench.session.set_knobs(knobs, amends=amends)
    workbench.gesture, workbench.neighbors.moved = gesture, next(iter(knobs), None)


def _add_tried(workbench: WorkbenchCore, command: Command) -> None:
    """``{"number": int, "handle": name}``: add an op that was tried."""
    tryouts = workbench.tryouts
    if command.get("handle") != tryouts.handle or tryouts.version != workbench.version_id:
        raise usage_error("the schedule has changed since that was tried", "Ask again what can be done.")
    tried, place = tryouts.tried(integer(command, "number")), tryouts.place
    number = form_fields.number_after(workbench.script, place)
    change(workbench, command, lambda s: insert_recipe(s, tried.text, tried.sequences, **place.as_keyword))
    workbench.show_number(number)


def _start_run(workbench: WorkbenchCore, kind: RunKind) -> None:
    if workbench.session.is_trusted:
        workbench.runs.start(kind)
        return
    names = " and ".join(doubt.name for doubt in workbench.session.doubts)
    message = f"{_RUNS[kind]} compiles {names} and executes it as native code on this machine."
    action = (f"Trust and {kind}", {"do": "trust", "then": kind})
    workbench.notice = Notice("refused", message, "", (action,))


def _trust(workbench: WorkbenchCore, command: Command) -> None:
    """``{"then": "run" | "measure" | "sweep" | "propose"}``, or ``{}`` to take the trace only."""
    workbench.trust()
    then = command.get("then")
    if then is None:
        return
    if then not in _RUNS:
        raise usage_error(f"there is nothing called {then!r} to do after trusting")
    workbench.runs.start(then)


def _go_back(workbench: WorkbenchCore, command: Command) -> None:
    """``{"result": number, "bar": index}``: restore the version of a result, or of one of its variants."""
    result = workbench.runs.result(integer(command, "result"))
    session, knobs = workbench.session, result.knobs
    if "bar" in command:
        number = integer(command, "bar")
        if not 0 <= number < len(result.bars):
            raise usage_error(f"result {result.number} has no bar {number}")
        knobs = result.bars[number].knobs or knobs
    is_other = session.text != result.schedule.text
    if is_other:
        session.set_text(result.schedule.text, title=f"back to result {result.number}")
    if knobs:
        session.set_knobs(dict(knobs), amends=is_other)


def _look_at_code(workbench: WorkbenchCore) -> None:
    workbench.code.start(workbench.current_trace())


def _profile(workbench: WorkbenchCore, _: Command) -> None:
    """``{}``: time the parts of the whole model in place, each with the schedule that it has here."""
    if not workbench.model.parts:
        raise usage_error("the payload is not cut into parts")
    workbench.show_part("")
    workbench.runs.start("profile", workbench.model.profile)


_MOST_FOUND = 24
_MOST_RECIPES = 8


def change(workbench: WorkbenchCore, command: Command, edit: Callable[[Script], Edited]) -> Edited:
    """Apply an edit to the text that the command was given for, and report its side effects as a notice."""
    if command.get("version", workbench.version_id) != workbench.version_id:
        raise usage_error("the schedule has changed meanwhile; nothing was done", "Do it again.")
    edited = workbench.session.edit(edit)
    if edited.notes:
        workbench.notice = Notice("done", "; ".join(edited.notes))
    return edited


def _current_trace(workbench: WorkbenchCore) -> Trace | None:
    return None if workbench.session.is_stale else workbench.trace


def _step(workbench: WorkbenchCore, command: Command, field: str = "step") -> int:
    # Number in the text, named as `asked_step` says: by the index in the trace, as "select" does, or by place.
    return form_fields.asked_step(command, field, workbench.script, _current_trace(workbench))


def _with_dependents(
    workbench: WorkbenchCore, command: Command, edit: Callable[..., Edited], verb: str
) -> None:
    """``{"step": …, "with_dependents": bool}``: where others depend on the step, offer to include them."""
    step, along = _step(workbench, command), flag(command, "with_dependents")
    try:
        change(workbench, command, lambda script: edit(script, step, with_dependents=along))
    except UsageError as error:
        script = workbench.script
        others = () if along else step_edits.dependents_of(script, step)
        if not others or any(map(is_terminator, others)):
            raise
        count = f"the {len(others)} that depend on it" if others[1:] else "the one that depends on it"
        label = f"{verb} it and {count}"
        again = {**command, "with_dependents": True}
        workbench.notice = Notice("refused", error.failure.message, "", ((label, again),))


def _move(workbench: WorkbenchCore, command: Command) -> None:
    """``{"step": …, "before": …}`` or ``"after"``, or ``"by": -1 | 1`` among its siblings."""
    step = _step(workbench, command)
    if "by" in command:
        script, is_down = workbench.script, integer(command, "by") > 0
        _, ops, index = script.home_of(script.find(step))
        at = index + (1 if is_down else -1)
        if not 0 <= at < len(ops) or is_terminator(ops[at]):
            raise usage_error(f"there is no step {'below' if is_down else 'above'} it in its block")
        place = {"after" if is_down else "before": script.number_of(ops[at])}
    else:
        side = "before" if "before" in command else "after"
        place = {side: _step(workbench, command, side)}
    change(workbench, command, lambda script: step_edits.move_step(script, step, **place))


def _add_text(workbench: WorkbenchCore, command: Command) -> None:
    """``{"text": transform IR, "after" | "before" | "inside": …}``."""
    lines = text(command, "text")
    side = next((s for s in ("before", "inside") if s in command), "after")
    place = {side: _step(workbench, command, side)}
    change(workbench, command, lambda script: step_edits.insert_step(script, lines, **place))


def _set_text(workbench: WorkbenchCore, command: Command) -> None:
    """``{"text": str, "gesture": id, "by": view}``: what is typed in one gesture is one version."""
    written = text(command, "text")
    gesture = command.get("gesture")
    session = workbench.session
    if written != session.text:
        amends = gesture is not None and gesture == workbench.gesture
        workbench.gesture = None
        session.set_text(written, amends=amends)
        workbench.gesture = gesture
    workbench.typed = Typed(str(command.get("by", "")), workbench.version_id, gesture is not None)


def _settle_text(workbench: WorkbenchCore, _: Command) -> None:
    """``{}``: typing has paused; the next change is a new version."""
    workbench.typed = dataclasses.replace(workbench.typed, goes_on=False)


def _save_text(workbench: WorkbenchCore, command: Command) -> None:
    """``{"path": str, "overwrite": bool}``: save to the followed file, or follow another."""
    session, overwrites = workbench.session, flag(command, "overwrite")
    name = str(command.get("path") or "").strip()
    again = {**command, "overwrite": True}
    followed = session.followed
    if name:
        path = Path(name)
        if path.exists() and not overwrites:
            message = f"there is a file {path.name} already; nothing was written"
            workbench.notice = Notice("refused", message, "", ((f"overwrite {path.name}", again),))
            return
        session.save_as(path)
        session.follow(path)
        workbench.notice = Notice("done", f"saved as {path}; it is followed from now on")
        return
    if followed is None:
        raise usage_error("the schedule has no file yet", "Give it a name to save it under.")
    try:
        followed.save(session.text, overwrites=overwrites)
    except UsageError as error:
        is_other = followed.changed_meanwhile(session.text)
        actions = (("overwrite it", again), ("take its text", {"do": "take_file"})) if is_other else ()
        workbench.notice = Notice.refusal(error.failure, actions)
        return
    workbench.notice = Notice("done", f"saved to {followed.path.name}")


def _trace(workbench: WorkbenchCore, _: Command) -> None:
    """``{}``: resume a parse or trace that was cancelled."""
    session = workbench.session
    if was_stopped(session.version.failure):
        session.set_text(session.text, title=session.version.title, amends=True)
    elif session.is_stale:
        session.retrace()


def _take_file(workbench: WorkbenchCore, _: Command) -> None:
    """``{}``: take the text of the followed file."""
    followed = workbench.session.followed
    if followed is not None:
        workbench.session.follow(followed.path)


def _place(workbench: WorkbenchCore, command: Command) -> tuple[Script, form_fields.StepPlace]:
    script = workbench.parsed_script()
    return script, form_fields.asked_place(
        command, script, _current_trace(workbench), workbench.session.schedule.entry
    )


def _search(workbench: WorkbenchCore, question: Command) -> str:
    """``{"words": str}`` → matching ops and recipes as HTML; without words the usual ones, of ``*`` all."""
    catalogue, words = workbench.catalogue(), text(question, "words").strip()
    if words == "*":
        steps = (op for op in catalogue.ops if op.role == "step")
        return form_fields.found_html(steps, _recipes(workbench.session.schedule))
    if not words:
        usual = ("structured.match", *USUAL[:-1])
        return form_fields.found_html(
            (catalogue.op(name) for name in usual if f"transform.{name}" in catalogue), ()
        )
    ops = [op for op in catalogue.search(words, most=2 * _MOST_FOUND) if op.role == "step"]
    asked, recipes = words.lower().split(), _recipes(workbench.session.schedule)
    fitting = [r for r in recipes if all(w in f"{r.name} {r.sentence} recipe".lower() for w in asked)]
    return form_fields.found_html(ops[:_MOST_FOUND], fitting[:_MOST_RECIPES])


@functools.lru_cache(maxsize=2)
def _recipes(schedule: Schedule) -> tuple[Recipe, ...]:
    script = Script(schedule.text, schedule.source)
    return tuple(r for r in known_recipes(script, schedule) if not r.clash)


def _recipe(workbench: WorkbenchCore, name: str) -> Recipe:
    found = next((r for r in _recipes(workbench.session.schedule) if r.name == name), None)
    if found is None:
        raise usage_error(f"there is no recipe {name}")
    return found


def _form(workbench: WorkbenchCore, question: Command) -> dict[str, Any]:
    """``{"op": name, "after": …}`` or ``{"step": …}`` → the form, and where its step goes.

    With ``kind`` and ``ids`` of the selection, a new step is proposed for what is selected.
    """
    script, place = _place(workbench, question)
    handles: form_fields.Offered = form_fields.handles_at(script, place)
    wanted = ""  # the selected op, where no handle holds it
    if place.side != "step" and (trace := _current_trace(workbench)) is not None:
        selected = str(question.get("kind", "")), str(question.get("ids", ""))
        handles, is_held = form_fields.selected_first(handles, script, place, trace, selected)
        named = {op.id: op.name for op in trace.op_records} if selected[0] == "op" and not is_held else {}
        wanted = next((named[each] for each in selected[1].split() if each in named), "")
    old = _written(workbench, script, place.number).form if place.side == "step" else None
    name = old.op if old is not None else text(question, "op")
    if name.startswith("@"):
        recipe = _recipe(workbench, name)
        title, sentence = name, recipe.sentence
        html = form_fields.recipe_form_html(recipe, handles)
    else:
        op = workbench.catalogue().op(name)
        if old is not None and form_fields.has_body(op):
            message = f"{op.name} has steps inside: its arguments are changed in the text"
            raise usage_error(message, "Its inner steps can be edited one by one.")
        name, title, sentence = op.name, op.short_name, op.sentence
        fields = form_fields.written_fields(old, op) if old is not None else {}
        if wanted and op.short_name == "structured.match":
            fields = {"ops": wanted}
        elif wanted:
            sentence += f" No handle holds the selected {wanted} here: structured.match gives one."
        html = form_fields.form_html(op, handles, fields, is_new=old is None)
    return {"op": name, "title": title, "sentence": sentence, "html": html, "where": place.describe(script)}


def _written(workbench: WorkbenchCore, script: Script, number: int) -> WrittenForm:
    place = script.syntax.place(script.find(number).name_start)
    forms = read_forms(script.text, name=script.source, worker=workbench.session.worker)
    found = next((f for f in forms if (f.line, f.column) == (place.line, place.column)), None)
    if found is None:
        raise usage_error(f"{script.describe(script.find(number))} cannot be read as a form")
    return found


def _built(workbench: WorkbenchCore, command: Command) -> tuple[form_fields.StepPlace, str, str, Script]:
    """Return a filled form as (place, text of the step, text of the sequences it includes, script)."""
    script, place = _place(workbench, command)
    handles = [handle for handle, _ in form_fields.handles_at(script, place)]
    fields = mapping(command, "fields")
    old = _written(workbench, script, place.number).form if place.side == "step" else None
    name = old.op if old is not None else text(command, "op")
    if name.startswith("@"):
        recipe = _recipe(workbench, name)
        return place, include_text(recipe, _given(recipe, fields, handles)), recipe.sequences, script
    catalogue = workbench.catalogue()
    form = form_fields.built_form(catalogue.op(name), fields, handles, catalogue, old)
    return place, form_text(form, catalogue), "", script


def _preview(workbench: WorkbenchCore, question: Command) -> dict[str, str]:
    """``{"op", "fields", "after"}`` or ``{"step", "fields"}`` → the step as it will be written, and a hint."""
    trace, worker = _current_trace(workbench), workbench.session.worker
    hint = form_fields.untiled_words(mapping(question, "fields"), trace, worker)
    return {"text": _built(workbench, question)[1], "hint": hint}


def _given(recipe: Recipe, fields: Mapping[str, Any], handles: list[TypedName]) -> list[TypedName]:
    known = {handle.name: handle for handle in handles}
    names = [str(fields.get(f"handle{i}", "")) for i in range(len(recipe.arguments))]
    if missing := [name for name in names if name not in known]:
        raise usage_error(f"{recipe.name} takes {len(names)} handles, and {missing[0] or 'one'} is not there")
    return [known[name] for name in names]


def _add(workbench: WorkbenchCore, command: Command) -> None:
    """``{"op": name, "fields": {…}, "after" | "before" | "inside": …}``."""
    place, lines, sequences, script = _built(workbench, command)
    place_of = place.as_keyword
    number = form_fields.number_after(script, place)
    if sequences:
        change(workbench, command, lambda s: insert_recipe(s, lines, sequences, **place_of))
    else:
        change(workbench, command, lambda s: step_edits.insert_step(s, lines, **place_of))
    workbench.show_number(number)


def _set(workbench: WorkbenchCore, command: Command) -> None:
    """``{"step": …, "fields": {…}}``."""
    place, lines, _, _ = _built(workbench, command)
    change(workbench, command, lambda script: step_edits.replace_step(script, place.number, lines))
    workbench.show_number(place.number)


COMMANDS: Mapping[str, Callable[[WorkbenchCore, Command], object]] = {
    "select": _select,
    "open": _open,
    "set_layout": _set_layout,
    # {"large": bool}: large type, for a projector.
    "set_large": lambda workbench, command: workbench.look(is_large=flag(command, "large"), by=""),
    # {"whole": bool}: the payload as text instead of as a diff.
    "set_whole": lambda workbench, command: workbench.look(whole_payload=flag(command, "whole"), by=""),
    "undo": _undo_or_redo,
    "redo": _undo_or_redo,
    "checkpoint": _checkpoint,
    "restore": lambda workbench, command: workbench.session.restore(text(command, "name")),
    "recover": lambda workbench, _: workbench.session.recover(),
    "take_repair": _take_repair,
    "set_knobs": _set_knobs,
    "run": lambda workbench, _: _start_run(workbench, "run"),
    "measure": lambda workbench, _: _start_run(workbench, "measure"),
    "sweep": lambda workbench, _: _start_run(workbench, "sweep"),
    # A first schedule for the payload, which an empty schedule becomes.
    "propose": lambda workbench, _: _start_run(workbench, "propose"),
    "profile": _profile,
    # {"part": name}: put a part of the model on screen, with a schedule of its own.
    "open_part": lambda workbench, command: workbench.show_part(text(command, "part")),
    "show_whole": lambda workbench, _: workbench.show_part(""),
    "stop": lambda workbench, _: workbench.runs.stop(),
    "go_back": _go_back,
    # {"handle": id}: try ops and recipes on a handle of the trace.
    "try_handle": lambda workbench, command: workbench.tryouts.start(
        workbench.current_trace(), workbench.parsed_script(), text(command, "handle")
    ),
    "add_tried": _add_tried,
    # {"producer": name, "consumer": name}: why these two ops of the payload are not fused.
    "why_not_fused": lambda workbench, command: workbench.fusion.start(
        workbench.current_trace(), text(command, "producer"), text(command, "consumer")
    ),
    # {}: compile the current version, and link its hot loops to the payload and the steps.
    "look_at_code": lambda workbench, _: _look_at_code(workbench),
    # {"pipeline": text, "scheduled": bool}: run passes on the payload, or on what the schedule makes of it.
    "run_passes": lambda workbench, command: workbench.passes.start(
        text(command, "pipeline"), is_scheduled=command.get("scheduled") is True
    ),
    "trust": _trust,
    "remove_step": lambda workbench, command: _with_dependents(
        workbench, command, step_edits.remove_step, "remove"
    ),
    "switch_off": lambda workbench, command: _with_dependents(
        workbench, command, step_edits.disable_step, "switch off"
    ),
    # {"off": number among the disabled steps}
    "switch_on": lambda workbench, command: change(
        workbench, command, functools.partial(step_edits.enable_step, number=integer(command, "off"))
    ),
    "duplicate_step": lambda workbench, command: change(
        workbench, command, functools.partial(step_edits.duplicate_step, step=_step(workbench, command))
    ),
    "move_step": _move,
    "add_text": _add_text,
    "set_text": _set_text,
    "settle_text": _settle_text,
    "save_text": _save_text,
    "take_file": _take_file,
    "trace": _trace,
    "add_step": _add,
    "set_step": _set,
}
QUESTIONS: Mapping[str, Callable[[WorkbenchCore, Command], Any]] = {
    "search": _search,
    "form": _form,
    "preview": _preview,
}
