"""``lhkit explore``: the workbench in a tab of its own, for who has the token, and nothing left when it ends."""

import signal
import sys
from http.client import HTTPConnection

import psutil
import pytest
from explore_tab import explored

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


@pytest.fixture(scope="module")
def tab():
    with explored() as found:
        yield found


@pytest.fixture
def page(tab, watched):
    found = watched(width=1440, height=900)
    found.page.goto(tab.address)
    found.page.locator(".lhw .lhw-row.lh-now").wait_for()
    yield found.page
    found.check(*tab.addresses)


def test_commands_go_round_and_a_page_that_is_loaded_again_shows_the_same(tab, page):
    assert page.url == f"{tab.origin}/"  # without the token
    assert page.title() == "fc_relu_handles.mlir on fc_relu.mlir · lhkit"
    page.locator(".lhw-frame", has_text="[32, 32]").first.wait_for()
    slider = page.get_by_role("slider", name="knob tile")
    slider.press("ArrowRight")
    page.locator(".lhw-frame", has_text="[64, 64]").first.wait_for()
    page.reload()
    page.locator(".lhw-frame", has_text="[64, 64]").first.wait_for()
    page.get_by_role("button", name="undo: set tile = 64").click()
    page.locator(".lhw-frame", has_text="[32, 32]").first.wait_for()
    page.locator(".lhw-main", has_text="merge_handles").click()
    page.locator(".lhw-row.lh-now[data-step='3']").wait_for()


def test_what_was_seen_with_a_knob_value_is_shown_again_without_python(tab, page):
    def wait_for_text(condition):
        shown = "document.querySelector('[data-pane=payload] .lhw-frame').textContent"
        page.wait_for_function(f"before => {shown} {condition} before", arg=before)

    page.locator(".lhw-main", has_text="tile_using_for").first.click()
    page.locator(".lhw-row.lh-now", has_text="tile_using_for").wait_for()
    payload = page.locator("[data-pane=payload] .lhw-frame")
    payload.get_by_text("scf.for").first.wait_for()
    before = payload.text_content()
    payload.evaluate("frame => { window.seenFrame = frame; }")
    slider = page.get_by_role("slider", name="knob tile")
    slider.press("ArrowRight")
    wait_for_text("!==")
    page.wait_for_function("() => !document.querySelector('.lhw-ghost')")  # Python has caught up
    tab.process.send_signal(signal.SIGSTOP)
    try:
        slider.press("ArrowLeft")
        wait_for_text("===")
        assert payload.evaluate("frame => frame === window.seenFrame")  # it stayed built
        page.wait_for_function("() => !document.querySelector('.lhw-ghost')")  # also without Python
    finally:
        tab.process.send_signal(signal.SIGCONT)
    page.get_by_role("button", name="undo: set tile = 32").wait_for()
    assert payload.text_content() == before


