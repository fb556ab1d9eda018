"""Lessons: a private copy that is never overwritten, what was run and solved, and the page that says it."""

import json
import re
from pathlib import Path

import pytest

from lhkit.cli.lab_command import INDEX, lab_environment, write_index
from lhkit.cli.main import run_program
from lhkit.lessons import lesson_list as room
from lhkit.lessons.lesson_list import (
    Lesson,
    copy_notebooks,
    find_notebook,
    lessons_in,
    lessons_markdown,
    lessons_table,
    reset_notebook,
)
from lhkit.load.shipped_files import shipped_folder
from lhkit.model.errors import UsageError

EXERCISE = 'import lhkit\none = lhkit.exercises.load("name_the_dead")\ntwo = lhkit.exercises.load("fuse_all")'


def cell(kind, source, **more):
    return {"cell_type": kind, "metadata": {}, "source": source, **more}


def notebook(*cells):
    return json.dumps({"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """A folder of two notebooks and one below, in place of those that are shipped."""
    folder = tmp_path / "shipped"
    (folder / "templates").mkdir(parents=True)
    opening = cell("markdown", "# Dead handles\n\n*What kills a handle?* More of it.")
    code = cell("code", EXERCISE, execution_count=None, outputs=[])
    (folder / "00_dead.ipynb").write_text(notebook(opening, code))
    (folder / "01_plain.ipynb").write_text(notebook(cell("markdown", ["# Plain\n", "\n", "words"])))
    (folder / "templates" / "compare.ipynb").write_text(notebook(cell("markdown", "# Compare\n\nOne idea.")))
    (folder / "lessons.json").write_text(
        json.dumps({"00_dead": {}, "01_plain": {"idea": "The idea of it.", "minutes": 15}})
    )
    monkeypatch.setattr(room, "shipped_folder", lambda kind: folder)
    monkeypatch.setenv("LHKIT_STATE_DIR", str(tmp_path / "state"))
    return folder


def solve(tmp_path, *names, schema="lhkit.exercises/1"):
    (tmp_path / "state").mkdir(exist_ok=True)
    solved = {"schema": schema, "solved": dict.fromkeys(names, "2026-11-21")}
    (tmp_path / "state" / "exercises.json").write_text(json.dumps(solved))


def run(path, *, count=1, outputs=()):
    """Save a copy as JupyterLab does after its cells of code were run."""
    data = json.loads(path.read_text())
    for each in data["cells"]:
        if each["cell_type"] == "code":
            each.update(execution_count=count, outputs=list(outputs))
    path.write_text(json.dumps(data))


def test_a_lesson_has_a_title_an_idea_and_its_exercises(shipped):
    dead, plain, compare = lessons_in()
    assert (dead.title, dead.idea) == ("Dead handles", "*What kills a handle?*")
    assert dead.exercises == ("name_the_dead", "fuse_all") and dead.solved == ()
    assert plain.idea == "The idea of it."
    assert compare.path == "templates/compare.ipynb" and compare.idea == "One idea."
    assert (dead.minutes, plain.minutes, compare.minutes) == (10, 15, 5)


def test_lessons_come_in_the_order_of_the_file_beside_them(shipped):
    (shipped / "lessons.json").write_text(json.dumps({"01_plain": {}, "templates/compare": {}}))
    assert [x.path for x in lessons_in()] == ["01_plain.ipynb", "00_dead.ipynb", "templates/compare.ipynb"]


def test_what_was_run_is_read_from_the_copy(shipped, tmp_path):
    copy = tmp_path / "copy"
    copy_notebooks(copy)
    assert [x.state for x in lessons_in(copy)] == ["new"] * 3
    run(copy / "00_dead.ipynb", count=None, outputs=())
    (copy / "00_dead.ipynb").write_text((copy / "00_dead.ipynb").read_text() + "\n")
    assert lessons_in(copy)[0].state == "begun"
    run(copy / "00_dead.ipynb")
    assert lessons_in(copy)[0].state == "run"
    run(copy / "00_dead.ipynb", outputs=[{"output_type": "error"}])
    assert lessons_in(copy)[0].state == "begun"


def test_done_is_run_and_solved(shipped, tmp_path):
    copy = tmp_path / "copy"
    copy_notebooks(copy)
    run(copy / "00_dead.ipynb")
    solve(tmp_path, "name_the_dead", "of_another_notebook")
    assert lessons_in(copy)[0].solved == ("name_the_dead",) and not lessons_in(copy)[0].is_done
    solve(tmp_path, "name_the_dead", "fuse_all")
    assert lessons_in(copy)[0].is_done
    solve(tmp_path, "name_the_dead", "fuse_all", schema="lhkit.exercises/2")
    assert lessons_in(copy)[0].solved == ()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "lhkit.exercises/1", "solved": 3}'])
def test_a_damaged_memory_is_none(shipped, tmp_path, text):
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "exercises.json").write_text(text)
    assert lessons_in()[0].solved == ()


def test_a_damaged_copy_is_begun(shipped, tmp_path):
    copy = tmp_path / "copy"
    copy_notebooks(copy)
    (copy / "00_dead.ipynb").write_text("mine")
    assert lessons_in(copy)[0].state == "begun"
    assert copy_notebooks(copy) == [] and (copy / "00_dead.ipynb").read_text() == "mine"


def test_reset_restores_one_and_keeps_what_was_there(shipped, tmp_path):
    copy = tmp_path / "copy"
    copy_notebooks(copy)
    for text in ("first", "second"):
        (copy / "00_dead.ipynb").write_text(text)
        (copy / "01_plain.ipynb").write_text("mine")
        kept = reset_notebook(copy, "00")
        assert kept.read_text() == text and kept.parent == copy
        assert (copy / "00_dead.ipynb").read_bytes() == (shipped / "00_dead.ipynb").read_bytes()
        assert (copy / "01_plain.ipynb").read_text() == "mine"
    assert reset_notebook(copy, "00") is None
    assert len(lessons_in(copy)) == 3, "what is kept is no lesson"


def test_a_notebook_is_found_by_number_name_and_folder(shipped, tmp_path):
    for name in ("00", "00_dead", "00_dead.ipynb"):
        assert find_notebook(tmp_path, name) == tmp_path / "00_dead.ipynb"
    assert find_notebook(tmp_path, "templates/compare").name == "compare.ipynb"
    for name in ("0", "7", ""):
        with pytest.raises(UsageError, match=r"00_dead\.ipynb, 01_plain\.ipynb"):
            find_notebook(tmp_path, name)


def test_the_page_lists_what_is_done_and_what_is_next(shipped, tmp_path):
    copy = tmp_path / "copy"
    copy_notebooks(copy)
    run(copy / "00_dead.ipynb")
    solve(tmp_path, "name_the_dead", "fuse_all")
    page = lessons_markdown(lessons_in(copy))
    assert "**1 of 2 done**, 2 of 2 exercises solved. Next: [Plain](01_plain.ipynb)." in page
    assert "| [Dead handles](00_dead.ipynb) | *What kills a handle?* | 10 | ✓ done | 2 of 2 |" in page
    assert "## Templates" in page and all((copy / x).exists() for x in re.findall(r"\]\((.*?)\)", page))


def test_the_page_is_written_when_something_has_changed(shipped, tmp_path):
    copy = tmp_path / "copy"
    copy_notebooks(copy)
    assert write_index(copy) and not write_index(copy)
    solve(tmp_path, "fuse_all")
    assert write_index(copy) and "1 of 2 exercises solved" in (copy / INDEX).read_text()


def test_a_bar_in_a_text_stays_in_its_cell():
    table = lessons_table([Lesson("a.ipynb", "a | b", "c | d", 5)], link=lambda lesson: "b.html", states=False)
    assert table.splitlines()[-1] == "| [a &#124; b](b.html) | c &#124; d | 5 |"


def test_the_reset_of_the_command_line_says_where_the_old_one_is(tmp_path, capsys):
    folder = tmp_path / "copy"
    copy_notebooks(folder)
    (folder / "02_handles.ipynb").write_text("mine")
    assert run_program(["lab", "--folder", str(folder), "--reset", "02", "--reset", "03"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].endswith("02_handles.before-reset-1.ipynb") and said[1].endswith("is new already")
    assert (folder / "02_handles.before-reset-1.ipynb").read_text() == "mine"
    assert not (folder / INDEX).exists()
    assert run_program(["lab", "--folder", str(folder), "--reset", "77"]) == 2


def test_every_shipped_notebook_says_what_it_is_about():
    for lesson in lessons_in():
        assert 15 <= len(lesson.idea) <= 160, f"notebooks/lessons.json has no line for {lesson.path}"
        assert 5 <= lesson.minutes <= 60
    named = json.loads((shipped_folder("notebooks") / "lessons.json").read_text())
    assert set(named) <= {lesson.path.removesuffix(".ipynb") for lesson in lessons_in()}


def test_the_settings_of_the_lab_stand_behind_those_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "/of/the/user")
    path = lab_environment(tmp_path)["JUPYTER_CONFIG_PATH"]
    assert path.startswith("/of/the/user") and path.endswith(str(tmp_path))
    settings = json.loads(next(Path(tmp_path).rglob("*.json")).read_text())
    assert settings["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"


def test_the_pages_of_lessons_say_where_to_begin():
    lessons = lessons_in()
    page = lessons_markdown(lessons)
    assert "You have never read MLIR: [Reading payload IR](reading_payload_ir.ipynb); " in page
    assert "you write schedules already: [The workbench](01_explorer.ipynb). In doubt" in page
    readme = (shipped_folder("notebooks") / "README.md").read_text(encoding="utf-8")
    assert all(f"[{x.title}]({x.path})" in readme and x.idea.split(": ")[-1] in readme for x in lessons)


def test_numbers_of_lessons_have_no_gap():
    names = [x.path for x in lessons_in() if x.path[0].isdigit()]
    assert [int(name[:2]) for name in names] == list(range(len(names)))
