"""Every notebook: runs from clean, has no outputs in git, has one idea in at most 25 cells."""

import nbformat
import pytest
from nbclient import NotebookClient

from lhkit.shipped import shipped_folder

NOTEBOOKS = sorted(shipped_folder("notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
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
    assert len(notebook.cells) <= 25
    assert not any(line.startswith(("def ", "class ")) for c in code for line in c.source.splitlines())
