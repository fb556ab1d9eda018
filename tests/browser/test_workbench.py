"""The workbench in JupyterLab, as a reader uses it: by pointer and by keys, with what goes wrong."""

import nbformat
import pytest
from conftest import SCHEDULE_HEAD, SCHEDULE_TAIL, SCREENSHOTS, notebook_of, opened, run_cell, run_code

EXPLORE = "import lhkit\nbench = lhkit.explore()\nbench"
DEATH = "    %g = transform.structured.generalize %op : (!transform.any_op) -> !transform.any_op\n"
CRASH = """    %n = transform.param.constant -2 : i64 -> !transform.param<i64>
    %x, %y = transform.structured.tile_using_forall %tiled num_threads [%n] : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
"""


class Screen:
    """The workbench in the page: what a reader sees and does."""

    def __init__(self, watched):
        self.watched, self.page = watched, watched.page
        self.root = self.page.locator(".lhw")
        self.root.locator(".lhw-row.lh-now").wait_for()
        self.root.locator(".lhw-frame").first.wait_for(state="attached")

    def pane(self, name):
        return self.root.locator(f":is(.lhw-pane[data-pane='{name}'], .lhw-question[data-section='{name}'])")

    def row(self, text):
        return self.root.locator(".lhw-row", has_text=text).first

    def main(self, text):
        return self.row(text).locator(".lhw-main")

    def button(self, name, **options):
        return self.root.get_by_role("button", name=name, **options)

    def key(self, *names):
        for name in names:
            self.page.keyboard.press(name)

    def shows(self, step):
        """Wait until a step is shown in the list and in the payload."""
        self.root.locator(f".lhw-row.lh-now[data-step='{step}']").wait_for(state="attached")
        self.root.locator(f"[data-frame^='{step}|']").wait_for(state="attached")

    def says(self, text):
        self.root.locator(".lhw-outcome", has_text=text).wait_for()

    def payload_says(self, text):
        self.pane("payload").locator(".lhw-frame", has_text=text).wait_for()

    def has_focus(self, text):
        self.page.wait_for_function("(text) => document.activeElement.textContent.includes(text)", arg=text)

    def picture(self, name):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"workbench_{name}.png")


@pytest.fixture
def screen(bench_page):
    """Return a function that runs code which shows a workbench."""

    def show(code=EXPLORE):
        run_code(bench_page, code)
        return Screen(bench_page)

    return show


@pytest.fixture
def own_page(watched, server, request):
    """Return a function that opens a notebook of its own with a workbench."""
    pages = []

    def open_screen(*, application="lab", **options):
        name = f"{request.node.name.partition('[')[0]}.ipynb"
        nbformat.write(notebook_of([EXPLORE]), server.folder / name)
        page = opened(watched, server, application, name, **options)
        pages.append(page)
        run_cell(page, 0)
        return Screen(page)

    yield open_screen
    for page in pages:
        page.check(*server.addresses)
        page.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")


def explore(steps):
    return f"import lhkit\nbench = lhkit.explore(None, '''{SCHEDULE_HEAD}{steps}{SCHEDULE_TAIL}''')\nbench"


def test_steps_are_walked_by_keys_and_a_handle_is_lit_everywhere(screen):
    bench = screen()
    bench.shows(5)
    bench.main("merge_handles").click()
    bench.shows(3)
    bench.key("ArrowRight", "ArrowRight")
    bench.shows(5)
    bench.payload_says("scf.forall")
    bench.key("ArrowDown", "ArrowUp")  # the focus walks with the rows
    bench.shows(5)
    names = bench.pane("timeline").locator(".lh-names >> visible=true").first
    area = bench.root.locator("[data-area=handles]")
    assert 0 < names.bounding_box()["width"] < area.bounding_box()["width"] / 2
    bench.row("tile_using_forall").locator("[data-handle]").last.click()
    for pane in ("steps", "payload", "timeline"):
        bench.pane(pane).locator(".lh-selected").first.wait_for()
    assert "%forall" in bench.root.locator(".lh-chosen").inner_text()
    bench.key("Escape")
    bench.root.locator(".lh-selected").first.wait_for(state="detached")


