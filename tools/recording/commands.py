"""The command line: in this process, which is quick, or in one of its own, which is how people run it."""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from recording.entries import Entry

_LONGEST_SECONDS = 400


@dataclass(frozen=True)
class Done:
    """What a command left."""

    code: int | str | None
    out: bytes
    err: bytes


def run_here(arguments: Sequence[str], cwd: Path) -> Done:
    """Run ``lhkit`` in this process, by the entry point that its metadata names."""
    (point,) = importlib.metadata.entry_points(group="console_scripts", name="lhkit")
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    before, argv, interrupt = Path.cwd(), sys.argv, signal.getsignal(signal.SIGINT)
    os.chdir(cwd)
    sys.argv = ["lhkit", *arguments]
    code: int | str | None = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            point.load()()
    except SystemExit as end:
        code = end.code
    finally:
        os.chdir(before)
        sys.argv = argv
        signal.signal(signal.SIGINT, interrupt)
    return Done(code or 0, out.buffer.getvalue(), err.buffer.getvalue())  # type: ignore[attr-defined]


def run_apart(command: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None) -> Done:
    """Run a program in a process of its own."""
    environment = {**os.environ, **(env or {})}
    done = subprocess.run(
        list(command), cwd=cwd, env=environment, capture_output=True, timeout=_LONGEST_SECONDS, check=False
    )
    return Done(done.returncode, done.stdout, done.stderr)


def lhkit_program(checkout: Path) -> str:
    """Return the program of a checkout."""
    return str(checkout / ".venv" / "bin" / "lhkit")


def add_done(entry: Entry, title: str, done: Done, *, figures: bool = False) -> None:
    """Add what a command left to an entry; JSON on standard output as JSON."""
    entry.add(f"$ {title}", f"exit code {done.code}")
    out = done.out.decode("utf-8", errors="replace")
    if done.out[:4] == b"PK\x03\x04":
        entry.add_bytes("standard output", done.out, ".npz", figures=figures)
    elif out.startswith(("{", "[")) and (value := _json(out)) is not None:
        entry.add_json("standard output, as JSON", value, figures=figures)
    elif out.lstrip().startswith(("<!doctype", "<!DOCTYPE", "<html")):
        entry.add_html("standard output", out, figures=figures)
    elif out:
        entry.add("standard output", out, figures=figures)
    if done.err:
        entry.add("standard error", done.err.decode("utf-8", errors="replace"), figures=figures)


def _json(text: str) -> object | None:
    try:
        return json.loads(text)  # type: ignore[no-any-return]
    except ValueError:
        return None


def run_in_order(
    entry: Entry,
    commands: Sequence[str],
    *,
    files: Mapping[str, str | bytes] | None = None,
    figures: bool = False,
    apart: bool = False,
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Path:
    """Run commands in one folder, one after the other, and add what each prints and writes; return it."""
    folder = folder or entry.record.folder(entry.name)
    for name, content in (files or {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    for command in commands:
        before = _files(folder)
        arguments = shlex.split(command)
        # Ops of one's own stay in a process.
        if apart or env or "--ops" in arguments:
            done = run_apart([lhkit_program(entry.record.checkout), *arguments], folder, env)
        else:
            done = run_here(arguments, folder)
        add_done(entry, f"lhkit {command}", done, figures=figures)
        after = _files(folder)
        for path in sorted(p for p in after if after[p] != before.get(p)):
            title = f"file {path.relative_to(folder)}"
            if path.suffix == ".lock" or path.name.startswith("."):
                continue
            entry.add_file(title, path, figures=figures)
    return folder


def _files(folder: Path) -> dict[Path, tuple[int, int]]:
    found = {}
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            stat = path.stat()
            found[path] = (stat.st_mtime_ns, stat.st_size)
    return found
