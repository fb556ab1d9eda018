"""Every notebook: runs from clean, has no outputs in git, has one idea in under 25 cells."""

import ast
import builtins
import os

import nbformat
import pytest
from notebook_texts import NOTEBOOKS, ROOT

LESSONS = [path for path in NOTEBOOKS if path.parent == ROOT]
# Lessons that a stranger follows alone, from the first on.
TAUGHT = ("00_", "02_", "03_", "04_", "05_", "06_", "07_", "reading_")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs(path, run_notebook):
    if "import torch" in path.read_text(encoding="utf-8") and not os.environ.get("LHKIT_TESTS_NEED_TORCH"):
        pytest.importorskip("torch")
    notebook = nbformat.read(run_notebook(path), as_version=4)
    outputs = [o for c in notebook.cells for o in c.get("outputs", ())]
    assert not any(o.output_type == "error" for o in outputs)
    assert any("image/png" in o.get("data", {}) for o in outputs), "no picture"
    assert not [o for o in outputs if o.output_type == "stream" and o.name == "stderr"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_is_stripped_and_short(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [c for c in notebook.cells if c.cell_type == "code"]
    assert all(not c.outputs and c.execution_count is None for c in code)
    assert len(notebook.cells) < 25
    assert not any(line.startswith(("def ", "class ")) for c in code for line in c.source.splitlines())


@pytest.mark.parametrize("path", [p for p in LESSONS if p.name.startswith(TAUGHT)], ids=lambda p: p.stem)
def test_a_lesson_asks_before_it_tells(path):
    cells = nbformat.read(path, as_version=4).cells
    assert len(cells) >= 12
    assert "?" in cells[0].source, "no question at the beginning"
    told = sum(c.source.count("<details><summary>Answer</summary>") for c in cells)
    asked = sum(".check(" in c.source for c in cells if c.cell_type == "code")
    assert asked >= 2
    assert told >= 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_hides_no_name_of_python(path):
    """A cell that calls something ``sum`` makes the reader's later ``sum(…)`` fail with a riddle."""
    cells = [c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    stored = {
        node.id
        for source in cells
        for node in ast.walk(
            compile(source, path.name, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        )
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    assert not stored & set(dir(builtins))
