"""Finding and running a compiler binary, and parsing what it prints."""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lhkit.model.errors import Diagnostic, usage_error
from lhkit.model.span import Span
from lhkit.text.op_tree import OpSyntax
from lhkit.text.parser import read_syntax
from lhkit.traces.opt.probed_schedule import ENDED, PRINTED
from lhkit.worker.limits import Limits

if sys.platform == "linux":
    import resource

VARIABLE = "LHKIT_OPT"
_PASS = "--transform-interpreter"
_VERSION = re.compile(r"version (\S+)")
# Limit on the output: a schedule that prints without end must not fill the disk.
_MOST_BYTES = 1 << 28

RunStatus = Literal["ok", "failed", "crashed", "timeout"]


@dataclass(frozen=True, slots=True)
class OptHost:
    """A program like ``mlir-opt``."""

    path: str
    name: str
    version: str


@dataclass(frozen=True, slots=True)
class OptRun:
    """The result of a run."""

    status: RunStatus
    output: str
    errors: str


def opt_host() -> OptHost | None:
    """Return the program that ``LHKIT_OPT`` names, or None; UsageError if it has no transform interpreter."""
    named = os.environ.get(VARIABLE, "")
    if not named:
        return None
    path = shutil.which(named)
    if path is None:
        raise usage_error(f"{VARIABLE}={named}: no such program", "Debian: apt-get install mlir-19-tools.")
    version = _first_lines(path, "--version")
    if _PASS not in _first_lines(path, "--help"):
        raise usage_error(
            f"{VARIABLE}={named} has no pass transform-interpreter", "mlir-opt of LLVM 18 or later has it."
        )
    match = _VERSION.search(version)
    return OptHost(path, Path(path).name, match[1] if match else "unknown")


