"""The published copy of the lessons: of the notebooks as they are, whole, small, and of no machine's folders."""

import itertools
import re
import socket
import sys
import tempfile
from pathlib import Path

import nbformat
import pytest

from lhkit.lessons.lesson_list import shipped_notebooks

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import published  # noqa: E402 - the line above says where

NOTEBOOKS = shipped_notebooks()
PICTURE = re.compile(r'!\[[^\]]*\]\(([^)]+)\)|<img alt="[^"]+" src="([^"]+)"')
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?![a-z]+:)([^)#]+)[^)]*\)")
# A path from a root: two folders or more, or a drive.
ABSOLUTE = re.compile(r'[\s"=:(\'](?:/[\w.-]+){2,}|\b[A-Z]:\\\\')
WIDGET = re.compile(
    r"widget-view|could not be displayed|Error displaying widget|Loading widget|Traceback \(most"
)
MEGABYTES = 1 << 20


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_page_is_of_the_notebook_as_it_is(path):
    page = published.page_of(path)
    assert page.is_file() and published.is_fresh(path), f"make published writes {page.relative_to(ROOT)} anew"
    text, at = page.read_text(encoding="utf-8"), 0
    for cell in nbformat.read(path, as_version=4).cells:
        source = cell.source if cell.cell_type == "code" else published.linked(cell.source)
        at = text.index(source.rstrip(), at)  # in order


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_page_shows_its_pictures_and_nothing_of_the_machine(path):
    page = published.page_of(path)
    text = page.read_text(encoding="utf-8")
    pictures = [drawn or shown for drawn, shown in PICTURE.findall(text)]
    assert pictures and all((page.parent / p).read_bytes().startswith(b"\x89PNG") for p in pictures)
    own = (page.parent / "pictures").glob(f"{path.stem}_*")
    assert sorted(f"pictures/{p.name}" for p in own) == sorted(p for p in pictures if not p.startswith("../"))
    assert not WIDGET.search(text)
    assert not ABSOLUTE.search(text) and socket.gethostname() not in text
    assert all((page.parent / link).exists() for link in LINK.findall(text))


def test_pages_lead_to_the_one_before_and_after():
    ends = published.page_links()
    assert set(ends) == {p.stem for p in NOTEBOOKS}
    for name, links in ends.items():
        assert (published.PAGES / f"{name}.md").read_text(encoding="utf-8").endswith(f"\n{links}"), name
    names = list(ends)
    for before, name in itertools.pairwise(names):
        assert f"]({before}.md)" in ends[name] and f"]({name}.md)" in ends[before]


def test_the_copy_is_small_and_listed():
    files = [p for p in published.PAGES.rglob("*") if p.is_file()]
    assert sum(p.stat().st_size for p in files) < 6 * MEGABYTES
    index = (published.PAGES / "README.md").read_text(encoding="utf-8")
    assert all(f"]({p.stem}.md)" in index for p in NOTEBOOKS)
    assert {p.stem for p in published.PAGES.glob("*.md")} == {"README", *(p.stem for p in NOTEBOOKS)}
    assert "](docs/lessons/README.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_a_page_of_other_cells_is_stale(tmp_path, monkeypatch):
    path = NOTEBOOKS[0]
    monkeypatch.setattr(published, "PAGES", tmp_path)
    assert not published.is_fresh(path)
    sha256 = published.cells_sha256(published.read_notebook(path))
    (tmp_path / f"{path.stem}.md").write_text(f"<!-- from here; cells {sha256} -->\n")
    assert published.is_fresh(path)
    changed = nbformat.read(path, as_version=4)
    changed.cells[0].source += "!"
    nbformat.write(changed, tmp_path / path.name)
    assert not published.is_fresh(tmp_path / path.name)


def test_text_is_fenced_and_freed_of_the_machine():
    assert published.fenced("a ``` b\n") == "````text\na ``` b\n````\n"
    hidden = {"/tmp/xyz1": ".", "/home/me": "~"}
    assert published.cleaned("\x1b[31m/tmp/xyz1/a.json \n/home/me/b", hidden) == "./a.json\n~/b"
    made = f"{tempfile.gettempdir()}/tmpab12/b.mlir on {tempfile.gettempdir()}/tmpab12/b.mlir"
    assert published.cleaned(made, hidden) == "TEMP/b.mlir on TEMP/b.mlir"
