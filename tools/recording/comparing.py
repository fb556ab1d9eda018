"""Comparing two records: equal changes of many entries are told once."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from recording.entries import LOG

_MOST_NAMES = 6
_MOST_LINES = 60_000
_BLOCK = re.compile(r"\[(script|style) ([0-9a-f]{8})\]")


def compare_records(old: Path, new: Path, wording: Path | None, most: int, out: TextIO) -> int:
    """Write what differs and return the exit code: 1 if something does, 2 if there is no such record."""
    for folder in (old, new):
        if not folder.is_dir():
            out.write(f"no such folder: {folder}\n")
            return 2
    wordings = _wordings(wording)
    before, after = _names(old), _names(new)
    groups: dict[tuple[str, ...], list[str]] = {}
    differing = set()
    for name in sorted(before & after):
        first = _worded((old / name).read_text(encoding="utf-8"), wordings)
        second = (new / name).read_text(encoding="utf-8")
        for hunk in _hunks(first, second) if first != second else ():
            differing.add(name)
            named = groups.setdefault(hunk, [])
            if name not in named:
                named.append(name)
    gone = sorted(name for name in before - after if not name.startswith("blocks/"))
    come = sorted(name for name in after - before if not name.startswith("blocks/"))
    for title, names in (("only in the old record", gone), ("only in the new record", come)):
        if names:
            out.write(f"{title}: {len(names)}\n" + "".join(f"  {name}\n" for name in names) + "\n")
    for hunk, names in sorted(groups.items(), key=lambda item: (-len(item[1]), item[1])):
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        out.write(f"{len(names)} × {', '.join(names[:_MOST_NAMES])}{more}\n")
        _write_lines(hunk, most, out)
        for kind, one, other in _changed_blocks(hunk):
            files = [folder / "blocks" / f"{kind}-{name}.txt" for folder, name in ((old, one), (new, other))]
            texts = [f.read_text(encoding="utf-8") if f.exists() else "" for f in files]
            for inner in _hunks(_worded(texts[0], wordings), texts[1]):
                out.write(f"    in this {kind}:\n")
                _write_lines(inner, most, out)
        out.write("\n")
    same = len(before & after) - len(differing)
    out.write(f"{same} entries are equal, {len(differing)} differ, {len(gone)} are gone, {len(come)} are new\n")
    return 1 if differing or gone or come else 0


def _write_lines(lines: tuple[str, ...], most: int, out: TextIO) -> None:
    out.writelines(f"    {line[:400]}\n" for line in lines[:most])
    if len(lines) > most:
        out.write(f"    … {len(lines) - most} lines more\n")


def _names(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*.txt") if p.name != LOG}


def _wordings(path: Path | None) -> list[tuple[str, str]]:
    if path is None:
        return []
    pairs = (line.partition("\t") for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    return [(old, new) for old, _, new in pairs]


def _worded(text: str, wordings: list[tuple[str, str]]) -> str:
    for old, new in wordings:
        text = text.replace(old, new)
    return text


def _hunks(first: str, second: str) -> Iterator[tuple[str, ...]]:
    """Yield the changes between two texts, each as lines with signs and a line of context."""
    one, other = first.splitlines(), second.splitlines()
    start = next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    start = max(0, start - 1)
    one, other = one[start:], other[start:]
    end = 0
    while end < min(len(one), len(other)) and one[-1 - end] == other[-1 - end]:
        end += 1
    end = max(0, end - 1)
    one, other = one[: len(one) - end], other[: len(other) - end]
    if len(one) + len(other) > _MOST_LINES:
        yield (f"- {len(one)} lines", f"+ {len(other)} lines, too many to compare")
        return
    hunk: list[str] = []
    for line in difflib.unified_diff(one, other, n=1, lineterm=""):
        if line.startswith(("---", "+++")) and not hunk:
            continue
        if line.startswith("@@"):
            if hunk:
                yield tuple(hunk)
            hunk = []
        else:
            hunk.append(line)
    if hunk:
        yield tuple(hunk)


def _changed_blocks(hunk: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    removed = [m.groups() for line in hunk if line[:1] == "-" for m in _BLOCK.finditer(line)]
    added = [m.groups() for line in hunk if line[:1] == "+" for m in _BLOCK.finditer(line)]
    for (kind, one), (_, other) in zip(removed, added, strict=False):
        yield kind, one, other
