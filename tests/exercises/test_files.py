"""The files of exercises, hints, progress, and how verdicts show themselves; without a compiler where possible."""

import json
import tomllib

import pytest

import lhkit
from lhkit.exercises.attempt import FOLDER, Finding, Verdict, read_task
from lhkit.exercises.exercise import Exercise, progress_file, remember
from lhkit.lessons.lesson_list import solved_exercises
from lhkit.load.shipped_files import shipped_folder
from lhkit.model.errors import UsageError

NAMES = lhkit.exercises.names()


def test_there_are_enough_and_every_file_has_its_own_name():
    assert len(NAMES) >= 15
    assert len(NAMES) == len(list(FOLDER.glob("*.toml")))
    assert sum(2 + len(read_task(name).wrong) for name in NAMES) >= 45


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_complete(name):
    task = read_task(name)
    assert name.isidentifier()
    assert (shipped_folder("notebooks") / f"{task.notebook}.ipynb").is_file()
    assert task.hints
    assert len(task.wrong) >= 2
    assert task.teaches
    assert task.stub.strip().splitlines()[-1].startswith(f"{name}.check(")
    cells = [task.cell(task.solution), *(task.cell(wrong.changes) for wrong in task.wrong)]
    assert len({task.stub, *cells}) == len(cells) + 1
    for cell in cells:
        compile(cell, name, "exec")
    solution = task.cell(task.solution)
    assert not any(solution.strip() in hint for hint in task.hints)
    assert all(check.truth in (None, *TRUTHS, "none-else", "all") for check in task.checks)


TRUTHS = ("states", "deaths", "counts", "weights")


@pytest.mark.parametrize("name", [n for n in NAMES if read_task(n).answer != "guess"])
def test_every_check_is_failed_by_a_planted_answer(name):
    """A check that nothing fails would never teach anybody."""
    task = read_task(name)
    assert {check.says for check in task.checks} == {says for wrong in task.wrong for says in wrong.fails}


def test_an_unknown_name_says_which_is_near():
    with pytest.raises(UsageError, match=r"(?s)no exercise 'one_lop'.*one_loop"):
        lhkit.exercises.load("one_lop")


def test_a_change_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="occurs 0 times in the stub of 'One loop'"):
        read_task("one_loop").cell((("no such text", ""),))


def test_hints_open_one_at_a_time():
    exercise = lhkit.exercises.load("move_the_step")
    hints = exercise.task.hints
    assert str(exercise.hint()).startswith(f"**Hint 1 of 2.** {hints[0]}")
    assert "`move_the_step.hint()` opens hint 2 of 2" in str(exercise.statement)
    last = str(exercise.hint())
    assert hints[1] in last
    assert "`move_the_step.solution()` shows one way" in last
    assert str(exercise.hint()) == last
    assert 'before = "transform.loop.unroll"' in str(exercise.solution())
    assert 'before = "transform.loop.unroll"' not in exercise.stub


def test_an_answer_of_another_kind_is_refused():
    exercise = lhkit.exercises.load("one_loop")
    with pytest.raises(UsageError, match=r"(?s)takes a schedule.*this is int.*one_loop\.stub"):
        exercise.check(3)


def test_an_exercise_without_a_schedule_says_so():
    with pytest.raises(UsageError, match="one_loop comes without a schedule"):
        _ = lhkit.exercises.load("one_loop").schedule


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("LHKIT_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


def test_what_is_solved_is_remembered(state):
    assert solved_exercises() == {}
    assert remember("one_loop") == f"Solved: 1 of {len(NAMES)} exercises."
    day = solved_exercises()["one_loop"]
    progress_file().write_text(
        json.dumps({"schema": "lhkit.exercises/1", "solved": {"one_loop": "2001-02-03"}})
    )
    assert remember("one_loop") == f"Solved: 1 of {len(NAMES)} exercises."
    assert solved_exercises() == {"one_loop": "2001-02-03"}
    assert len(day) == len("2001-02-03")
    table = lhkit.exercises.progress()
    assert list(table.index) == list(NAMES)
    assert dict(table.solved[table.solved != ""]) == {"one_loop": "2001-02-03"}
    assert "Solved on 2001-02-03" in str(lhkit.exercises.load("one_loop").statement)


@pytest.mark.parametrize("content", ["{", "[]", '{"schema": "x", "solved": {"a": "b"}}', '{"solved": 3}'])
def test_a_damaged_file_holds_nothing_and_is_written_anew(state, content):
    state.mkdir()
    progress_file().write_text(content)
    assert solved_exercises() == {}
    remember("one_loop")
    assert list(solved_exercises()) == ["one_loop"]


def test_where_nothing_can_be_written_the_verdict_says_so(state):
    state.parent.mkdir(exist_ok=True)
    state.write_text("a file where the folder should be")
    assert remember("one_loop").startswith(f"Solved; that could not be remembered in {state}")


def test_a_verdict_shows_what_was_seen_and_escapes_it():
    findings = (Finding("a < b", True), Finding("c", False, "<one>\ntwo"))
    verdict = Verdict("name", findings, "Next.", lambda: {"text/html": "<svg>", "text/plain": "picture"})
    assert str(verdict) == (
        "name: 1 of 2\n  right    a < b\n  not yet  c\n             <one>\n             two\nNext."
    )
    bundle = verdict._repr_mimebundle_()
    assert bundle["text/plain"] == f"{verdict}\n\npicture"
    assert bundle["text/html"].endswith("<svg>")
    assert "a &lt; b" in bundle["text/html"]
    assert "&lt;one&gt;\ntwo" in bundle["text/html"]


def test_statement_and_solution_show_as_markdown():
    exercise = lhkit.exercises.load("one_loop")
    assert isinstance(exercise, Exercise)
    assert exercise._repr_mimebundle_()["text/markdown"].startswith(
        "### One loop\n\nThe payload adds whole tensors"
    )
    assert exercise.solution()._repr_mimebundle_()["text/markdown"].startswith("```python\n")


def test_the_files_are_toml_and_nothing_else():
    for path in FOLDER.iterdir():
        assert path.suffix == ".toml"
        tomllib.loads(path.read_text(encoding="utf-8"))
