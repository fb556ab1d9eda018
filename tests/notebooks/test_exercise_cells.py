"""Exercises stand in their notebooks as in their files: the statement, then the stub; the solution nowhere."""

import re

import pytest
from notebook_texts import NOTEBOOKS, ROOT, cells_of

import lhkit
from lhkit.exercises.attempt import read_task

LOADED = re.compile(r'exercises\.load\("(\w+)"\)')


@pytest.mark.parametrize("name", lhkit.exercises.names())
def test_an_exercise_stands_in_its_notebook(name):
    task = read_task(name)
    path = ROOT / f"{task.notebook}.ipynb"
    assert f"## Exercise: {task.title}\n\n{task.statement.strip()}" in cells_of(path, "markdown")
    assert f'{name} = lhkit.exercises.load("{name}")\n\n{task.stub.strip()}' in cells_of(path, "code")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_has_its_exercises_and_no_solution(path):
    code = cells_of(path, "code")
    loaded = [name for cell in code for name in LOADED.findall(cell)]
    own = {name for name in lhkit.exercises.names() if read_task(name).notebook == path.stem}
    assert len(loaded) == len(set(loaded))
    assert set(loaded) == own
    for name in own:
        task = read_task(name)
        assert not any(task.cell(task.solution).strip() in cell for cell in code)
        assert not any('"not yet"' in cell for cell in code)
