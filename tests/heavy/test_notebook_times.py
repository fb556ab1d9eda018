"""How long the notebooks take, one after the other on this machine: all of them, and the slowest cell of each.

Run by hand with ``pytest -m heavy -s``; it prints a row a notebook.
"""

import time

import nbformat
import pytest
from nbclient import NotebookClient

from lhkit.load.shipped_files import shipped_folder

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(3600)]

NOTEBOOKS = sorted(shipped_folder("notebooks").rglob("*.ipynb"))
# What readers and a room of them can be told.
MOST_SECONDS, MOST_SECONDS_A_CELL = 8 * 60, 20
taken: dict[str, list[float]] = {}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_no_cell_keeps_its_reader_waiting(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
    started = time.perf_counter()
    cells = []
    with client.setup_kernel():
        for number, cell in enumerate(notebook.cells):
            began = time.perf_counter()
            client.execute_cell(cell, number)
            cells.append(time.perf_counter() - began)
    whole = time.perf_counter() - started
    taken[path.stem] = [whole, *cells]
    slowest = max(range(len(cells)), key=cells.__getitem__)
    print(f"\n{path.stem:28}{whole:6.1f} s, of which cell {slowest} takes {cells[slowest]:.1f} s")
    assert cells[slowest] < MOST_SECONDS_A_CELL


def test_all_of_them_fit_a_short_break():
    assert set(taken) == {path.stem for path in NOTEBOOKS}, "run the whole file"
    whole = sum(times[0] for times in taken.values())
    print(f"\nall {len(taken)} notebooks: {whole:.0f} s")
    assert whole < MOST_SECONDS
