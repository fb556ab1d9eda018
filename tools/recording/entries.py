"""Entries of a record: a text file each, of sections with a title; and how files and values become text."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import struct
import sys
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from recording.masks import Masks, shape, unpacked

_BLOCK = re.compile(r"<(script|style)([^>]*)>(.*?)</\1>", re.DOTALL)
_SMALL_BLOCK = 300
_BETWEEN_ITEMS = re.compile(r"(?<=[}\]]),(?=[{\[\"])")
_BETWEEN_TAGS = re.compile(r">(?=<)")
LOG = "_log.tsv"


class Entry:
    """One entry while it is being recorded.

    Attributes:
        name: Its name, with slashes.
        record: The record that it belongs to.
        keeps_times: Whether all that is shown was measured once and for all.
    """

    def __init__(self, name: str, record: Record) -> None:
        """Begin an entry."""
        self.name, self.record = name, record
        self.keeps_times = name.startswith("fixed/")
        self._sections: list[str] = []

    def add(self, title: str, text: str, *, figures: bool = False) -> None:
        """Add a section of text."""
        masks, text = self.record.masks, unpacked(text)
        text = masks.masked_figures(text) if figures else masks.masked(text, keeps_times=self.keeps_times)
        title = masks.masked(title)
        self._sections.append(
            f"======== {title}\n{text if text.endswith(chr(10)) or not text else text + chr(10)}"
        )

    def add_json(self, title: str, value: Any, *, figures: bool = False) -> None:
        """Add a JSON value; with ``figures`` its shape."""
        if figures and isinstance(value, list):  # in the order of times
            value = sorted(value, key=lambda v: json.dumps(v.get("knobs") if isinstance(v, dict) else v))
        text = json.dumps(shape(value) if figures else value, indent=1, ensure_ascii=False, default=str)
        self.add(title, text)

    def add_html(self, title: str, text: str, *, figures: bool = False) -> None:
        """Add HTML or SVG, a tag a line; its scripts and styles are entries of their own, kept once."""
        text = _BLOCK.sub(self._block, text)
        if figures:  # what is drawn follows from what was measured
            text = re.sub(r"<svg.*?</svg>", "<svg/>", text, flags=re.DOTALL)
        self.add(title, _BETWEEN_TAGS.sub(">\n", text), figures=figures)

    def _block(self, match: re.Match[str]) -> str:
        body = unpacked(match[3])
        if body.lstrip().startswith("{"):
            body = _BETWEEN_ITEMS.sub(",\n", _BETWEEN_TAGS.sub(">\n", body.replace("\\u003c", "<")))
        body = self.record.masks.masked(body)
        if len(body) < _SMALL_BLOCK:
            return match[0]
        return f"<{match[1]}{match[2]}>[{match[1]} {self.record.keep_block(match[1], body)}]</{match[1]}>"

    def add_file(self, title: str, path: Path, *, figures: bool = False) -> None:
        """Add what a file holds, by its suffix."""
        content, suffix = path.read_bytes(), path.suffix.lower()
        self.add_bytes(title, content, suffix, figures=figures)

    def add_bytes(self, title: str, content: bytes, suffix: str, *, figures: bool = False) -> None:
        """Add what the content of a file is, by its suffix."""
        if suffix == ".json":
            self.add_json(title, json.loads(content), figures=figures)
        elif suffix == ".jsonl":
            lines = [json.loads(line) for line in content.splitlines()]
            self.add_json(title, lines, figures=figures)
        elif suffix in (".html", ".svg"):
            if suffix == ".svg" and figures:
                self.add(title, f"a picture: {content[:5].decode(errors='replace')}")
            else:
                self.add_html(title, content.decode(errors="replace"), figures=figures)
        elif suffix == ".zip" or (content[:4] == b"PK\x03\x04" and suffix != ".npz"):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                for name in archive.namelist():
                    self.add_bytes(f"{title}: {name}", archive.read(name), Path(name).suffix, figures=figures)
        elif suffix == ".npz":
            self.add(title, arrays_text(content))
        elif content[:8] == b"\x89PNG\r\n\x1a\n":
            size = "#" if figures else "x".join(map(str, struct.unpack(">II", content[16:24])))
            self.add(title, f"PNG {size}")
        elif b"\0" in content[:1000]:
            self.add(title, f"binary, begins with {content[:4]!r}")
        else:
            self.add(title, content.decode("utf-8", errors="replace"), figures=figures)

    def text(self) -> str:
        """Return what is written."""
        return "\n".join(self._sections)


def arrays_text(content: bytes) -> str:
    """Return what arrays a ``.npz`` holds, a line each, with a digest of the values."""
    import numpy as np

    with np.load(io.BytesIO(content), allow_pickle=False) as saved:
        return "\n".join(f"{name}: {array_text(saved[name])}" for name in saved.files)


def array_text(array: Any) -> str:
    """Return shape, dtype and a digest of an array's values."""
    import numpy as np

    array = np.ascontiguousarray(array)
    # Eight letters, fewer than masks take for a hash.
    digest = hashlib.sha256(array.tobytes()).hexdigest()[:8]
    return f"{array.dtype} {'x'.join(map(str, array.shape)) or 'scalar'}, values {digest}"


