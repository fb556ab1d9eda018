"""Lessons with their pictures as Markdown, for readers on a code host: ``python docs/published.py``.

A page holds what its notebook held when it was run: cells, printed text and pictures, files beside it.
Only notebooks whose cells changed since are run again (``--all`` runs every one), so that times and pictures of
the others stay as they are.
"""

from __future__ import annotations

import argparse
import base64
import io
import os
import re
import socket
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from lhkit.lessons.lesson_list import lessons_in, shipped_notebooks  # noqa: E402 - the line above says which
from lhkit.lessons.publishing import cells_sha256, execute_notebook, read_notebook  # noqa: E402

PAGES = ROOT / "docs" / "lessons"
_MADE = "<!-- `make published` made this page from notebooks/{path}; cells {sha256} -->\n"
_END = "\n---\n\n<!-- from here to the other lessons -->\n"
_SHA256 = re.compile(r"; cells ([0-9a-f]{64}) -->")
# The workbench itself has no picture in a notebook; this one is of the same payload and schedule.
_WORKBENCH = "![The workbench](../pictures/workbench_light.png)\n"
_COLORS, _WIDEST = 96, 1400
_MOST_LINES = 40
_LINK = re.compile(r"\]\((?![a-z]+:)([^)#]+?)\.ipynb\b")
_TABLE = re.compile(r'<table border="1" class="dataframe">.*</table>', re.DOTALL)
_SVG_WIDTH = re.compile(r'<svg[^>]*?\bwidth="(\d+)"')
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages that are stale; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="only these notebooks, by their names without suffix")
    parser.add_argument("--all", action="store_true", help="also those that did not change")
    parser.add_argument("--check", action="store_true", help="only say which pages are stale; exit 1 if one is")
    asked = parser.parse_args(arguments)
    chosen = [p for p in shipped_notebooks() if not asked.names or p.stem in asked.names]
    stale = [p for p in chosen if asked.all or not is_fresh(p)]
    if asked.check:
        sys.stdout.writelines(f"stale: {page_of(p).relative_to(ROOT)}\n" for p in stale)
        return bool(stale)
    for path in stale:
        sys.stdout.write(f"{path.relative_to(ROOT)} → {write_page(path).relative_to(ROOT)}\n")
        sys.stdout.flush()
    (PAGES / "README.md").write_text(_index(), encoding="utf-8")
    for name, links in page_links().items():
        page = PAGES / f"{name}.md"
        if page.is_file():
            text = page.read_text(encoding="utf-8").partition(_END)[0]
            page.write_text(f"{text.rstrip()}\n{links}", encoding="utf-8")
    return 0


def page_links() -> dict[str, str]:
    """Return the end of each page by the name of its lesson: links to the ones before and after."""
    lessons = [(Path(x.path).stem, x.title) for x in lessons_in()]
    found = {}
    for before, (name, _), after in zip((None, *lessons), lessons, (*lessons[1:], None), strict=False):
        links = ["[all lessons](README.md)"]
        if before is not None:
            links.insert(0, f"previous: [{before[1]}]({before[0]}.md)")
        if after is not None:
            links.append(f"next: [{after[1]}]({after[0]}.md)")
        found[name] = f"{_END}{' · '.join(links)}\n"
    return found


def page_of(notebook: Path) -> Path:
    """Return the page of a notebook."""
    return PAGES / f"{notebook.stem}.md"


def is_fresh(notebook: Path) -> bool:
    """Return whether the page of a notebook was made from the cells that it has."""
    page = page_of(notebook)
    found = _SHA256.search(page.read_text(encoding="utf-8")) if page.is_file() else None
    return found is not None and found[1] == cells_sha256(read_notebook(notebook))