def test_a_knob_is_dragged_and_the_drag_undone(screen):
    bench = screen()
    slider = bench.root.get_by_role("slider", name="knob tile")
    bench.payload_says("[32, 32]")
    tiles = bench.pane("tiles").locator("svg").first.evaluate("svg => svg.outerHTML")
    slider.hover()  # waits until it stands still
    bench.page.mouse.down()
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    for share in (0.5, 0.35, 0.2, 0.02):
        bench.page.mouse.move(box["x"] + box["width"] * share, middle)
    bench.payload_says("[8, 8]")  # before the button is let go
    assert bench.pane("tiles").locator("svg").first.evaluate("svg => svg.outerHTML") != tiles
    bench.page.mouse.up()
    bench.button("undo: set tile = 8").click()
    bench.payload_says("[32, 32]")
    assert bench.button("nothing to undo").is_disabled()
    slider.focus()
    bench.key("ArrowRight")
    bench.payload_says("[64, 64]")
    bench.key("Control+z")
    bench.payload_says("[32, 32]")
    bench.root.locator("[data-knob][aria-valuetext='32']").wait_for()
    assert slider.input_value() == "2"


def test_a_step_is_added_by_a_form_changed_and_taken_away_by_keys_alone(screen):
    bench = screen(explore(""))
    bench.main("tile_using_for").focus()
    bench.key("Enter")
    bench.button("+ add a step …").focus()
    bench.key("Enter")
    bench.page.keyboard.type("structured generalize")
    bench.root.locator(".lhw-found li:first-child button", has_text="structured.generalize").wait_for()
    bench.key("ArrowDown", "Enter")
    form = bench.root.locator(".lhw-form")
    form.get_by_text("op handle, consumed").wait_for()
    bench.root.locator(".lhw-preview", has_text="structured.generalize %").wait_for()
    form.locator("select").first.select_option("%tiled")
    bench.root.locator(".lhw-preview", has_text="generalize %tiled").wait_for()
    form.get_by_role("button", name="add").focus()
    bench.key("Enter")
    bench.shows(2)
    bench.payload_says("linalg.generic")
    bench.has_focus("generalize")
    bench.key("Alt+ArrowUp")  # it needs what the step above gives
    bench.root.locator(".lhw-notice", has_text="cannot move there").wait_for()
    bench.key(" ")
    bench.root.locator(".lhw-off", has_text="generalize").wait_for()
    bench.root.locator(".lhw-off .lhw-switch").click()
    bench.payload_says("tile_using_for")
    bench.main("tile_using_for").focus()
    bench.key("Enter", "e")
    sizes = form.get_by_label("tile_sizes")
    sizes.fill("4, 4")
    bench.root.locator(".lhw-preview", has_text="tile_sizes [4, 4]").wait_for()
    form.get_by_role("button", name="change").click()
    bench.row("[4, 4]").wait_for()
    assert bench.row("generalize").count() == 1


def test_rows_are_dragged(screen):
    bench = screen()
    bench.row("knob").locator(".lhw-main").drag_to(
        bench.main("get_producer_of_operand"), target_position={"x": 30, "y": 2}
    )
    bench.root.locator(".lhw-row[data-step='1'] [data-knob]").wait_for()
    bench.button("undo: move transform.tune.knob").click()
    bench.root.locator(".lhw-row[data-step='4'] [data-knob]").wait_for()
    assert bench.root.locator("[data-knob]").count() == 1


def test_a_death_is_mended_by_a_repair(screen):
    bench = screen(explore(DEATH))
    bench.says("fails at step 2")
    assert "%op is invalidated" in bench.pane("problems").inner_text()
    bench.pane("problems").locator(".lhw-repair").first.click()
    bench.says("applies")


def test_a_crash_is_a_red_step_and_the_workbench_goes_on(screen):
    bench = screen(explore(CRASH))
    bench.says("crashes the compiler at step 3")
    red = bench.row("tile_using_forall")
    assert red.get_attribute("data-status") == "crashed"
    bench.picture("crash")
    red.locator("[data-do*=remove_step]").click()
    bench.says("applies in 3 steps")


def test_two_ops_are_asked_about_and_a_repair_taken(screen):
    shown = screen(explore(""))
    pane = shown.pane("fusion")
    pane.locator("> summary").click()
    pane.get_by_label("producer").select_option("linalg.add")
    pane.get_by_label("consumer").select_option("linalg.max")
    pane.get_by_role("button", name="why not fused?").click()
    repair = pane.locator("button.lhw-repair").first
    repair.wait_for()
    title = repair.text_content()
    repair.click()
    pane.get_by_text("ask again").wait_for()
    shown.pane("payload").get_by_label("whole text").check()
    for name in ("linalg.max", "linalg.fill"):
        shown.pane("payload").locator(".l[data-op]", has_text=f"= {name}").first.click()
    pane.locator("select[name=producer]").evaluate(
        "async (field) => { while (!field.value.startsWith('linalg.fill')) await new Promise(requestAnimationFrame); }"
    )
    assert pane.get_by_label("consumer").input_value() == "linalg.max"
    pane.get_by_label("producer").select_option("linalg.add")
    pane.get_by_role("button", name="why not fused?").click()
    pane.get_by_text("They are fused").wait_for()
    assert title


