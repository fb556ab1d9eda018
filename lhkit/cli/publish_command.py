"""``lhkit publish``: notebooks as web pages that need no kernel and no network."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from lhkit.cli.terminal import say
from lhkit.lessons.lesson_list import shipped_notebooks
from lhkit.lessons.publishing import PublishedNotebook, publish_notebook
from lhkit.model.errors import usage_error
from lhkit.model.file_io import write_file
from lhkit.show.comparison_page import links_page
from lhkit.worker.folders import temporary_place


@click.command("publish", epilog="Example: lhkit publish --out site --execute")
@click.argument("notebooks", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("site"),
    help="Folder for the pages.",
)
@click.option("--execute", is_flag=True, help="Run each notebook first; the file stays as it is.")
@click.option("--title", default="Notebooks", help="Heading of the page that lists them.")
def command(notebooks: tuple[Path, ...], out: Path, execute: bool, title: str) -> None:
    """Turn NOTEBOOKS (default: those that come with lhkit) into HTML pages, with a page that lists them.

    Every picture is in its page; nothing is asked of any address. Widgets show as the picture that they are
    without a kernel. Notebooks without outputs need --execute.
    """
    sources = notebooks or shipped_notebooks()
    names = [source.stem for source in sources]
    for name in names:
        if names.count(name) > 1 or name == "index":
            raise usage_error(f"two pages would be called {name}.html", "Rename one of the notebooks.")
    out.mkdir(parents=True, exist_ok=True)
    links, lacking = [], False
    for before, source, after in zip((None, *sources), sources, (*sources[1:], None), strict=False):
        published = _published(source, before, after, execute=execute, is_shipped=not notebooks)
        write_file(out / f"{published.name}.html", published.html.encode())
        links.append((f"{published.name}.html", published.title))
        say(f"{source} → {out / published.name}.html", err=True)
        if published.cells_not_run:
            lacking = True
            say(f"  {published.cells_not_run} of {published.cells} code cells were not run", err=True)
    if lacking:
        say("Results and pictures of cells that were not run are missing; --execute runs them.", err=True)
    write_file(out / "index.html", links_page(title, links).encode())
    say(out / "index.html")


def _published(
    source: Path, before: Path | None, after: Path | None, *, execute: bool, is_shipped: bool
) -> PublishedNotebook:
    if not execute:
        return publish_notebook(source, before=before, after=after)
    # Files that shipped notebooks write are removed.
    place = temporary_place("lhkit-publish-") if is_shipped else contextlib.nullcontext(source.parent)
    with place as folder:
        return publish_notebook(source, run_in=folder, before=before, after=after)
