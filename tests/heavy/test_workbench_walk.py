"""A walk through the workbench in JupyterLab, Notebook 7 and its own tab, with a screenshot of each state.

Three sizes, two themes: from opening it to a notebook that is opened again without a kernel. Run by hand:
``pytest -m heavy tests/heavy/test_workbench_walk.py``, with ``-k "tab and 1280 and dark"`` for one of them. The
pictures are in ``build/walk``, one folder per walk and one contact sheet per host; somebody has to look at them.
"""

import nbformat
import pytest
from explore_tab import explored
from jupyter_pages import ROOT, Watched, notebook_of, opened, run_cell, running_browser, served
from PIL import Image, ImageDraw

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(900)]
FOLDER = ROOT / "build" / "walk"
HOSTS = ("lab", "notebook", "tab")
SIZES = ((1280, 800), (1440, 900), (1920, 1080))
THEMES = ("light", "dark")
SCHEDULE = "walk.mlir"
REST_MS = 700  # Facts are asked for when the hand rests
SHUT_DOWN = "window.jupyterapp.shell.currentWidget.sessionContext.shutdown()"
SETTLED = """() => !document.querySelector(".lhw-ghost, .lhw-working:not([hidden])")"""
DEATH = "    %generic = transform.structured.generalize %relu : (!transform.any_op) -> !transform.any_op"


def many_tiles():
    """Return the default schedule with more values of its knob: a sweep can be stopped."""
    text = (ROOT / "schedules" / "fc_relu_handles.mlir").read_text()
    assert "[8, 16, 32, 64]" in text
    return text.replace("[8, 16, 32, 64]", str(list(range(4, 68, 4))))


class Walk:
    """A workbench in the page of a host, and the pictures of it."""

    def __init__(self, watched, folder):
        self.watched, self.page, self.folder = watched, watched.page, folder
        self.root = self.page.locator(".lhw")
        self.count = 0
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.png"):
            old.unlink()

    def picture(self, name, settles=True):
        if settles:
            self.page.wait_for_timeout(REST_MS)
            self.page.wait_for_function(SETTLED)
        self.count += 1
        self.page.screenshot(path=self.folder / f"{self.count:02}_{name}.png")

    def ready(self):
        self.root.locator(".lhw-row:is(.lh-now, .lhw-given)").first.wait_for()
        self.root.locator("[data-pane='payload'] .lh-ir").wait_for(state="attached")

    def says(self, text):
        self.root.locator(".lhw-outcome", has_text=text).wait_for(timeout=60_000)

    def button(self, name):
        return self.root.get_by_role("button", name=name)

    def tab(self, name):
        self.root.get_by_role("tab", name=name).click()

    def undo(self):
        self.root.locator("button[title^='undo']").click()


def compose(walk):
    """Open, walk, move a knob, add steps by form and by text, undo, repair."""
    walk.ready()
    walk.picture("open")
    walk.root.locator(".lhw-main", has_text="fuse_into_containing_op").first.click()
    walk.root.locator(".lhw-row.lh-now", has_text="fuse_into_containing_op").wait_for()
    walk.root.locator(".lhw-row.lh-now [data-handle]").last.click()
    walk.picture("walk")
    walk.root.get_by_role("slider", name="knob tile").press("ArrowRight")
    walk.button("undo: set tile = 36").wait_for()
    walk.picture("knob")
    walk.undo()
    walk.root.locator(".lhw-main", has_text="unroll").click()
    walk.button("+ add a step …").click()
    walk.page.keyboard.type("generalize")
    walk.root.locator(".lhw-found li:first-child button", has_text="structured.generalize").click()
    walk.root.locator(".lhw-preview", has_text="generalize %").wait_for()
    walk.picture("form")
    walk.root.locator(".lhw-form select").first.select_option("%relu_tile")
    walk.root.locator(".lhw-preview", has_text="generalize %relu_tile").wait_for()
    walk.root.locator(".lhw-form").get_by_role("button", name="add", exact=True).click()
    walk.root.locator(".lhw-row", has_text="generalize").wait_for()
    walk.picture("added_by_form")
    walk.undo()
    walk.root.locator(".lhw-row", has_text="generalize").wait_for(state="detached")
    walk.tab("Text")
    line = walk.root.locator(".cm-line", has_text="merge_handles").first
    line.click(position={"x": 60, "y": 8})  # a line may be wider than the pane: its middle is out of sight
    walk.page.keyboard.press("End")
    walk.page.keyboard.insert_text(f"\n{DEATH}")
    walk.says("fails at step")
    walk.picture("added_by_text")
    walk.undo()
    walk.says("applies")
    walk.picture("undo")
    walk.root.locator("button[title^='redo']").click()
    walk.says("fails at step")
    walk.tab("Steps")
    walk.tab("Guide")
    walk.root.locator(".lhw-repair").first.wait_for(timeout=60_000)
    walk.picture("repairs")
    walk.root.locator(".lhw-repair").first.click()
    walk.says("applies")
    walk.picture("repaired")


def tune(walk):
    """Run, measure, ask why it is slow, sweep and stop."""
    walk.button("run: compile it").click()
    walk.root.locator(".lhw-run", has_text="#1").first.wait_for(timeout=120_000)
    walk.picture("run")
    walk.button("measure: time it").click()
    walk.root.locator(".lhw-chart").first.wait_for(timeout=180_000)
    walk.picture("measure")
    walk.button("sweep: try all values").click()
    line = walk.root.locator(".lhw-run-line")
    line.get_by_text("of 16").wait_for(timeout=120_000)
    walk.picture("sweep")
    line.get_by_role("button", name="stop").click()
    line.wait_for(state="hidden", timeout=120_000)
    walk.root.locator(".lhw-run", has_text="swept").wait_for()
    walk.picture("stopped")
    walk.tab("Guide")
    walk.root.locator("[data-section='slow'] > summary").click()
    walk.button("compile, and look at the hot loops").click()
    walk.root.locator("[data-section='slow'] .lhw-badge:not(:empty)").wait_for(timeout=120_000)
    walk.picture("slow")


