"""Notebooks as self-contained web pages, without network access or a kernel."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lhkit.draw.svg import escaped
from lhkit.model.errors import usage_error
from lhkit.model.file_io import parse_json, read_text

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
_CELL_SECONDS = 600

_STYLE = """
:root { color-scheme: light dark; } body { background: var(--jp-layout-color0); }
.lh-pages { padding: .5em 2em; color: var(--jp-ui-font-color1); font-family: var(--jp-ui-font-family); }
.lh-pages a { color: var(--jp-content-link-color); } @media print { .lh-pages { display: none; } }
"""
_LINK = re.compile(r'href="((?![a-z]+:)[^"#]+)\.ipynb"')


@dataclass(frozen=True, slots=True)
class PublishedNotebook:
    """A notebook as a page: its name without suffix, its title, the page's text.

    Attributes:
        cells: Number of code cells.
        cells_not_run: Number of those without a run, whose outputs the page lacks.
    """

    name: str
    title: str
    html: str
    cells: int
    cells_not_run: int


def publish_notebook(
    path: Path, *, run_in: Path | None = None, before: Path | None = None, after: Path | None = None
) -> PublishedNotebook:
    """Return a notebook as one self-contained HTML page, dark where the reader's system is.

    Args:
        path: The notebook.
        run_in: Run it first, in this folder.
        before: The notebook before it, whose page a link leads to.
        after: The notebook after it, likewise.
    """
    notebook = read_notebook(path)
    if run_in is not None:
        execute_notebook(notebook, path, run_in)
    without_widgets(notebook)
    title = notebook_title(notebook) or path.stem
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    not_run = sum(cell.execution_count is None and not cell.outputs for cell in code)
    html = _with_links(_exported(notebook, title), before, after)
    return PublishedNotebook(path.stem, title, html, len(code), not_run)


def _with_links(html: str, before: Path | None, after: Path | None) -> str:
    """Add links to the pages before and after, and to the list of all, at the top and at the end of a page."""
    if before is None and after is None:
        return html
    links = ['<a href="index.html">all of them</a>']
    for at, rel, word, path in ((0, "prev", "previous", before), (2, "next", "next", after)):
        if path is not None:
            title = escaped(notebook_title(read_notebook(path)) or path.stem)
            links.insert(at, f'<a rel="{rel}" href="{escaped(path.stem)}.html">{word}: {title}</a>')
    shown = f'<nav class="lh-pages">{" · ".join(links)}</nav>'
    head, body, rest = re.split(r"(<body[^>]*>)", html, maxsplit=1)
    content, end, after_it = rest.rpartition("</body>")
    return f"{head}{body}{shown}{content}{shown}{end}{after_it}"


def read_notebook(path: Path) -> Any:
    """Return the notebook in a file."""
    import nbformat

    try:
        text = read_text(path)
        data = parse_json(text)
    except OSError as error:
        raise usage_error(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        raise usage_error(f"{path} is not a notebook: {error}") from None
    cells = data.get("cells", data.get("worksheets")) if isinstance(data, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise usage_error(f"{path} is not a notebook: it has no list of cells, or an entry that is not a cell")
    try:
        return nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]
    except (ValueError, TypeError, AttributeError, KeyError, nbformat.ValidationError) as error:
        raise usage_error(f"{path} is not a notebook: {error}") from None


def without_widgets(notebook: Any) -> None:
    """Remove the views and states of widgets from a notebook; the static picture of each output is left."""
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            output.get("data", {}).pop(WIDGET_VIEW, None)


def cells_sha256(notebook: Any) -> str:
    """Return the hash of the sources of a notebook's cells."""
    sources = [[cell.cell_type, cell.source] for cell in notebook.cells]
    return hashlib.sha256(json.dumps(sources).encode()).hexdigest()


def execute_notebook(notebook: Any, path: Path, folder: Path) -> None:
    """Run a notebook in place, in a kernel of its own, without live widgets.

    A `UsageError` if a cell fails, or no kernel starts.
    """
    from jupyter_client.kernelspec import NoSuchKernel
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    resources = {"metadata": {"path": str(folder)}}
    client = NotebookClient(notebook, timeout=_CELL_SECONDS, resources=resources, store_widget_state=False)
    client.extra_arguments = ["--log-level=ERROR"]  # it warns of its own transport
    try:
        client.execute(env={**os.environ, "LHKIT_LIVE": "0"})
    except CellExecutionError as error:
        raise usage_error(f"{path}: a cell fails: {error.ename}: {error.evalue}") from None
    except (NoSuchKernel, RuntimeError) as error:
        raise usage_error(f"{path}: no kernel: {error}", "pip install ipykernel") from None


def _exported(notebook: Any, title: str) -> str:
    from nbconvert import HTMLExporter

    exporter = HTMLExporter()  # type: ignore[no-untyped-call]
    # Scripts that the template would fetch.
    for address in ("require_js_url", "mathjax_url", "jquery_url", "mermaid_js_url"):
        setattr(exporter, address, "")
    html, _ = exporter.from_notebook_node(notebook, resources={"metadata": {"name": title}})
    # Notebooks are published side by side: a link from one to another leads to its page.
    html = _LINK.sub(r'href="\1.html"', str(html)).replace(' data-jp-theme-light="true"', "", 1)
    dark, _, _ = exporter.environment.loader.get_source(exporter.environment, "static/theme-dark.css")
    style = f'<style>{_STYLE}</style>\n<style media="(prefers-color-scheme: dark)">{dark}</style>\n'
    return html.replace("</head>", f"{style}</head>", 1)


def notebook_title(notebook: Any) -> str:
    """Return the first heading of a notebook, "" without one."""
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    lines = (line for text in texts for line in text.splitlines())
    return next((str(line[2:].strip()) for line in lines if line.startswith("# ")), "")
