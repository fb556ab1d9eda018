"""Edits of texts that no compiler took: they give a text or are refused, and never fail otherwise."""

import random

from texts import damaged, generated, shipped

from lhkit.model.errors import UsageError
from lhkit.text.knob_text import knob_to_literal
from lhkit.text.script import Script
from lhkit.text.step_arguments import arguments_of, set_argument
from lhkit.text.step_edits import (
    disable_step,
    disabled_steps,
    duplicate_step,
    enable_step,
    insert_step,
    move_step,
    remove_step,
    replace_step,
    wrap_in_foreach,
)

NEW = "%new = transform.param.constant 1 : i64 -> !transform.param<i64>"


def edits(draw, script):
    """Return every edit of a random step of a script, as functions."""
    count = len(script.steps)
    step, other = draw.randrange(count), draw.randrange(count)
    op = script.steps[step]
    name = draw.choice([a.name for a in arguments_of(op)] or ["none"])
    return [
        lambda: insert_step(script, NEW, before=step),
        lambda: insert_step(script, f"// why\n{NEW}", after=step),
        lambda: insert_step(script, NEW, inside=step),
        lambda: replace_step(script, step, NEW),
        lambda: remove_step(script, step, with_dependents=True),
        lambda: move_step(script, step, before=other),
        lambda: move_step(script, step, after=other),
        lambda: duplicate_step(script, step),
        lambda: disable_step(script, step, with_dependents=True),
        lambda: set_argument(script, step, name, "1"),
        lambda: set_argument(script, step, name, "1", index=0),
        lambda: set_argument(script, step, name, None),
        lambda: knob_to_literal(script, "k", 1),
        lambda: wrap_in_foreach(script, step),
        lambda: wrap_in_foreach(script, min(step, other), max(step, other)),
    ]


def test_edits_of_damaged_texts_give_a_text_or_are_refused():
    made = 0
    for seed, whole in enumerate([*shipped().values(), *generated(60)]):
        draw = random.Random(seed)
        script = Script(damaged(whole, seed, times=draw.choice([0, 1, 3, 8])))
        for edit in edits(draw, script) if script.steps else []:
            try:
                edited = edit()
            except UsageError:
                continue
            made += 1
            assert edited.before == script.text
            again = Script(edited.text)
            for number in range(len(disabled_steps(edited.text))):
                assert enable_step(again, number).text != edited.text
    assert made > 500