def digest_text(text: str) -> str:
    """Return how long a text is, and eight letters of its hash."""
    return f"{len(text.splitlines())} lines, {hashlib.sha256(text.encode()).hexdigest()[:8]}"


class Record:
    """A record that is being written.

    Attributes:
        checkout: The checkout that is recorded.
        fixtures: Files of a fixed content to load.
        masks: What is taken out.
        scratch: Where commands run.
    """

    def __init__(self, out: Path, checkout: Path, fixtures: Path, pattern: str | None) -> None:
        """Begin a record in an empty or new folder."""
        self._out, self.checkout, self.fixtures, self._pattern = out, checkout, fixtures, pattern
        out.mkdir(parents=True, exist_ok=True)
        self.scratch = Path(tempfile.mkdtemp(prefix="lhrecord"))
        self.masks = Masks(
            {
                str(self.scratch): "<scratch>",
                str(self.scratch.resolve()): "<scratch>",
                str(checkout): "<checkout>",
                str(fixtures): "<fixtures>",
                str(Path(__file__).parent): "<recorder>",
                str(Path(sys.base_prefix)): "<python>",
                str(Path.home()): "<home>" if len(str(Path.home())) > 1 else "/",
            }
        )
        self.count = 0

    def folder(self, name: str) -> Path:
        """Return a new folder for an entry, with the shipped files in it as in a checkout."""
        folder = self.scratch / re.sub(r"\W+", "_", name)[-60:]
        folder.mkdir()
        for shipped in ("data", "schedules", "benchmarks"):
            if (self.checkout / shipped).is_dir():
                (folder / shipped).symlink_to(self.checkout / shipped)
        return folder

    def go_home(self) -> None:
        """Go to a folder in which the shipped files have short names, the same for every checkout."""
        home = self.scratch / "home"
        os.chdir(home if home.is_dir() else self.folder("home"))

    def keep_block(self, kind: str, body: str) -> str:
        """Write a script or style once, and return its name."""
        name = hashlib.sha256(body.encode()).hexdigest()[:8]
        file = self._out / "blocks" / f"{kind}-{name}.txt"
        if not file.exists():
            file.parent.mkdir(exist_ok=True)
            file.write_text(body, encoding="utf-8")
        return name

    def entry(self, name: str, fill: Callable[[Entry], None]) -> None:
        """Record an entry, if it is wanted; what goes wrong in it is part of it."""
        name = re.sub(r"[^\w./+=,-]+", "_", name)
        if self._pattern and not fnmatch(name, f"*{self._pattern}*"):
            return
        entry, began, here = Entry(name, self), time.monotonic(), Path.cwd()
        try:
            fill(entry)
        except Exception as error:  # noqa: BLE001 - a name that moved is a difference, not the end of the record
            entry.add("the recorder could not go on", f"{type(error).__name__}: {error}")
            sys.stderr.write(traceback.format_exc())
        finally:
            os.chdir(here)
        file = self._out / f"{name}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(entry.text(), encoding="utf-8")
        seconds = time.monotonic() - began
        self.count += 1
        with (self._out / LOG).open("a", encoding="utf-8") as log:
            log.write(f"{seconds:.2f}\t{name}\n")
        sys.stderr.write(f"{seconds:7.2f} s  {name}\n")