def test_a_pipeline_is_walked_through(screen):
    shown = screen()
    shown.root.get_by_role("tab", name="Passes").click()
    pane = shown.pane("passes")
    pane.get_by_role("button", name="run the passes").click()
    page = pane.frame_locator("iframe")
    listed = page.get_by_role("listbox", name="passes")
    listed.get_by_text("one-shot-bufferize").click()
    page.locator(".pane").get_by_text("memref.alloc").first.wait_for()
    shown.picture("passes")
    pane.get_by_label("pipeline").fill("func.func(csee)")
    pane.get_by_role("button", name="run the passes").click()
    pane.get_by_text("did you mean cse?").wait_for()
    assert not pane.locator("iframe").is_visible()


def test_checkpoints_and_large_type(screen):
    bench = screen()
    bench.button("set a checkpoint").click()
    slider = bench.root.get_by_role("slider", name="knob tile")
    slider.fill("0")
    bench.payload_says("[8, 8]")
    bench.root.get_by_label("go back to a checkpoint").select_option("checkpoint 1")
    bench.payload_says("[32, 32]")
    bench.button("large type").click()
    bench.page.wait_for_selector(".lhw.lhw-large")
    bench.picture("large")


def test_every_control_has_a_name(screen):
    bench = screen()
    bench.button("+ add a step …").click()
    nameless = bench.root.evaluate(
        """(root) => [...root.querySelectorAll("button, input, select, [role=button], [role=tab], [tabindex]")]
          .filter((e) => !(e.getAttribute("aria-label") || e.labels?.length || e.textContent.trim() || e.title))
          .map((e) => e.outerHTML.slice(0, 120))"""
    )
    assert nameless == []


def test_a_page_that_is_loaded_again_finds_its_state(own_page):
    bench = own_page()
    slider = bench.root.get_by_role("slider", name="knob tile")
    slider.focus()
    bench.key("ArrowRight")
    bench.payload_says("[64, 64]")
    bench.main("merge_handles").click()
    bench.shows(3)
    bench.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    bench.page.reload()
    bench.shows(3)
    assert slider.input_value() == "3"
    bench.root.locator(".lhw-walk input").focus()
    bench.key("ArrowRight")
    bench.shows(4)
    bench.watched.errors.clear()  # what JupyterLab says about connections that a reload cuts is its own


def test_notebook_7(own_page):
    bench = own_page(application="notebook")
    bench.shows(5)
    bench.main("merge_handles").click()
    bench.shows(3)
    bench.root.get_by_role("slider", name="knob tile").fill("0")
    bench.button("undo: set tile = 8").wait_for()
    assert bench.root.get_by_role("slider", name="knob tile").input_value() == "0"
    bench.picture("notebook")


def test_a_narrow_dark_screen_has_tabs(own_page):
    bench = own_page(width=700, dark=True)
    execute = "window.jupyterapp.commands.execute"
    bench.page.evaluate(f"{execute}('apputils:change-theme', {{theme: 'JupyterLab Dark'}})")
    bench.page.wait_for_selector("body[data-jp-theme-light='false']", state="attached")
    bench.picture("narrow_dark_steps")
    bench.root.get_by_role("tab", name="Payload", exact=True).click()
    bench.payload_says("scf.forall")
    assert bench.pane("steps").is_hidden()
    bench.key("ArrowRight")  # to the next tab
    bench.pane("timeline").locator("svg").first.wait_for()
    paper = bench.pane("timeline").evaluate("e => getComputedStyle(e.closest('.lhw-area')).backgroundColor")
    assert sum(int(n) for n in paper.removeprefix("rgb(").removesuffix(")").split(",")) < 200
    bench.picture("narrow_dark")
    bench.page.set_viewport_size({"width": 1600, "height": 1000})
    bench.root.locator("[data-area=left]").wait_for()
    bench.picture("dark")
    bench.page.evaluate(f"{execute}('apputils:change-theme', {{theme: 'JupyterLab Light'}})")
    bench.page.wait_for_selector("body[data-jp-theme-light='true']", state="attached")
    bench.picture("light")
