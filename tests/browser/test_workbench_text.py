"""The text of the workbench in JupyterLab, as a reader types in it: marks, completion, help, the file."""

import nbformat
import pytest
from conftest import SCHEDULE_HEAD, SCHEDULE_TAIL, SCREENSHOTS, notebook_of, opened, run_cell, run_code

UNROLL = "    transform.loop.unroll %loop {factor = 2} : !transform.any_op\n"
CHOOSE = "(theme) => window.jupyterapp.commands.execute('apputils:change-theme', {theme})"


class Text:
    """The text pane in the page."""

    def __init__(self, watched):
        self.watched, self.page = watched, watched.page
        self.root = self.page.locator(".lhw")
        self.root.locator(".lhw-row").first.wait_for()
        self.pane = self.root.locator(".lhw-pane[data-pane='text']")
        self.content = self.pane.locator(".cm-content")

    def open(self):
        self.root.get_by_role("tab", name="Text").click()
        self.line("tile_using_for").wait_for()

    def close(self):
        self.root.get_by_role("tab", name="Steps").click()

    def line(self, text):
        return self.pane.locator(".cm-line", has_text=text).first

    def type_after(self, text, written):
        """Type behind the end of a line."""
        self.line(text).click()
        self.page.keyboard.press("End")
        self.page.keyboard.press("Enter")
        self.page.keyboard.press("Home")
        self.page.keyboard.insert_text(written)

    def says(self, text):
        self.root.locator(".lhw-outcome", has_text=text).wait_for()

    def picture(self, name):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"workbench_text_{name}.png")


def code_with(file):
    """Write a schedule, and return code that shows a workbench which follows it."""
    file.write_text(SCHEDULE_HEAD + SCHEDULE_TAIL)
    return f"import lhkit\nbench = lhkit.explore(None, '{file.name}', trust=True)\nbench"


@pytest.fixture
def file(server, request):
    return server.folder / f"{request.node.name}.mlir"


@pytest.fixture
def text(bench_page, file):
    """Return the text pane of a workbench that follows a file."""
    run_code(bench_page, code_with(file))
    made = Text(bench_page)
    made.open()
    return made


@pytest.fixture
def own_text(watched, server, file):
    """Return the same in Notebook 7."""
    nbformat.write(notebook_of([code_with(file)]), server.folder / "text.ipynb")
    page = opened(watched, server, "notebook", "text.ipynb")
    run_cell(page, 0)
    made = Text(page)
    made.open()
    yield made
    page.check(*server.addresses)
    page.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")


@pytest.fixture
def theme(lab):
    """Return a function that chooses a theme of JupyterLab; at the end it is light again."""

    def choose(name):
        lab.page.evaluate(CHOOSE, f"JupyterLab {name.title()}")
        light = "true" if name == "light" else "false"
        lab.page.wait_for_selector(f"body[data-jp-theme-light='{light}']", state="attached")

    yield choose
    choose("light")


def test_a_step_is_typed_and_a_typo_marked_and_mended(text):
    bench = text
    bench.type_after(": (!transform.any_op) -> (!", UNROLL.strip())
    bench.says("applies in 3 steps")
    bench.close()
    bench.root.locator(".lhw-row", has_text="%loop {factor").first.wait_for()
    bench.open()
    bench.content.press("ControlOrMeta+End")  # lines out of sight are not in the page
    bench.line("loop.unroll").locator("text=%loop").dblclick()
    bench.page.keyboard.press("End")
    bench.page.keyboard.insert_text(" oops")
    bench.says("does not parse")
    bench.root.locator(".lhw-stale").or_(bench.page.locator(".lhw.lhw-stale")).first.wait_for()
    bench.pane.locator(".cm-lintRange-error").first.wait_for()
    bench.pane.locator(".cm-lint-marker-error").hover()
    bench.page.locator(".cm-diagnostic-error").wait_for()
    mark = "getComputedStyle(document.querySelector(\".lhw [data-pane='payload']\"), '::before').content"
    assert "stale" in bench.page.evaluate(mark)
    bench.picture("typo_light")
    bench.content.press("ControlOrMeta+z")
    bench.says("applies in 3 steps")
    bench.pane.locator(".cm-lintRange-error").first.wait_for(state="detached")
    bench.root.get_by_role("button", name="undo: edit the text").wait_for()


def test_completion_offers_ops_and_hover_explains_them(text):
    bench = text
    bench.line("match").locator("text=structured").first.hover()
    bench.page.locator(".lhw-hover", has_text="transform.structured.match").wait_for()
    bench.picture("hover_light")
    bench.type_after(": (!transform.any_op) -> (!", "")
    bench.page.keyboard.type("loop.unr")
    offer = bench.page.locator(".cm-tooltip-autocomplete li", has_text="transform.loop.unroll").first
    offer.wait_for()
    bench.picture("completion_light")
    offer.click()
    bench.line("transform.loop.unroll %loop").wait_for()
    bench.says("applies in 3 steps")
    assert bench.pane.locator(".cm-line", has_text="loop.unr").count() == 1


def test_the_file_is_followed_and_saved_by_keys(text, file):
    bench = text
    file.write_text(SCHEDULE_HEAD + UNROLL + SCHEDULE_TAIL)
    bench.line("loop.unroll").wait_for()
    bench.says("applies in 3 steps")
    bench.line("loop.unroll").click()
    bench.page.keyboard.press("End")
    bench.page.keyboard.type(" // mine")
    bench.pane.locator(".lhw-file", has_text="not saved").wait_for()
    bench.page.keyboard.press("ControlOrMeta+s")
    bench.pane.locator(".lhw-file", has_text="✓ saved").wait_for()
    assert "// mine" in file.read_text()
    inside = "document.activeElement.closest('.cm-editor') !== null"
    for _ in range(
        5
    ):  # the editor hands on a Tab within two seconds of an Escape, which a slow machine may miss
        bench.page.keyboard.press("Escape")
        bench.page.keyboard.press("Tab")
        if not bench.page.evaluate(inside):
            break
    assert not bench.page.evaluate(inside)


def test_a_step_and_its_line_are_one(text, theme):
    bench = text
    theme("dark")
    bench.line("structured.match").click()
    bench.pane.locator(".lhw-step-line", has_text="structured.match").wait_for()
    bench.root.locator(".lhw-walk input").focus()
    bench.page.keyboard.press("ArrowRight")
    bench.pane.locator(".lhw-step-line", has_text="tile_using_for").wait_for()
    bench.picture("dark")
    bench.line("tile_using_for").click()
    bench.page.keyboard.press("Home")  # where a click lands depends on what scrolls meanwhile
    bench.page.keyboard.type("x")
    bench.says("does not parse")
    marked = bench.pane.locator(".cm-lintRange-error")
    marked.first.wait_for()
    assert "x" in marked.first.inner_text()  # what was typed
    bench.picture("typo_dark")


def test_notebook_7(own_text):
    own_text.type_after(": (!transform.any_op) -> (!", UNROLL.strip())
    own_text.says("applies in 3 steps")
    assert own_text.pane.locator(".cm-line", has_text="loop.unroll").count() == 1
