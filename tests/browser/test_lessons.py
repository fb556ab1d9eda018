"""Two lessons driven through their exercises in JupyterLab: stub, hint, a wrong answer, the solution."""

import shutil

import nbformat
import pytest
from conftest import SCREENSHOTS
from test_live_notebooks import opened, output, run_cell

import lhkit
from lhkit.exercises.attempt import read_task
from lhkit.load.shipped_files import shipped_folder

# The exercises of a notebook that need no more than its first cell of code.
DRIVEN = {
    "03_invalidated_handles": ("predict_the_causes", "mend_two_mistakes", "match_again"),
    "reading_payload_ir": ("what_outs_does", "read_the_maps", "sum_of_the_columns"),
}
WRITE = """([number, source]) => {
  const cell = window.jupyterapp.shell.currentWidget.content.widgets[number];
  cell.model.sharedModel.setSource(source);
}"""


def write_and_run(page, number, source):
    page.page.evaluate(WRITE, [number, source])
    run_cell(page, number)
    return output(page, number)


@pytest.mark.parametrize("name", DRIVEN)
def test_a_lesson_is_driven_through_its_exercises(watched, server, name):
    shipped = shipped_folder("notebooks") / f"{name}.ipynb"
    shutil.copy(shipped, server.folder)
    cells = nbformat.read(shipped, as_version=4).cells
    page = opened(watched, server, "lab", f"{name}.ipynb", height=3000)
    run_cell(page, next(i for i, cell in enumerate(cells) if cell.cell_type == "code"))
    for exercise in DRIVEN[name]:
        task = read_task(exercise)
        at = next(i for i, cell in enumerate(cells) if f"{exercise}.check(" in cell.source)
        run_cell(page, at)
        shown = output(page, at)
        shown.get_by_text("✗ not yet").first.wait_for()
        shown.get_by_text(f"{exercise}.hint()").first.wait_for()
        hint = write_and_run(page, at, f"{exercise}.hint()")
        hint.get_by_text(f"Hint 1 of {len(task.hints)}.").wait_for()
        wrong = write_and_run(page, at, task.cell(task.wrong[0].changes))
        wrong.get_by_text("✗ not yet").first.wait_for()
        right = write_and_run(page, at, task.cell(task.solution))
        right.get_by_text(f"{exercise}: solved").wait_for()
        assert right.get_by_text("✗ not yet").count() == 0
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.page.screenshot(path=SCREENSHOTS / f"{name}.png")
    page.check(*server.addresses)
    assert set(DRIVEN[name]) <= set(lhkit.exercises.progress().query("solved != ''").index)
