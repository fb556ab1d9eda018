"""The banner of a workbench that is not trusted: read, reached by keys, and gone when it was pressed."""

from conftest import SCHEDULE_HEAD, SCHEDULE_TAIL, SCREENSHOTS, run_code

WIDTH = 1280
DARK = "(isDark) => window.jupyterapp.commands.execute('apputils:change-theme', {theme: `JupyterLab ${isDark ? 'Dark' : 'Light'}`})"
FITS = "(node) => node.scrollWidth <= node.clientWidth + 1"


def test_a_file_from_elsewhere_waits_for_its_reader(bench_page, server):
    (server.folder / "theirs.mlir").write_text(f"// of {server.folder}\n{SCHEDULE_HEAD}{SCHEDULE_TAIL}")
    page = bench_page.page
    page.set_viewport_size({"width": WIDTH, "height": 900})
    run_code(bench_page, "import lhkit\nbench = lhkit.explore('fc_relu.mlir', 'theirs.mlir')\nbench")
    banner = page.get_by_role("region", name="Not trusted yet: theirs.mlir")
    banner.wait_for()
    bench = page.locator(".lhw")
    bench.locator(".lhw-row", has_text="tile_using_for").wait_for()
    bench.get_by_role("tab", name="Guide").click()
    bench.locator(".lhw-pane", has_text="check without a payload finds nothing wrong").wait_for()
    bench.get_by_role("tab", name="Payload", exact=True).click()
    bench.locator(".lhw-pane[data-pane='payload']", has_text="linalg.matmul").wait_for()
    assert bench.locator(".lhw-outcome").inner_text() == "not trusted: nothing is traced yet"
    for isDark in (False, True):
        page.evaluate(DARK, isDark)
        page.locator(f"body[data-jp-theme-light='{str(not isDark).lower()}']").wait_for(state="attached")
        assert banner.evaluate(FITS)
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        bench.screenshot(path=SCREENSHOTS / f"workbench_trust_{'dark' if isDark else 'light'}.png")
    page.evaluate(DARK, False)
    # Running asks first.
    bench.get_by_role("button", name="run", exact=False).first.click()
    notice = bench.locator(".lhw-notice", has_text="native code on this machine")
    notice.get_by_role("button", name="Trust and run").wait_for()
    bench.screenshot(path=SCREENSHOTS / "workbench_trust_asks.png")
    # By keys: the button has the focus ring, and what comes after it is at hand.
    button = banner.get_by_role("button", name="Trust and trace")
    button.focus()
    page.keyboard.press("Enter")
    banner.wait_for(state="hidden")
    bench.locator(".lhw-outcome", has_text="applies in").wait_for()
    page.wait_for_function("() => document.activeElement.closest('.lhw')")
    page.set_viewport_size({"width": 1600, "height": 1000})