def _first_lines(path: str, option: str) -> str:
    try:
        done = subprocess.run([path, option], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise usage_error(f"{path} {option} does not run: {error}") from None
    return done.stdout


def run_opt(host: OptHost, arguments: Sequence[str], *, folder: Path, limits: Limits) -> OptRun:
    """Run the program in a folder until it ends or exceeds a limit, and return its output so far."""
    output, errors = folder / "stdout", folder / "stderr"
    with output.open("wb") as out, errors.open("wb") as err:
        process = subprocess.Popen(
            [host.path, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err
        )
        try:
            _bound(process.pid, limits.memory_bytes)
            code = process.wait(timeout=limits.seconds)
            status: RunStatus = "ok" if code == 0 else "crashed" if code < 0 else "failed"
        except subprocess.TimeoutExpired:
            status = "timeout"
        finally:
            process.kill()
            process.wait()
    return OptRun(status, _text(output), _text(errors))


def _bound(process: int, memory_bytes: int) -> None:
    """Limit memory and file size of a process, where the system can limit another process."""
    if sys.platform != "linux":
        return
    with contextlib.suppress(ProcessLookupError):  # it has ended already
        resource.prlimit(process, resource.RLIMIT_AS, (memory_bytes, memory_bytes))
        resource.prlimit(process, resource.RLIMIT_FSIZE, (_MOST_BYTES, _MOST_BYTES))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


# Parsing the output: payload trees, parameters and diagnostics.


_PRINT = re.compile(r"^\[\[\[ IR printer: (.*?) ?(?:top-level)? ?\]\]\]\n", re.MULTILINE)
_OURS = re.compile(rf"{PRINTED} (\d+)")
_TAG = re.compile(rf"{PRINTED}\.s(\d+)\.h(\d+)")
_TAGS_ALONE = re.compile(rf" (?:attributes )?\{{{PRINTED}\.s\d+\.h\d+(?:, {PRINTED}\.s\d+\.h\d+)*\}}")
_TAGS_AMONG = re.compile(rf"{PRINTED}\.s\d+\.h\d+, |, {PRINTED}\.s\d+\.h\d+")
_LINE = re.compile(r"^(.+?):(\d+):(\d+): (error|warning|remark|note): (.*)$", re.MULTILINE)
_PARAM = re.compile(rf"{PRINTED}\.s\d+\.h(\d+)(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TreeOp:
    """An op of a printed payload: its place in the tree, and the handles that it is marked with."""

    name: str
    parent: int | None
    depth: int
    text: str
    tags: frozenset[tuple[int, int]]


def printed_payloads(output: str) -> dict[int, str]:
    """Return the printed payload after each step (-1: before the first)."""
    found: dict[int, str] = {}
    starts = list(_PRINT.finditer(output))
    for i, start in enumerate(starts):
        if (step := _OURS.fullmatch(start[1].strip())) is None:
            continue
        end = starts[i + 1].start() if i + 1 < len(starts) else len(output)
        found[int(step[1]) - 1] = output[start.end() : end].strip("\n") + "\n"
    return found


def without_tags(text: str) -> str:
    """Return a printed payload without the marks of handles."""
    return _TAGS_AMONG.sub("", _TAGS_ALONE.sub("", text))


def tree_of(text: str) -> tuple[TreeOp, ...]:
    """Return the ops of a printed payload, outer before inner."""
    ops: list[TreeOp] = []
    for op in read_syntax(text).ops:
        _add(op, None, 0, ops)
    return tuple(ops)


def _add(op: OpSyntax, parent: int | None, depth: int, ops: list[TreeOp]) -> None:
    tokens = op.tokens
    tags = frozenset((int(m[1]) - 1, int(m[2])) for t in tokens if (m := _TAG.fullmatch(t.text)))
    shown = " ".join("%" if t.kind == "value" else t.text for t in tokens if not _TAG.fullmatch(t.text))
    here = len(ops)
    ops.append(TreeOp(op.name, parent, depth, shown, tags))
    for region in op.regions:
        for inner in region.ops:
            _add(inner, here, depth + 1, ops)


def align(
    old: Sequence[TreeOp], ids: Sequence[str], new: Sequence[TreeOp], fresh: Iterable[str]
) -> tuple[str, ...]:
    """Return ids for the ops of a tree, kept from the previous tree where depth, name and order match."""
    fresh = iter(fresh)
    found: list[str | None] = [None] * len(new)
    keys = [[(o.depth, o.name, o.text) for o in tree] for tree in (old, new)]
    matcher = difflib.SequenceMatcher(None, keys[0], keys[1], autojunk=False)
    for kind, i, j, k, end in matcher.get_opcodes():
        if kind == "equal":
            found[k:end] = ids[i:j]
        elif kind == "replace":
            left = {(o.depth, o.name): n for n, o in reversed(list(enumerate(old[i:j], i)))}
            for n in range(k, end):
                at = left.pop((new[n].depth, new[n].name), None)
                found[n] = None if at is None else ids[at]
    return tuple(next(fresh) if each is None else each for each in found)


def parameters(errors: str) -> dict[int, str]:
    """Return the values of parameters that were printed as remarks, by handle."""
    found = {}
    for match in _LINE.finditer(errors):
        if match[4] == "remark" and (param := _PARAM.match(match[5])):
            found[int(param[1])] = param[2].strip()
    return found


def ended_steps(errors: str) -> int:
    """Return how many steps ended in a run, the start counted as one."""
    return sum(match[4] == "remark" and match[5].startswith(ENDED) for match in _LINE.finditer(errors))


def diagnostics(errors: str, names: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """Return errors with their notes, with the user's file names."""
    found: list[Diagnostic] = []
    for match in _LINE.finditer(errors):
        span = Span(names.get(match[1], match[1]), int(match[2]), int(match[3]))
        if match[4] == "error":
            found.append(Diagnostic("error", match[5], span))
        elif match[4] == "note" and found and not match[5].startswith("see current operation"):
            last = found[-1]
            note = Diagnostic("note", match[5], span)
            found[-1] = Diagnostic(last.severity, last.message, last.span, (*last.notes, note))
    return tuple(found)