def write_page(path: Path) -> Path:
    """Run a notebook, and write its page and pictures; pictures of an older page go."""
    notebook = read_notebook(path)
    sha256 = cells_sha256(notebook)
    with tempfile.TemporaryDirectory() as folder:
        execute_notebook(notebook, path, Path(folder))
        hidden = _hidden(Path(folder))
    PAGES.mkdir(exist_ok=True)
    (PAGES / "pictures").mkdir(exist_ok=True)
    for old in (PAGES / "pictures").glob(f"{path.stem}_*.png"):
        old.unlink()
    parts = [_MADE.format(path=path.relative_to(ROOT / "notebooks").as_posix(), sha256=sha256)]
    count = 0
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(linked(cell.source) + "\n")
            continue
        if cell.cell_type != "code":
            continue
        parts.append(fenced(cell.source, "python"))
        for kind, content in _shown(cell.get("outputs", ())):
            if kind == "text":
                parts += [_WORKBENCH] if content.startswith("workbench: ") else []
                parts.append(fenced(cleaned(content, hidden)))
                continue
            if kind == "table":
                parts.append(cleaned(content, hidden) + "\n")
                continue
            count += 1
            picture = PAGES / "pictures" / f"{path.stem}_{count}.png"
            picture.write_bytes(small_png(base64.b64decode(content)))
            alt, place = f"picture {count} of this lesson", f"pictures/{picture.name}"
            # Drawings are rendered at twice their size, for sharp screens.
            width = kind.removeprefix("picture").strip()
            parts.append(
                f'<img alt="{alt}" src="{place}" width="{width}">\n' if width else f"![{alt}]({place})\n"
            )
    page = page_of(path)
    page.write_text("\n".join(parts), encoding="utf-8")
    return page


def linked(text: str) -> str:
    """Return Markdown of a notebook with links to other notebooks leading to their pages."""
    return _LINK.sub(r"](\1.md", text).replace("](../", "](").replace("](templates/", "](")


def fenced(text: str, language: str = "text") -> str:
    """Return text as a fenced block, whatever backquotes are in it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


def small_png(content: bytes) -> bytes:
    """Return a picture with few colours and not too many pixels, on white."""
    with Image.open(io.BytesIO(content)) as image:
        drawn = image.convert("RGBA")
        white = Image.new("RGBA", drawn.size, "white")
        picture = Image.alpha_composite(white, drawn).convert("RGB")
    if picture.width > _WIDEST:
        size = (_WIDEST, round(picture.height * _WIDEST / picture.width))
        picture = picture.resize(size, Image.Resampling.LANCZOS)
    out = io.BytesIO()
    picture.quantize(_COLORS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def _shown(outputs: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """Yield what a reader sees of outputs: pictures where there are some, tables of pandas, else text."""
    printed = ""
    for output in outputs:
        if output.output_type == "stream":
            printed += output.text
            continue
        if printed:
            yield "text", printed
            printed = ""
        data = output.get("data", {})
        if "image/png" in data:
            wide = _SVG_WIDTH.search(data.get("image/svg+xml", ""))
            yield f"picture {wide[1] if wide else ''}", data["image/png"]
        elif table := _TABLE.search(data.get("text/html", "")):
            yield "table", re.sub(r"\n\s*", "", table[0])
        elif "text/plain" in data:
            yield "text", data["text/plain"]
    if printed:
        yield "text", printed


# Folders that a notebook made for itself.
_TEMPORARY = re.compile(re.escape(tempfile.gettempdir()) + r"/tmp\w+")


def _hidden(folder: Path) -> dict[str, str]:
    """Return what is of this machine alone, and what stands for it in a page."""
    places = {str(folder.resolve()): ".", str(folder): ".", str(ROOT): "lhkit"}
    return {**places, str(Path.home()): "~", socket.gethostname(): "HOST"}


def cleaned(text: str, hidden: dict[str, str]) -> str:
    """Return printed text without colours, and with other words for what is of one machine alone."""
    text = _ESCAPES.sub("", text)
    for place in sorted(hidden, key=len, reverse=True):
        text = text.replace(place, hidden[place]) if len(place) > 3 else text
    lines = _TEMPORARY.sub("TEMP", text).rstrip().split("\n")
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"… and {len(lines) - _MOST_LINES} more lines"]
    return "\n".join(line.rstrip() for line in lines)


def _index() -> str:
    """Return the page that lists the others, in the order in which they are read."""
    listed = "\n".join(f"- [{x.title}]({Path(x.path).stem}.md): {x.idea}" for x in lessons_in())
    return (
        "# Lessons of lhkit\n\n"
        "The lessons as they looked when they were run, for reading; a copy to run opens with `make lab`."
        " Drawings that react in a notebook are pictures here. Times are those of the machine that ran them."
        "\n\n"
        f"{listed}\n"
    )


if __name__ == "__main__":
    os.chdir(ROOT)
    raise SystemExit(main())
