"""Published notebooks in a browser: every picture is there, and nothing is asked of any address."""

import pytest
from conftest import SCREENSHOTS

from lhkit.lessons.publishing import publish_notebook
from lhkit.load.shipped_files import shipped_folder

NOTEBOOKS = sorted(shipped_folder("notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_published_notebook_asks_nothing_and_shows_every_picture(watched, path, run_notebook, tmp_path):
    published = publish_notebook(run_notebook(path))
    file = tmp_path / f"{published.name}.html"
    file.write_text(published.html, encoding="utf-8")
    page = watched(width=1000)
    page.page.goto(file.as_uri())
    page.page.wait_for_load_state("networkidle")
    pictures = page.page.locator(".jp-OutputArea-output img >> visible=true")
    for number in range(pictures.count()):
        width = pictures.nth(number).evaluate("image => image.decode().then(() => image.naturalWidth)")
        assert width > 50
    drawings = page.page.locator(".lh-view")
    for number in range(drawings.count()):
        assert drawings.nth(number).is_visible() and drawings.nth(number).inner_text().strip()
    inline = page.page.locator(".jp-OutputArea-output svg >> visible=true")
    assert pictures.count() + drawings.count() + inline.count() >= 1
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.page.screenshot(path=SCREENSHOTS / f"published_{path.stem}.png", full_page=True)
    page.check("file:")
