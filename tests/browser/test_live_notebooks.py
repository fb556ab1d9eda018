"""Drawings in JupyterLab and Notebook 7: live, in both themes, and as they are kept in files."""

import copy

import nbformat
import pytest
from conftest import SCREENSHOTS, notebook_of, opened, output, run_cell
from nbclient import NotebookClient

import lhkit
from lhkit.lessons.publishing import WIDGET_VIEW

SETUP = """import lhkit

payload, schedule = lhkit.load_payload("fc_relu.mlir"), lhkit.load_schedule("fc_relu_handles.mlir")
trace = lhkit.trace(payload, schedule)"""
DRAWINGS = {
    "trace": "trace",
    "timeline": "lhkit.show.timeline(trace)",
    "diff": "lhkit.show.diff(trace, step=5)",
    "schedule graph": "lhkit.show.graph(trace)",
    "payload graph": "lhkit.show.graph(trace, step=8)",
    "tiles": "lhkit.show.tiles(trace, step=8)",
    "code": "lhkit.show.code(kernel := lhkit.compile(payload, schedule))",
    "payload": "payload",
    "schedule": "schedule",
    "kernel": "kernel",
    "comparison": "comparison = lhkit.measure({'tiled': kernel}, rounds=2)\ncomparison",
    "measurement": "comparison.measurements[1]",
    "op counts": "lhkit.show.op_counts(trace)",
}
# Drawings of one trace that have the handle that is selected; the graph has handles that are used.
LINKED = ("trace", "timeline", "diff")
SAID = "print(lhkit.show.timeline(trace).selection.value)"
SET = "lhkit.show.timeline(trace).selection.select('step', '5')"
APPLICATIONS = ("lab", "notebook")


@pytest.fixture(scope="module")
def handle():
    """A handle that lives to the end."""
    trace = lhkit.trace(lhkit.load_payload("fc_relu.mlir"), lhkit.load_schedule("fc_relu_handles.mlir"))
    return next(h.id for h in trace.handle_records if h.name == "%forall_2")


def test_a_tile_picture_follows_a_knob_that_moves(watched, server):
    nbformat.write(notebook_of([SETUP, "lhkit.show.tiles(trace, knobs=True)"]), server.folder / "knobs.ipynb")
    page = opened(watched, server, "lab", "knobs.ipynb", height=1600)
    for number in range(2):
        run_cell(page, number)
    title = output(page, 1).locator(".lh-live h3")
    title.get_by_text("tile = 32").wait_for()
    output(page, 1).get_by_role("slider", name="tile").fill("1")
    title.get_by_text("tile = 16").wait_for()
    output(page, 1).get_by_text("tile 16×").first.wait_for()
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.page.screenshot(path=SCREENSHOTS / "knobs.png")
    page.check(*server.addresses)


def test_knobs_of_a_picture_whose_kernel_restarted_say_so_and_stay(watched, server):
    cell = f"{SETUP}\nlhkit.show.tiles(trace, knobs=True)"
    nbformat.write(notebook_of([cell]), server.folder / "lost_knobs.ipynb")
    page = opened(watched, server, "lab", "lost_knobs.ipynb", height=1600)
    run_cell(page, 0)
    knob = output(page, 0).get_by_role("slider", name="tile")
    said = output(page, 0).locator(".lh-knobs .lh-said")
    title = output(page, 0).locator(".lh-live h3")
    knob.fill("1")
    title.get_by_text("tile = 16").wait_for()
    page.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    said.get_by_text("disconnected: run the cell again.").wait_for()
    assert knob.evaluate("input => input.closest('[inert]') !== null")
    assert knob.get_attribute("aria-valuetext") == "16"
    run_cell(page, 0)
    title.get_by_text("tile = 32").wait_for()
    assert not page.page.locator(".lh-knobs [inert]").count()


