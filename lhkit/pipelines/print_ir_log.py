"""Logs of ``mlir-opt`` and IREE that print the IR before and after passes, read without parsing the IR."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from lhkit.model.errors import public, usage_error
from lhkit.model.file_io import parse_json, read_bytes
from lhkit.model.pass_trace import (
    PassStatus,
    PassStep,
    PassTrace,
    by_dialect,
    pack_text,
    passes_from_json,
    sorted_counts,
)

_HEADER = re.compile(rb"^// -----// IR Dump (Before|After) ([^\n]*?) //----- //[^\n]*\n?", re.MULTILINE)
# ``Canonicalizer (canonicalize) ('func.func' operation: @f)``; in newer versions ``CSEPass: cse{…}``.
_FAILED = re.compile(r" Failed(?= \(|:|$)")
_PASS = re.compile(
    r"(?:\(anonymous namespace\)|::|[^:({])*?(?:(?<!:):(?!:) ?(?P<text>.+)| \((?P<argument>[\w-]+)\))",
    re.DOTALL,
)
_SCOPE = re.compile(r" \('(?P<op>[^']+)' operation(?:: (?P<symbol>@.+))?\)$")
# The first op of a text: aliases come before it.
_FIRST_OP = re.compile(rb'^(?![#!\s/])"?([\w.$-]+)[^\n@{]{0,200}(@(?:"[^"\n]*"|[\w.$-]+))?', re.MULTILINE)
_OP = re.compile(rb'^ *(?:%[^=\n]* = )?"?([A-Za-z_][\w$-]*\.[\w$.-]+|return)(?![\w$.-]| = )', re.MULTILINE)
_DIAGNOSTIC = re.compile(
    rb"^(?:[^\s%\"][^\n]*?:[0-9]+:[0-9]+|loc\([^\n]*\)|<unknown>:0): (?:fatal error|error|warning|remark): ",
    re.MULTILINE,
)
_ERROR = re.compile(rb"^\S[^\n]*: (?:fatal )?error: ", re.MULTILINE)
_MOST_OF_A_MESSAGE = 2000


def count_ops(text: bytes) -> Counter[str]:
    """Return how many ops of each name a text has, by the words that lines begin with."""
    found = Counter(_OP.findall(text))
    names = ((name.decode(errors="replace"), count) for name, count in found.items())
    return Counter({"func.return" if name == "return" else name: count for name, count in names})


@dataclass(slots=True)
class TextStore:
    """Texts that are kept once, compressed, with their ops by name."""

    packed: list[bytes] = field(default_factory=list)
    counts: list[Counter[str]] = field(default_factory=list)
    _numbers: dict[bytes, int] = field(default_factory=dict)

    def add(self, text: bytes) -> int:
        """Return the number of a text."""
        key = hashlib.blake2b(text, digest_size=16).digest()
        number = self._numbers.setdefault(key, len(self.packed))
        if number == len(self.packed):
            self.packed.append(pack_text(text))
            self.counts.append(count_ops(text))
        return number


@dataclass(slots=True)
class _Run:
    """A pass in the log; ``depth`` counts the passes around it that ended."""

    name: str
    options: str
    scope: str
    is_module: bool
    before: int | None
    after: int | None = None
    status: PassStatus | None = None
    message: str = ""
    depth: int = 0
    inner: int = 0
    ops: Counter[str] = field(default_factory=Counter)


@public
def load_passes(path: str | os.PathLike[str]) -> PassTrace:
    """Return what `PassTrace.save` wrote, or read a log of ``mlir-opt`` or ``iree-compile``.

    The log has what ``--mlir-print-ir-before-all``, ``--mlir-print-ir-after-all`` or
    ``--mlir-print-ir-after-change`` print, with ``--mlir-disable-threading``. Its text is data: nothing of it
    is parsed as IR. Ops are counted by the words that lines begin with.

    Args:
        path: The file.

    Raises:
        UsageError: There is no such file, or it has no IR dumps.
    """
    try:
        content = read_bytes(path)
    except OSError as error:
        raise usage_error(f"{path} cannot be read: {error.strerror or error}") from None
    if content.lstrip()[:1] == b"{" and b'"lhkit.' in content[:80]:
        try:
            return passes_from_json(parse_json(content))
        except ValueError as error:
            raise usage_error(f"{path} is not a saved run of passes: {error}") from None
    return read_log(content, os.fspath(path))


def read_log(content: bytes, source: str) -> PassTrace:
    """Return the passes in a log; see `load_passes`."""
    if b"\r\n" in content:
        content = content.replace(b"\r\n", b"\n")
    reader = _Reader()
    texts = TextStore()
    headers = list(_HEADER.finditer(content))
    if not headers:
        raise usage_error(
            f"{source} has no IR dumps",
            "Lines like `// -----// IR Dump After Canonicalizer (canonicalize) //----- //` begin them; mlir-opt"
            " and iree-compile print them with --mlir-print-ir-after-all --mlir-disable-threading.",
        )
    ends = [*(h.start() for h in headers[1:]), len(content)]
    for header, end in zip(headers, ends, strict=True):
        text, message = _split_text(content[header.end() : end])
        reader.take(header, texts, text, message)
    steps = tuple(_steps(reader.finish(), texts))
    return PassTrace(source, "", steps, tuple(texts.packed))


def _split_text(dump: bytes) -> tuple[bytes, str]:
    """Return the IR of a dump, and the compiler's error that follows it."""
    found = _DIAGNOSTIC.search(dump)
    if found is None:
        return dump.strip(b"\n"), ""
    error = _ERROR.search(dump, found.start())
    message = dump[error.start() :].strip()[:_MOST_OF_A_MESSAGE] if error else b""
    return dump[: found.start()].strip(b"\n"), message.decode(errors="replace")


