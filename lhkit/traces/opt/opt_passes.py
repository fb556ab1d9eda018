"""Passes that texts for a compiler binary would run and may not, read from the generic form that it prints.

The binary parses the texts itself, so that what is looked at is what it would apply: comments, aliases and
escapes are gone in what it prints.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from lhkit.model.errors import error_for
from lhkit.model.failure import Diagnostic, Failure
from lhkit.model.pass_policy import how_to_allow, refusal_of
from lhkit.traces.opt.opt_binary import OptHost, run_opt
from lhkit.worker.limits import Limits

_STEP = re.compile(r'"transform\.apply_registered_pass"\(')
# Strings are printed with \22 for a quote, so that the next quote ends them.
_PASS = re.compile(r'"[^"]*"|(?P<name>\bpass_name = )')
_STRING = re.compile(r'"([^"]*)"')
_BRACES = re.compile(r'"[^"]*"|[{}]')


def check_opt_passes(
    host: OptHost, files: Sequence[str], allowed: Collection[str], *, folder: Path, limits: Limits
) -> None:
    """Refuse files that run a pass which is not allowed; files that do not parse are left to what applies them.

    Args:
        host: The program.
        files: Names of files in the folder: what is to be applied, and to what.
        allowed: Passes that the user allows besides those of `lhkit.model.pass_policy`.
        folder: Where they are.
        limits: Time and memory of each run.

    Raises:
        ScheduleError: One does, or cannot be printed.
    """
    found = []
    for name in files:
        text = (folder / name).read_text(encoding="utf-8")
        # A name without escapes is spelled out; most texts have no such step.
        if "registered_pass" not in text and "\\" not in text:
            continue
        printed = run_opt(host, [name, "--mlir-print-op-generic"], folder=folder, limits=limits)
        if printed.status == "failed" and not printed.output:
            continue  # it does not parse
        if printed.status != "ok":  # a text may take longer to print than to apply
            message = f"{host.name} does not print {name}, so that its passes cannot be checked"
            raise error_for(Failure("schedule-verify", message, stage="verify", output=printed.errors))
        found += refused_in(printed.output, allowed)
    if found:
        said = tuple([Diagnostic("error", reason) for _, reason in found])
        message = "the schedule runs a pass that is not allowed"
        advice = how_to_allow((name for name, _ in found), is_sandboxed=False)
        raise error_for(Failure("schedule-verify", message, said, advice, stage="verify"))


def refused_in(printed: str, allowed: Collection[str] = ()) -> list[tuple[str, str]]:
    """Return (pass, why) for the refused passes of a module in the generic form."""
    found = []
    for step in _STEP.finditer(printed):
        attributes = _attributes(printed, step.end())
        name = _pass_name(attributes)
        # What options hold is not looked at: a pass that may have some of them only is taken to have others.
        has_options = re.search(r"\boptions = (?!\{\}|\"\")", attributes) is not None
        reason = refusal_of(name, [("options", False)] if has_options else (), allowed)
        if reason is not None:
            found.append((name, reason))
    return found


def _attributes(printed: str, start: int) -> str:
    """Return the attributes of the op whose operands begin at a place."""
    depth, first = 0, -1
    for match in _BRACES.finditer(printed, start):
        if match[0] == "{":
            first = match.start() if depth == 0 else first
            depth += 1
        elif match[0] == "}":
            depth -= 1
            if depth == 0:
                return printed[first : match.end()]
    return ""


def _pass_name(attributes: str) -> str:
    for match in _PASS.finditer(attributes):
        if match["name"] is not None:
            string = _STRING.match(attributes, match.end())
            return string[1] if string else ""
    return ""
