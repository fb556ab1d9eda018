"""Every exercise three ways: the stub teaches, the solution passes, planted wrong answers fail as they should."""

import ast

import numpy as np
import pytest

import lhkit
from lhkit.exercises.attempt import read_task

TASKS = {name: read_task(name) for name in lhkit.exercises.names()}
WRONG = [(name, wrong) for name, task in TASKS.items() for wrong in task.wrong]


@pytest.fixture(scope="module")
def loaded():
    """Exercises by name: payloads are loaded and references compiled once."""
    kept = {}
    return lambda name: kept.setdefault(name, lhkit.exercises.load(name))


def verdict_on(exercise, cell):
    """Run a cell as a notebook does; its last line hands over the answer."""
    tree = ast.parse(cell)
    last = ast.Expression(tree.body.pop().value)
    scope = {"lhkit": lhkit, "np": np, exercise.name: exercise}
    exec(compile(tree, "<cell>", "exec"), scope)
    return eval(compile(last, "<cell>", "eval"), scope)


def seen_by(verdict):
    return "\n".join(finding.seen for finding in verdict.findings if not finding.is_right)


@pytest.mark.parametrize("name", TASKS)
def test_a_stub_fails_and_teaches(name, loaded):
    exercise = loaded(name)
    verdict = verdict_on(exercise, exercise.stub)
    assert not verdict.is_solved
    assert exercise.task.teaches in seen_by(verdict)
    assert f"`{name}.hint()` opens hint 1 of " in verdict.next_step


@pytest.mark.parametrize("name", TASKS)
def test_a_solution_passes(name, loaded):
    exercise = loaded(name)
    verdict = verdict_on(exercise, exercise.task.cell(exercise.task.solution))
    assert verdict.is_solved, verdict.describe()
    assert name in lhkit.exercises.progress().query("solved != ''").index


@pytest.mark.parametrize(("name", "wrong"), WRONG, ids=[f"{n}-{w.name}" for n, w in WRONG])
def test_a_wrong_answer_fails_for_its_reason(name, wrong, loaded):
    exercise = loaded(name)
    verdict = verdict_on(exercise, exercise.task.cell(wrong.changes))
    assert tuple(f.says for f in verdict.findings if not f.is_right) == wrong.fails, verdict.describe()
    assert wrong.fails
    assert wrong.seen in seen_by(verdict), verdict.describe()


PICTURES = {
    "move_the_step": ("stub", "lh-view", "%piece"),
    "vectorize_the_product": ("stub", "lh-view", "vector.contract"),
    "predict_the_causes": ("solution", "lh-view", "inside"),
    "fit_the_registers": ("stub", "<pre>", "too many"),
    "what_outs_does": ("stub", "<pre>", "asked for:"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_verdict_shows_what_the_answer_did(name, loaded):
    which, html, text = PICTURES[name]
    exercise = loaded(name)
    cell = exercise.stub if which == "stub" else exercise.task.cell(exercise.task.solution)
    bundle = verdict_on(exercise, cell)._repr_mimebundle_()
    assert html in bundle["text/html"]
    assert text in bundle["text/plain"]


def test_a_wrong_guess_does_not_give_the_answer_away(loaded):
    exercise = loaded("predict_the_causes")
    bundle = verdict_on(exercise, exercise.stub)._repr_mimebundle_()
    assert not {"direct", "alias", "nested"} & set(bundle["text/plain"].split())


def test_a_word_that_is_no_choice_is_called_one(loaded):
    guess = dict.fromkeys(("%matmul", "%all", "%sub", "%tile"), "live") | {"%loop": "alive"}
    seen = seen_by(loaded("live_empty_or_invalidated").check(guess))
    assert "Your guess is 'alive', which is none of live, empty, invalidated." in seen
    assert "Your guess is 'live'." in seen


@pytest.mark.parametrize("constraints", [["tile_m <"], ["rows <= 4"]], ids=["no expression", "no knob"])
def test_a_constraint_that_cannot_be_read_is_a_finding(constraints, loaded):
    verdict = loaded("fit_the_registers").check(constraints)
    assert not verdict.is_solved
    assert constraints[0] in seen_by(verdict)
    assert verdict.picture is None


def test_text_that_does_not_parse_is_a_finding_and_no_exception(loaded):
    verdict = loaded("one_loop").check("module {")
    assert not verdict.is_solved
    assert "<yours>:1:" in seen_by(verdict)
    assert verdict.picture is None


@pytest.mark.parametrize(("payload", "is_said"), [("softmax", True), ("fc_relu", False)])
def test_a_failure_names_the_payload_of_a_schedule_that_is_for_another(payload, is_said, loaded):
    exercise = loaded("move_the_step")
    text = f"// Payload: data/{payload}.mlir, or\n" + lhkit.load_schedule("fc_relu_handles.mlir").text
    step = "transform.structured.vectorize %piece : !transform.any_op"
    seen = seen_by(exercise.check(text.replace("transform.yield", f"{step}\n    transform.yield")))
    assert "%piece is invalidated" in seen
    assert (f"The schedule is for data/{payload}.mlir" in seen) == is_said
