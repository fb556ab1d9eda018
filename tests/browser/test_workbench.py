"""The workbench in JupyterLab, as a reader uses it: by pointer and by keys, with what goes wrong."""

import nbformat
import pytest
from conftest import SCREENSHOTS, notebook_of, opened, run_cell

EXPLORE = "import lhkit\nbench = lhkit.explore()\nbench"
HEAD = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %op = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
"""
TAIL = "    transform.yield\n  }\n}\n"
DEATH = "    %g = transform.structured.generalize %op : (!transform.any_op) -> !transform.any_op\n"
CRASH = """    %l, %h, %s = transform.structured.multitile_sizes %tiled {dimension = 0, target_size = 0}
      : (!transform.any_op) -> !transform.param<i64>
"""


class Screen:
    """The workbench in the page: what a reader sees and does."""

    def __init__(self, watched):
        self.watched, self.page = watched, watched.page
        self.root = self.page.locator(".lhw")
        self.root.locator(".lhw-row").first.wait_for()

    def pane(self, name):
        return self.root.locator(f".lhw-pane[data-pane='{name}']")

    def row(self, text):
        return self.root.locator(".lhw-row", has_text=text).first

    def main(self, text):
        return self.row(text).locator(".lhw-main")

    def shows(self, step):
        """Wait until a step is shown everywhere."""
        self.root.locator(f".lhw-row.lh-now[data-step='{step}']").wait_for()

    def says(self, text):
        self.root.locator(".lhw-outcome", has_text=text).wait_for()

    def payload_says(self, text):
        self.pane("payload").locator(".lhw-frame", has_text=text).wait_for()


@pytest.fixture
def screen(watched, server, request):
    """Return a function that opens a notebook with a workbench."""

    def open_screen(code=EXPLORE, *, application="lab", **options):
        name = f"{request.node.name.partition('[')[0]}.ipynb"
        nbformat.write(notebook_of([code, "bench.schedule.values"]), server.folder / name)
        page = opened(watched, server, application, name, **options)
        run_cell(page, 0)
        pages.append(page.page)
        return Screen(page)

    pages = []
    yield open_screen
    for page in pages:  # their kernels would stay
        page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")


def explore(steps):
    return f"import lhkit\nbench = lhkit.explore(None, '''{HEAD}{steps}{TAIL}''')\nbench"


def test_steps_are_walked_by_keys_and_a_handle_is_lit_everywhere(screen, server):
    bench = screen()
    bench.shows(5)
    bench.main("merge_handles").click()
    bench.shows(3)
    bench.page.keyboard.press("ArrowRight")
    bench.page.keyboard.press("ArrowRight")
    bench.shows(5)
    bench.payload_says("scf.forall")
    bench.page.keyboard.press("ArrowDown")  # the focus walks with the rows
    bench.page.keyboard.press("ArrowUp")
    handle = bench.row("tile_using_forall").locator("[data-handle]").last
    handle.click()
    for pane in ("steps", "payload", "timeline"):
        bench.pane(pane).locator(".lh-selected").first.wait_for()
    assert "%forall" in bench.root.locator(".lh-chosen").inner_text()
    bench.page.keyboard.press("Escape")
    bench.root.locator(".lh-selected").first.wait_for(state="detached")
    bench.watched.check(*server.addresses)


def test_a_knob_is_dragged_and_the_drag_undone(screen):
    bench = screen()
    slider = bench.root.get_by_role("slider", name="knob tile")
    bench.shows(5)
    bench.payload_says("[32, 32]")
    slider.hover()  # waits until it stands still
    bench.page.mouse.down()
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    for share in (0.5, 0.35, 0.2, 0.02):
        bench.page.mouse.move(box["x"] + box["width"] * share, middle)
    bench.payload_says("[8, 8]")  # before the button is let go
    bench.page.mouse.up()
    bench.root.get_by_role("button", name="undo: set tile = 8").click()
    bench.payload_says("[32, 32]")
    assert bench.root.get_by_role("button", name="nothing to undo").is_disabled()
    slider.focus()
    bench.page.keyboard.press("ArrowRight")
    bench.payload_says("[64, 64]")


def test_a_death_is_mended_by_a_repair(screen, server):
    bench = screen(explore(DEATH))
    bench.says("fails at step 2")
    assert "%op is dead" in bench.pane("problems").inner_text()
    bench.pane("problems").locator(".lhw-repair").first.click()
    bench.says("applies")
    bench.watched.check(*server.addresses)


def test_a_crash_is_a_red_step_and_the_workbench_goes_on(screen):
    bench = screen(explore(CRASH))
    bench.says("crashes the compiler at step 2")
    red = bench.row("multitile_sizes")
    assert red.get_attribute("data-status") == "crashed"
    red.locator("[data-do*=remove_step]").click()
    bench.says("applies in 2 steps")


def test_a_page_that_is_loaded_again_finds_its_state(screen):
    bench = screen()
    slider = bench.root.get_by_role("slider", name="knob tile")
    slider.focus()
    bench.page.keyboard.press("ArrowRight")
    bench.payload_says("[64, 64]")
    bench.main("merge_handles").click()
    bench.shows(3)
    bench.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    bench.page.reload()
    bench.shows(3)
    assert slider.input_value() == "3"
    bench.page.keyboard.press("ArrowRight")
    bench.root.locator(".lhw-walk input").focus()
    bench.page.keyboard.press("ArrowRight")
    bench.shows(4)


def test_notebook_7(screen, server):
    bench = screen(application="notebook")
    bench.shows(5)
    bench.main("merge_handles").click()
    bench.shows(3)
    bench.root.get_by_role("slider", name="knob tile").fill("0")
    bench.root.get_by_role("button", name="undo: set tile = 8").wait_for()
    bench.watched.check(*server.addresses)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [700, 1600])
def test_pictures_of_it(screen, width, dark):
    bench = screen(width=width, dark=dark)
    if dark:
        bench.page.evaluate(
            "window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})"
        )
        bench.page.wait_for_selector("body[data-jp-theme-light='false']", state="attached")
    if width < 900:
        tabs = bench.root.get_by_role("tab")
        assert tabs.count() >= 4
        bench.root.get_by_role("tab", name="Payload").click()
        bench.payload_says("scf.forall")
        assert bench.pane("steps").is_hidden()
        bench.page.keyboard.press("ArrowRight")  # to the next tab
        bench.pane("timeline").locator("svg").first.wait_for()
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    bench.page.screenshot(path=SCREENSHOTS / f"workbench_{width}_{'dark' if dark else 'light'}.png")
