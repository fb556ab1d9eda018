"""``lhkit publish``: pages of notebooks, widgets taken out, messages where a notebook is none."""

import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from lhkit.cli.main import run_program
from lhkit.lessons.publishing import WIDGET_VIEW
from lhkit.traces.diff.ir_html import payload_html

WIDGET = {WIDGET_VIEW: {"model_id": "x"}, "text/html": "<b>picture</b>", "text/plain": "text"}


@pytest.fixture
def saved(tmp_path):
    output = new_output("execute_result", data=WIDGET, execution_count=1)
    cells = [new_markdown_cell("# One <idea>\ntext"), new_code_cell("1", execution_count=1, outputs=[output])]
    notebook = new_notebook(cells=cells, metadata={"widgets": {"application/x": {"state": {"x": {}}}}})
    nbformat.write(notebook, tmp_path / "saved.ipynb")
    return tmp_path / "saved.ipynb"


def test_widgets_are_left_out_and_their_pictures_stay(saved, tmp_path, capsys):
    assert run_program(["publish", str(saved), "--out", str(tmp_path / "site")]) == 0
    page = (tmp_path / "site" / "saved.html").read_text(encoding="utf-8")
    assert "<b>picture</b>" in page and "widget-view" not in page and '"state"' not in page
    assert not re.search(r"""<(?:script|link|img)[^>]+(?:src|href)=["']?https?:""", page)
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert '<a href="saved.html">One &lt;idea&gt;</a>' in index
    assert capsys.readouterr().out.strip().endswith("index.html")
    assert WIDGET_VIEW in saved.read_text(encoding="utf-8"), "the notebook itself was changed"


def test_a_notebook_runs_where_it_is_asked_for(tmp_path, capsys):
    nbformat.write(new_notebook(cells=[new_code_cell("print(6 * 7)")]), tmp_path / "runs.ipynb")
    nbformat.write(new_notebook(cells=[new_code_cell("1 / 0")]), tmp_path / "fails.ipynb")
    out = str(tmp_path / "site")
    assert run_program(["publish", str(tmp_path / "runs.ipynb"), "--execute", "--out", out]) == 0
    assert "42" in (tmp_path / "site" / "runs.html").read_text(encoding="utf-8")
    assert run_program(["publish", str(tmp_path / "fails.ipynb"), "--execute", "--out", out]) == 2
    assert "a cell fails: ZeroDivisionError: division by zero" in capsys.readouterr().err


def test_a_page_of_cells_that_were_not_run_says_that_its_pictures_are_missing(saved, tmp_path, capsys):
    output = new_output("stream", text="2\n")
    cells = [
        new_code_cell("print(2)", execution_count=1, outputs=[output]),
        new_code_cell("x = 1", execution_count=2),  # ran and said nothing
        new_code_cell("print(3)"),
        new_code_cell("print(4)"),
        new_code_cell(""),
    ]
    nbformat.write(new_notebook(cells=cells), tmp_path / "partly.ipynb")
    out = str(tmp_path / "site")
    nbformat.write(new_notebook(cells=cells), tmp_path / "partly_too.ipynb")
    partly = [str(tmp_path / f"{name}.ipynb") for name in ("partly", "partly_too")]
    assert run_program(["publish", *partly, str(saved), "--out", out]) == 0
    said = capsys.readouterr().err.splitlines()
    assert [line.strip() for line in said if "→" not in line] == [
        *2 * ["2 of 4 code cells were not run"],
        "Results and pictures of cells that were not run are missing; --execute runs them.",
    ]
    assert "saved.ipynb" in said[-2] and "partly.ipynb" in said[0]
    assert run_program(["publish", str(tmp_path / "partly.ipynb"), "--execute", "--out", out]) == 0
    assert "were not run" not in capsys.readouterr().err


@pytest.mark.parametrize("text", [None, "no JSON", "[]", "{}"])
def test_what_is_no_notebook_is_said(text, tmp_path, capsys):
    path = tmp_path / "n.ipynb"
    if text is not None:
        path.write_text(text)
    assert run_program(["publish", str(path), "--out", str(tmp_path / "site")]) == 2
    assert "n.ipynb" in capsys.readouterr().err


def test_pages_of_one_name_are_refused(saved, tmp_path, capsys):
    (tmp_path / "b").mkdir()
    other = tmp_path / "b" / "saved.ipynb"
    other.write_bytes(saved.read_bytes())
    assert run_program(["publish", str(saved), str(other), "--out", str(tmp_path / "site")]) == 2
    assert "two pages would be called saved.html" in capsys.readouterr().err


def test_ir_keeps_its_indentation(tmp_path):
    text = "module {\n  func.func @f(%x: f32) -> f32 {\n    return %x : f32\n  }\n}\n"
    html = payload_html(text)
    output = new_output("execute_result", data={"text/html": html}, execution_count=1)
    nbformat.write(
        new_notebook(cells=[new_code_cell("1", execution_count=1, outputs=[output])]), tmp_path / "ir.ipynb"
    )
    assert run_program(["publish", str(tmp_path / "ir.ipynb"), "--out", str(tmp_path / "site")]) == 0
    page = (tmp_path / "site" / "ir.html").read_text(encoding="utf-8")
    lines = [re.sub(r"<[^>]+>", "", line) for line in re.findall(r"<pre class=\"l\"[^>]*>(.*?)</pre>", page)]
    assert [len(line) - len(line.lstrip()) for line in lines] == [0, 2, 4, 2, 0]


def test_pages_lead_to_the_one_before_and_after(tmp_path):
    for name in "abc":
        nbformat.write(
            new_notebook(cells=[new_markdown_cell(f"# Lesson <{name}>")]), tmp_path / f"{name}.ipynb"
        )
    out = tmp_path / "site"
    assert run_program(["publish", *(str(tmp_path / f"{n}.ipynb") for n in "abc"), "--out", str(out)]) == 0
    pages = [(out / f"{name}.html").read_text(encoding="utf-8") for name in "abc"]
    links = [re.findall(r'<a (?:rel="(\w+)" )?href="(\w+\.html)">([^<]*)</a>', page) for page in pages]
    listed = ("", "index.html", "all of them")
    prev = [("prev", f"{n}.html", f"previous: Lesson &lt;{n}&gt;") for n in "ab"]
    following = [("next", f"{n}.html", f"next: Lesson &lt;{n}&gt;") for n in "bc"]
    # At the top and at the end.
    assert links[0] == 2 * [listed, following[0]]
    assert links[1] == 2 * [prev[0], listed, following[1]] and links[2] == 2 * [prev[1], listed]


def test_pages_are_dark_where_their_list_is(saved, tmp_path):
    assert run_program(["publish", str(saved), "--out", str(tmp_path / "site")]) == 0
    page, index = ((tmp_path / "site" / f"{n}.html").read_text(encoding="utf-8") for n in ("saved", "index"))
    assert "@media (prefers-color-scheme: dark)" in index
    dark = re.search(r'<style media="\(prefers-color-scheme: dark\)">(.*?)</style>', page, re.DOTALL)[1]
    assert "--jp-layout-color0: #111" in dark and "--jp-mirror-editor-keyword-color" in dark
    # Drawings follow this attribute before the reader's system.
    assert "data-jp-theme-light" not in re.search("<body[^>]*>", page)[0]