# With two tiles of rows instead of one, the steps after the loop have other numbers.
NUMBERED = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %rows = transform.tune.knob<"rows"> = 8 : i64 from options = [8, 24] -> !transform.param<i64>
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %matmul tile_sizes [%rows, 0, 0]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    transform.include @peel failures(suppress) (%loop) : (!transform.any_op) -> ()
    %products = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %products : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.annotate %each "each" : !transform.any_op
    }
    %last = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %last "last" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @peel(%loop: !transform.any_op {transform.consumed}) {
    %for = transform.cast %loop : !transform.any_op to !transform.op<"scf.for">
    %main, %rest = transform.loop.peel %for
      : (!transform.op<"scf.for">) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
"""


def test_a_value_whose_steps_have_other_numbers_is_shown_again_without_python(watched, tmp_path):
    (tmp_path / "numbered.mlir").write_text(NUMBERED)
    with explored("matmul.mlir", tmp_path / "numbered.mlir", "--trust") as tab:
        found = watched(width=1440, height=900)
        page = found.page
        page.goto(tab.address)
        page.locator("[data-pane=payload] .lh-ir").wait_for()
        page.locator(".lhw-main", has_text="annotate").last.click()
        now = page.locator(".lhw-row.lh-now .lhw-main", has_text='"last"')
        payload = page.locator("[data-pane=payload] .lhw-frame")
        slider = page.get_by_role("slider", name="knob rows")

        def wait_for_step(number):
            page.locator(f".lhw-row.lh-now .lhw-main[data-goto='{number}']", has_text='"last"').wait_for()
            page.locator(f"[data-pane=payload] .lhw-frame[data-frame='{number}|false']").wait_for()
            page.wait_for_function("() => !document.querySelector('.lhw-ghost')")  # Python has caught up

        wait_for_step(10)
        for key, number in ("ArrowRight", 11), ("ArrowLeft", 10):
            slider.press(key)
            wait_for_step(number)
        text = payload.text_content()
        slider.press("ArrowRight")
        wait_for_step(11)
        tab.process.send_signal(signal.SIGSTOP)
        try:
            slider.press("ArrowLeft")
            wait_for_step(10)  # also without Python
            assert payload.text_content() == text
        finally:
            tab.process.send_signal(signal.SIGCONT)
        page.get_by_role("button", name="undo: set rows = 8").wait_for()
        assert (now.get_attribute("data-goto"), payload.text_content()) == ("10", text)
        found.check(*tab.addresses)


def test_the_editor_and_the_page_of_passes_are_allowed_by_the_policy(page):
    page.get_by_role("tab", name="Text").click()
    page.locator(".cm-content").wait_for()
    page.get_by_role("tab", name="Steps").click()
    page.get_by_role("tab", name="Passes").click()
    page.get_by_role("button", name="run the passes").click()
    listed = page.frame_locator("iframe").get_by_role("listbox", name="passes")
    listed.get_by_text("one-shot-bufferize").wait_for()
    page.get_by_role("tab", name="Guide").click()


@pytest.mark.skipif(sys.platform != "linux", reason="lists the libraries of a process")
def test_the_compiler_is_in_the_worker_and_not_in_the_server(tab, page):
    def has_mlir(process):
        return any("mlir" in each.path.lower() for each in process.memory_maps())

    server = psutil.Process(tab.process.pid)
    assert not has_mlir(server) and any(map(has_mlir, server.children(recursive=True)))


def test_who_has_no_token_or_asks_for_another_host_is_refused(tab):
    token = tab.address.partition("=")[2]
    assert tab.get()[0] == 403 and "lhkit explore printed" in tab.get()[1]
    assert tab.get("/workbench.js")[0] == tab.get("/?token=")[0] == tab.get(f"/?token={token}x")[0] == 403
    assert tab.get(f"/?token={token}")[0] == 200
    assert tab.get(f"/?token={token}", Host="localhost:8888")[0] == 200  # through a tunnel
    for host in ("rebound.example:80", "127.0.0.1.rebound.example", "127.0.0.1@rebound.example", ""):
        assert tab.get(f"/?token={token}", Host=host)[0] in (400, 403)


@pytest.mark.parametrize("origin", ["http://127.0.0.1:1", "https://rebound.example", "null", ""])
def test_pages_of_other_origins_cannot_open_the_web_socket(tab, origin):
    token = tab.address.partition("=")[2]
    asks = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    asks["Sec-WebSocket-Key"] = "AAAAAAAAAAAAAAAAAAAAAA=="

    def status(origin):
        connection = HTTPConnection(tab.origin.removeprefix("http://"), timeout=30)
        connection.request("GET", f"/socket?token={token}", headers={**asks, "Origin": origin})
        return connection.getresponse().status

    assert status(origin) == 403 and status(tab.origin) == 101


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_its_worker(number, watched):
    with explored() as tab:
        found = watched()
        found.page.goto(tab.address)
        found.page.locator(".lhw .lhw-row.lh-now").wait_for()
        left, said = tab.end(number)
        assert not left and tab.process.returncode == 130
        assert said.splitlines()[-1] == "lhkit: interrupted" and "Traceback" not in said
        lost = found.page.locator(".lhw-lost-line")
        lost.wait_for(state="visible")
        assert "lhkit explore has ended" in lost.inner_text()


def test_a_pane_that_is_opened_while_python_is_busy_stays_open(tab, page):
    page.get_by_role("tab", name="Steps").click()
    page.locator(".lhw-main", has_text="unroll").click()
    remove = page.locator(".lhw-row.lh-now", has_text="unroll").get_by_role("button", name="remove")
    remove.wait_for()
    page.wait_for_function("() => !document.querySelector('.lhw-ghost')")  # Python has caught up
    tab.process.send_signal(signal.SIGSTOP)
    try:
        remove.click()
        page.get_by_role("tab", name="Text").click()
    finally:
        tab.process.send_signal(signal.SIGCONT)
    undo = page.locator("button[title^='undo: remove']")
    undo.wait_for()
    page.locator(".cm-content").wait_for()
    assert page.get_by_role("tab", name="Text").get_attribute("aria-selected") == "true"
    undo.click()
    page.get_by_role("tab", name="Steps").click()