class _Reader:
    """Pairs what was printed before a pass with what was printed after it: passes may run others."""

    def __init__(self) -> None:
        self._runs: list[_Run] = []
        self._open: list[_Run] = []
        self._has_silent_ends = False  # What does not change is not printed again
        self._last: dict[str, int] = {}  # The last text of each op that was printed
        self._ops: Counter[str] = Counter()  # Of the whole payload, or of what was printed of it
        self._has_module = False

    def take(self, header: re.Match[bytes], texts: TextStore, text: bytes, message: str) -> None:
        """Read a dump."""
        said, failed = _FAILED.subn("", header[2].decode(errors="replace"), count=1)
        place = _SCOPE.search(said)
        said = said[: place.start()] if place else said
        found = _PASS.fullmatch(said)
        label = str(found["text"] or found["argument"]) if found else said
        name, _, options = label.strip().partition("{")
        first = _FIRST_OP.search(text)
        op, symbol = (first[1], first[2] or b"") if first else (b"", b"")
        is_module = op in (b"module", b"builtin.module")
        root = " ".join(part.decode(errors="replace") for part in (op, symbol) if part)
        scope = " ".join(part for part in (place["op"], place["symbol"]) if part) if place else root
        scope = scope.removeprefix("builtin.")
        number = texts.add(text) if text.strip() else None
        if header[1] == b"Before":
            run = _Run(name[:200], options.removesuffix("}"), scope, is_module, number, message=message)
            self._runs.append(run)
            self._open.append(run)
            if number is not None and not self._has_module and root not in self._last:
                self._ops.update(texts.counts[number])
        else:
            run = self._ended(name[:200], options.removesuffix("}"), scope, is_module)
            run.after = None if failed else number if number is not None else run.before
            run.status = "failed" if failed else "ok"
            run.message = run.message or message
            self._count(run, texts)
        if number is not None:
            self._last[root] = number
            self._has_module |= is_module

    def _ended(self, name: str, options: str, scope: str, is_module: bool) -> _Run:
        """Return the innermost open pass of a name; those within it that are still open had no effect."""
        at = next((i for i in reversed(range(len(self._open))) if self._open[i].name == name), None)
        if at is None:
            run = _Run(name, options, scope, is_module, self._last.get(scope))
            self._runs.append(run)
            return run
        run, *within = self._open[at:]
        del self._open[at:]
        self._has_silent_ends |= bool(within)
        for each in self._open:
            each.inner += 1
        run.scope = run.scope or scope
        return run

    def _count(self, run: _Run, texts: TextStore) -> None:
        if run.after is not None:
            after = texts.counts[run.after]
            if run.is_module:
                self._ops = after.copy()
            elif not run.inner:  # else the passes within it have been counted
                self._ops.update(after)
                self._ops.subtract(texts.counts[run.before] if run.before is not None else {})
        run.ops = self._ops.copy()

    def finish(self) -> list[_Run]:
        """Return the passes in the order in which they began, with how each ended."""
        return _with_depths(self._runs, self._open, has_silent_ends=self._has_silent_ends)


def _with_depths(runs: list[_Run], still_open: list[_Run], *, has_silent_ends: bool) -> list[_Run]:
    # A pass without an end cannot be told from one that runs those after it; only what ended is around others.
    left: list[list[int]] = []
    for run in runs:
        left = [each for each in left if each[0] > 0]
        run.depth = len(left)
        for each in left:
            each[0] -= 1
        if run.inner and run.status is not None:
            left.append([run.inner])
    has_ends = any(run.status == "ok" for run in runs)
    following: dict[str, int | None] = {}
    for run in reversed(runs):
        if run.status is None and not has_ends and not run.message:  # only what came before was printed
            run.after = following.get(run.scope)
            run.status = "unfinished" if run.after is None else "ok"
        elif run.status is None:
            is_cut = not has_silent_ends and any(run is each for each in still_open)
            run.status = "failed" if run.message else "unfinished" if is_cut else "ok"
            run.after = run.before if run.status == "ok" else None
        following[run.scope] = run.before
    return runs


def _steps(runs: list[_Run], texts: TextStore) -> Iterator[PassStep]:
    ops: Counter[str] = Counter()
    for index, run in enumerate(runs):
        made, gone = count_changes(texts, run.before, run.after)
        ops = run.ops or ops
        ends = (run.before, run.after, sorted_counts(made), sorted_counts(gone), by_dialect(ops))
        status = run.status or "ok"
        yield PassStep(index, run.name, run.options, run.scope, run.depth, status, *ends, message=run.message)


def count_changes(texts: TextStore, before: int | None, after: int | None) -> tuple[Counter[str], Counter[str]]:
    """Return the ops that a text has more than another, and those that it has less."""
    if before is None or after is None or before == after:
        return Counter(), Counter()
    return texts.counts[after] - texts.counts[before], texts.counts[before] - texts.counts[after]
