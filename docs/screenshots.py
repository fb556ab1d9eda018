"""Screenshots of the workbench, light and dark, and a walk through it as a page: ``make screenshots``.

They are taken of JupyterLab under headless Chromium, as the tests do it, and written to docs/pictures.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import nbformat

import lhkit

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "pictures"
SIZE = {"width": 1800, "height": 1000}
MOST_BYTES = 300_000
CODE = "import lhkit\nbench = lhkit.explore()\nbench"
DARK = "window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})"


def save_walk() -> Path:
    """Write the walk: every step of the schedule that the workbench opens with, as a page without a kernel."""
    path = FOLDER / "workbench_walk.html"
    bench = lhkit.explore()
    bench.export(path)
    bench.close()
    path.write_text(path.read_text(encoding="utf-8").replace(f"{ROOT}/", ""), encoding="utf-8")
    return path


def save_screenshots() -> list[Path]:
    """Write the screenshots: the workbench alone, as JupyterLab shows it in its two themes."""
    sys.path.insert(0, str(ROOT / "tests"))
    from jupyter_pages import Watched, notebook_of, opened, run_cell, running_browser, served

    written = []
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as server, running_browser() as browser:
        nbformat.write(notebook_of([CODE]), server.folder / "workbench.ipynb")
        for theme in ("light", "dark"):
            context = browser.new_context(viewport=SIZE, color_scheme=theme)
            context.set_default_timeout(120_000)
            watched = opened(lambda c=context, **_: Watched(c.new_page()), server, "lab", "workbench.ipynb")
            page = watched.page
            if theme == "dark":
                page.evaluate(DARK)
                page.wait_for_selector("body[data-jp-theme-light='false']", state="attached")
            run_cell(watched, 0)
            bench = page.locator(".lhw")
            bench.locator("[data-pane='payload'] .lh-ir").wait_for()
            for pane in ("timeline", "tiles"):
                bench.locator(f"[data-pane='{pane}'] svg").first.wait_for()
            bench.locator(".lhw-row", has_text="tile_using_forall").locator("[data-handle]").last.click()
            path = FOLDER / f"workbench_{theme}.png"
            bench.screenshot(path=path)
            written.append(path)
            page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
            context.close()
    return written


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in (save_walk(), *save_screenshots()):
        size = each.stat().st_size
        sys.stdout.write(f"{each.relative_to(ROOT)}: {size / 1000:.0f} kB\n")
        if each.suffix == ".png" and size > MOST_BYTES:
            sys.exit(f"{each.name} is larger than {MOST_BYTES / 1000:.0f} kB")
