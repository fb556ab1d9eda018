"""The program ``lhkit``: subcommands, exit codes and error reporting."""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import os
import shlex
import signal
import sys
import warnings
from pathlib import Path

import click

from lhkit.cli.terminal import replace_unencodable, say
from lhkit.model.errors import LhkitError

# Name → one line for --help. ``NAME_command`` is imported when its command runs, so that --help is quick.
_COMMANDS = {
    "bench": "Time a payload, unscheduled and with schedules, beside its reference.",
    "best": "Show, export or import the best schedules that sweeps found.",
    "check": "Look for uses of invalidated handles in a schedule, without a payload.",
    "compare": "Compare two files of lhkit bench or sweep, as ratios with intervals.",
    "demo": "Compile, check and time a shipped layer, with tables, plots and a page.",
    "doctor": "Report the environment: bindings, CPU, limits, optional packages.",
    "explore": "Open the workbench in a browser tab of its own.",
    "lab": "Start JupyterLab on a private copy of the notebooks.",
    "passes": "Run a pass pipeline pass by pass, or read the log of one.",
    "propose": "Write a first schedule for a payload, verified.",
    "publish": "Turn notebooks into web pages that need no kernel and no network.",
    "run": "Compile a payload for this CPU, scheduled or not, and run it once.",
    "sweep": "Try the variants of a schedule's knobs: verify, time and keep each.",
    "trace": "Apply a schedule step by step and report every handle.",
    "upgrade": "Rewrite old spellings of transform IR and payloads to today's.",
}
# The exit code of a shell for a program that SIGPIPE ended.
READER_GONE = 141


class _LazyGroup(click.Group):
    def list_commands(self, _context: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"lhkit.cli.{name}_command").command
        return command

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(_COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(package_name="lhkit")
def program() -> None:
    """Explore schedules of MLIR's Transform dialect.

    Exit codes: 0 done; 1 the schedule or the payload failed; 2 bad usage or input; 3 the compiler's worker
    crashed or ran out of time or memory, or lhkit has a defect; 130 interrupted; 141 the reader of the output
    closed it.
    """


def main() -> None:
    """Run the program and exit with its code; users see messages, never tracebacks."""
    replace_unencodable()
    warnings.showwarning = lambda message, *_place, **_source: _say(f"lhkit: warning: {message}")
    try:
        code = _flushed(run_program(sys.argv[1:]))
    except KeyboardInterrupt:  # a second one, while the first is reported
        code = 130
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the worker is left to be ended
    gc.freeze()  # the system takes all back at once: the collector need not look for what is garbage
    sys.exit(code)


def run_program(arguments: list[str]) -> int:
    """Run the program with these arguments and return its exit code."""
    try:
        code = program.main(arguments, prog_name="lhkit", standalone_mode=False)
    except LhkitError as error:
        return _failed(error)
    except (click.Abort, KeyboardInterrupt):
        _say("lhkit: interrupted")
        return 130
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(file=shown)
        with contextlib.suppress(OSError):
            say(shown.getvalue(), nl=False, err=True)
        return 2
    except SystemExit:  # click's answer to a `BrokenPipeError`
        return READER_GONE
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _say(f"lhkit: {where}{error.strerror or error}")
        return 2
    except Exception as error:  # noqa: BLE001 - defects are reported, not raised
        from lhkit.worker.reproducer import read_inputs, typed_error

        files = {a: Path(a.rpartition("=")[2] if a.startswith("--") else a) for a in arguments}
        return _failed(typed_error(error, shlex.join(["lhkit", *arguments]), read_inputs(files)))
    return code if isinstance(code, int) else 0


def _failed(error: LhkitError) -> int:
    _say(f"lhkit: {error}")
    return error.failure.exit_code


def _say(line: str) -> None:
    """Write a line to standard error, ignoring write errors: the exit code carries the outcome too."""
    with contextlib.suppress(OSError):
        say(line, err=True)


def _flushed(code: int) -> int:
    """Flush standard output, and return the exit code; a failed flush changes code 0."""
    if sys.stdout is None:  # closed by the parent process
        return code
    try:
        sys.stdout.flush()
    except OSError as error:
        gone = isinstance(error, BrokenPipeError)
        if not gone:
            _say(f"lhkit: the output cannot be written: {error.strerror or error}")
        # Python flushes again at exit, and would change the exit code to 120.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return code or (READER_GONE if gone else 2)
    return code
