"""Allow-list of registered passes that schedules may run: those that only change IR.

``transform.apply_registered_pass`` runs any pass of the bindings, and some of them write files, read files,
run other pipelines or start other programs. This is an allow-list, so that a pass that a later version adds is
refused until it has been reviewed.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from lhkit.model.span import Span

APPLY_PASS = "transform.apply_registered_pass"

_LIST = Path(__file__).with_name("allowed_passes.txt").read_text(encoding="utf-8")
ALLOWED_PASSES = frozenset(line for line in _LIST.splitlines() if not line.startswith("#"))

# What the others do; for passes that the list knows and refuses.
_WRITES, _READS, _RUNS, _STARTS = (
    "it writes files",
    "it reads files",
    "it runs the passes that its options name",
    "it reads files and starts other programs",
)
REFUSED_PASSES = {
    "composite-fixed-point-pass": _RUNS,
    "gpu-lower-to-nvvm-pipeline": _STARTS,
    "gpu-lower-to-rocdl-pipeline": _STARTS,
    "gpu-lower-to-xevm-pipeline": _STARTS,
    "gpu-module-to-binary": _STARTS,
    "nvvm-attach-target": "it names files to link",
    "rocdl-attach-target": "it names files to link",
    "xevm-attach-target": "it names files to link",
    "snapshot-op-locations": _WRITES,
    "transform-interpreter": "it applies another schedule",
    "transform-preload-library": _READS,
}

# Passes that may run with some of their options only. The compiler joins options to one string without quoting,
# so that a string, or a parameter, given for an integer can bring further options: only numbers pass here.
_NUMERIC_OPTIONS = {
    "inline": ({"max-iterations", "inlining-threshold"}, "runs the passes that it names"),
    "sparsifier": (
        {"vl", "enable-simd-index32", "enable-runtime-library", "enable-index-optimizations"},
        "may start other programs",
    ),
}

# Names go into pipelines as text, where commas, braces and blanks would begin something else.
_PLAIN_NAME = re.compile(r"[\^#]?[\w.$:;-]+")


@dataclass(frozen=True, slots=True)
class RefusedPass:
    """A step that would run a pass which is not allowed."""

    name: str
    source: Span | None
    reason: str
    # Whether the compiler has such a pass; one that it has not cannot be allowed either
    is_registered: bool = True


def refusal_of(
    name: str, options: Iterable[tuple[str, bool]] = (), allowed: Collection[str] = ()
) -> str | None:
    """Return why a pass may not run, or None if it may."""
    if name in allowed:
        return None
    if name not in ALLOWED_PASSES:
        why = REFUSED_PASSES.get(name, "it is not on the list of passes that only change IR")
        return f"the pass {name} is refused: {why}"
    if name in _NUMERIC_OPTIONS:
        numeric, what = _NUMERIC_OPTIONS[name]
        for option, is_number in options:
            if option not in numeric:
                return f"the option {option} of the pass {name} is refused: it {what}"
            if not is_number:
                return f"the option {option} of the pass {name} is refused: it takes a literal number here"
    return None


def no_such_pass(name: str) -> str:
    """Return that the compiler does not have a pass, with the names of those that are near."""
    near = difflib.get_close_matches(name, (*ALLOWED_PASSES, *REFUSED_PASSES), 3, cutoff=0.7)
    asked = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"the pass {name} does not exist in this compiler{asked}"


def how_to_allow(
    names: Iterable[str],
    *,
    is_sandboxed: bool = True,
    where: str = "schedule",
    call: str = "lhkit.load_schedule",
) -> str | None:
    """Return the advice that goes with refused passes: how a user allows them; None without any."""
    listed = sorted(set(names))
    if not listed:
        return None
    flags = " ".join(f"--allow-pass {name}" for name in listed)
    given = ", ".join(f'"{name}"' for name in listed)
    held = (
        "The worker's sandbox still holds: where lhkit doctor says that it refuses it, a pass writes no files"
        " outside the worker's own folder and starts no programs."
        if is_sandboxed
        else "A compiler binary runs without lhkit's sandbox: the pass may then do all that you may do."
    )
    return (
        f"If you trust this {where}: {flags} on the command line, "
        f"{call}(…, allow_passes=[{given}]) in Python. {held}"
    )


def is_plain_name(name: str) -> bool:
    """Return whether a name is a plain pass name in the text of a pass pipeline."""
    return _PLAIN_NAME.fullmatch(name) is not None