def propose(walk):
    walk.button("propose: a first schedule").wait_for()
    walk.picture("empty")
    walk.button("propose: a first schedule").click()
    walk.button("undo: proposal").wait_for(timeout=240_000)
    walk.picture("proposed")


def theme(page, dark):
    name = "Dark" if dark else "Light"
    page.evaluate(
        f"window.jupyterapp.commands.execute('apputils:change-theme', {{theme: 'JupyterLab {name}'}})"
    )
    page.wait_for_selector(f"body[data-jp-theme-light='{str(not dark).lower()}']", state="attached")


def walk_notebook(server, application, walk, new_page, dark):
    """In JupyterLab or Notebook 7: the workbench, then an empty one, restart, reload, no kernel."""
    (server.folder / SCHEDULE).write_text(many_tiles())
    shown = f"lhkit.explore('fc_relu.mlir', '{SCHEDULE}', trust=True)"
    cells = [f"import lhkit\n{shown}", "bench = lhkit.explore(lhkit.payloads.fc_relu(64, 64, 64), None)\nbench"]
    name = f"walk_{application}_{walk.folder.name}.ipynb"
    nbformat.write(notebook_of(cells), server.folder / name)
    opened(new_page, server, application, name)
    theme(walk.page, dark)
    run_cell(walk.watched, 0)
    compose(walk)
    tune(walk)
    walk.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    walk.root.locator(".lhw-lost-line:not([hidden])").wait_for()
    walk.picture("kernel_restarted", settles=False)
    run_cell(walk.watched, 0)
    walk.page.wait_for_function("document.querySelectorAll('.lhw-lost-line[hidden]').length === 1")
    walk.ready()
    walk.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    walk.page.reload()
    walk.ready()
    walk.picture("reloaded")
    walk.page.evaluate(
        "() => { const panel = window.jupyterapp.shell.currentWidget; panel.content.activeCellIndex = 0;"
        " return window.jupyterapp.commands.execute('notebook:clear-cell-output'); }"
    )
    run_cell(walk.watched, 1)
    walk.ready()
    propose(walk)
    walk.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    walk.page.evaluate(SHUT_DOWN)
    walk.page.reload()
    walk.page.locator("[data-lh-view]").first.wait_for()
    walk.page.wait_for_function("document.fonts.ready")
    walk.picture("without_kernel", settles=False)


def walk_tab(walk, folder):
    """In the tab of ``lhkit explore``: the same; what can be opened without it is the exported page."""
    (folder / SCHEDULE).write_text(many_tiles())
    with explored("fc_relu.mlir", str(folder / SCHEDULE), "--trust") as tab:
        walk.page.goto(tab.address)
        compose(walk)
        tune(walk)
        with walk.page.expect_download() as page:
            walk.root.get_by_label("export", exact=True).select_option("page")
        page.value.save_as(folder / "walk.html")
        walk.page.reload()
        walk.ready()
        walk.picture("reloaded")
        tab.end()
        walk.root.locator(".lhw-lost-line:not([hidden])").wait_for()
        walk.picture("ended", settles=False)
    with explored("fc_relu.mlir") as tab:
        walk.page.goto(tab.address)
        walk.ready()
        propose(walk)
    walk.page.goto((folder / "walk.html").as_uri())
    walk.page.locator(".lh-live .lh-frame").first.wait_for()
    walk.picture("without_kernel", settles=False)


def contact_sheet(host):
    """Write one sheet of all pictures of a host: a row per state, a column per size and theme."""
    walks = [f for f in sorted(FOLDER.glob(f"{host}_*")) if f.is_dir()]
    wide, high, head = 480, 300, 18
    names = list(dict.fromkeys(p.stem for walk in walks for p in sorted(walk.glob("*.png"))))
    sheet = Image.new("RGB", (wide * len(walks), (high + head) * len(names)), "white")
    said = ImageDraw.Draw(sheet)
    for column, walk in enumerate(walks):
        for row, name in enumerate(names):
            at = (column * wide, row * (high + head))
            said.text((at[0] + 4, at[1] + 3), f"{walk.name}: {name}", fill="black")
            if (path := walk / f"{name}.png").exists():
                with Image.open(path) as picture:
                    sheet.paste(picture.convert("RGB").resize((wide - 4, high - 4)), (at[0], at[1] + head))
    sheet.save(FOLDER / f"{host}.png")


@pytest.fixture(scope="module")
def browser():
    with running_browser() as running:
        yield running


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.mark.parametrize("dark", [False, True], ids=THEMES)
@pytest.mark.parametrize("size", SIZES, ids=[f"{w}x{h}" for w, h in SIZES])
@pytest.mark.parametrize("host", HOSTS)
def test_walk(host, size, dark, browser, request, tmp_path):
    scheme = THEMES[dark]
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
    context.set_default_timeout(30_000)
    watched = Watched(context.new_page())
    walk = Walk(watched, FOLDER / f"{host}_{size[0]}_{scheme}")
    try:
        if host == "tab":
            walk_tab(walk, tmp_path)
        else:
            server = request.getfixturevalue("server")
            walk_notebook(server, host, walk, lambda **_: watched, dark)
    except BaseException:
        walk.picture("failed", settles=False)
        raise
    finally:
        context.close()
    contact_sheet(host)
