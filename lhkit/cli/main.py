"""The program ``lhkit``: its subcommands, and what becomes of errors."""

from __future__ import annotations

import importlib
import sys

import click

from lhkit.model.errors import LhkitError

# Name → (module, one line for --help). Modules load when their command runs, so that --help is quick.
_COMMANDS = {
    "bench": ("lhkit.cli.bench", "Time a payload, unscheduled and with schedules, beside its reference."),
    "check": ("lhkit.cli.check", "Look for uses of invalid handles in a schedule, without a payload."),
    "compare": ("lhkit.cli.compare", "Compare two files of lhkit bench or sweep, as ratios with intervals."),
    "demo": ("lhkit.cli.demo", "Compile, check and time a shipped layer, with tables, plots and a page."),
    "doctor": ("lhkit.cli.doctor", "Say what was found: bindings, CPU, limits, optional parts."),
    "lab": ("lhkit.cli.lab", "Start JupyterLab on a private copy of the notebooks."),
    "publish": ("lhkit.cli.publish", "Turn notebooks into web pages that need no kernel and no network."),
    "run": ("lhkit.cli.run", "Compile a payload for this CPU, scheduled or not, and run it once."),
    "sweep": (
        "lhkit.cli.sweep",
        "Try the variants of a schedule's knobs: verify, time and keep each.",
    ),
    "trace": ("lhkit.cli.trace", "Apply a schedule step by step and say what every handle is."),
    "upgrade": ("lhkit.cli.upgrade", "Rewrite old spellings of transform IR and payloads to today's."),
}


class _LazyGroup(click.Group):
    """A group that imports a subcommand when it is asked for."""

    def list_commands(self, _context: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(_COMMANDS[name][0]).command
        return command

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, _COMMANDS[name][1]) for name in sorted(_COMMANDS)])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lhkit")
def program() -> None:
    """Explore schedules of MLIR's Transform dialect.

    Exit codes: 0 done; 1 the schedule or the payload failed; 2 bad usage or input; 3 the compiler's worker
    crashed or ran out of time or memory; 130 interrupted.
    """


def main() -> None:
    """Run the program and exit with its code; users see messages, never tracebacks."""
    sys.exit(run_program(sys.argv[1:]))


def run_program(arguments: list[str]) -> int:
    """Run the program with these arguments and return its exit code."""
    try:
        code = program.main(arguments, prog_name="lhkit", standalone_mode=False)
    except LhkitError as error:
        click.echo(f"lhkit: {error}", err=True)
        return error.failure.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("lhkit: interrupted", err=True)
        return 130
    except click.ClickException as error:
        error.show()
        return 2
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output is gone; nothing more can be said to it
        return 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        click.echo(f"lhkit: {where}{error.strerror or error}", err=True)
        return 2
    return code if isinstance(code, int) else 0