@pytest.mark.parametrize("application", APPLICATIONS)
def test_drawings_are_live_and_share_what_is_selected(watched, server, application, handle):
    name = f"live_{application}.ipynb"
    cells = [SETUP, *DRAWINGS.values(), SAID, SET]
    nbformat.write(notebook_of(cells), server.folder / name)
    page = opened(watched, server, application, name, height=6000)
    for number in range(len(DRAWINGS) + 1):
        run_cell(page, number)
    places = {key: number for number, key in enumerate(DRAWINGS, 1)}
    for key, number in places.items():
        output(page, number).locator(".lh-live").locator(".lh-frame, .lh-tl").first.wait_for(state="attached")
        assert output(page, number).is_visible(), key
    output(page, places["timeline"]).locator(f"[data-handle='{handle}']").first.click()
    for key in LINKED:
        lit = output(page, places[key]).locator(f".lh-selected[data-handle~='{handle}']")
        lit.first.wait_for(state="attached")
    # Python knows, and says it to all.
    said = len(DRAWINGS) + 1
    run_cell(page, said)
    output(page, said).get_by_text(f"{{'kind': 'handle', 'id': '{handle}'}}").wait_for()
    run_cell(page, said + 1)
    for key in ("trace", "timeline", "schedule graph"):
        output(page, places[key]).locator(".lh-selected[data-step='5']").first.wait_for(state="attached")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.page.screenshot(path=SCREENSHOTS / f"{application}.png")
    light = page.page.evaluate("getComputedStyle(document.querySelector('.lh-live')).color")
    page.page.evaluate(
        "window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})"
    )
    page.page.wait_for_function(
        "was => getComputedStyle(document.querySelector('.lh-live')).color !== was", arg=light
    )
    page.page.screenshot(path=SCREENSHOTS / f"{application}_dark.png")
    page.page.evaluate(
        "window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Light'})"
    )
    page.check(*server.addresses)


@pytest.fixture(scope="module")
def executed(server):
    """A notebook that ran elsewhere and was saved, as it lies in a folder years later."""
    notebook = notebook_of([SETUP, *DRAWINGS.values()])
    NotebookClient(notebook, timeout=120, store_widget_state=False).execute()
    return notebook


def test_what_is_saved_holds_pictures_and_no_widget(executed):
    for cell in executed.cells[1:]:
        (shown,) = [o for o in cell.outputs if o.output_type == "execute_result"]
        assert WIDGET_VIEW not in shown.data
        assert set(shown.data) == {"text/html", "text/plain", "image/svg+xml", "image/png"}


# The other two of the four are tried by hand.
SAVED = [("lab", True), ("notebook", False)]
SAVED += [pytest.param(name, not trusted, marks=pytest.mark.heavy) for name, trusted in SAVED]


@pytest.mark.parametrize(("application", "trusted"), SAVED)
def test_a_saved_notebook_shows_every_picture_without_running(watched, server, executed, application, trusted):
    name = f"saved_{application}_{trusted}.ipynb"
    notebook = copy.deepcopy(executed)
    notebook.metadata["of"] = name  # trust is given to a content, wherever it lies
    nbformat.write(notebook, server.folder / name)
    if trusted:
        server.trust(name)
    page = opened(watched, server, application, name, height=6000)
    pictured = {"trace", "timeline", "schedule graph", "payload graph", "tiles", "comparison", "measurement"}
    for number, key in enumerate(DRAWINGS, 1):
        place = output(page, number)
        place.wait_for(state="attached")
        place.scroll_into_view_if_needed()
        if key in pictured and not trusted:
            image = place.locator("img").first
            image.wait_for()
            assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100, key
        elif key in pictured:
            place.locator("svg >> visible=true").first.wait_for()
            assert place.locator("img >> visible=true").count() == 0, key
        else:
            assert len(place.inner_text()) > 80, key
    assert page.page.get_by_text("Error displaying widget").count() == 0
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.page.screenshot(path=SCREENSHOTS / f"{name.removesuffix('.ipynb')}.png")
    page.check(*server.addresses)
