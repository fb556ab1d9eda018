"""``lhkit upgrade``: old spellings rewritten, as a diff or in the file."""

from __future__ import annotations

from pathlib import Path

import click

from lhkit.cli.options import limit_options
from lhkit.cli.terminal import say
from lhkit.load.file_upgrade import UpgradedFile, upgrade_file
from lhkit.model.file_io import write_file
from lhkit.text.upgrades.linalg_rules import Wanted
from lhkit.worker.limits import Limits


@click.command("upgrade", epilog="Example: lhkit upgrade tutorial.mlir --write")
@click.argument("file")
@click.option("--write", is_flag=True, help="Write the file instead of showing the diff.")
@click.option(
    "--elementwise",
    type=click.Choice(["any", "named", "elementwise"]),
    default="any",
    show_default=False,
    help="How to write elementwise ops: linalg.add (named), linalg.elementwise (elementwise), or as they are,"
    " where the bindings take that (any; the default).",
)
@limit_options
def command(file: str, write: bool, elementwise: Wanted, limits: Limits) -> None:
    """Rewrite what older versions of MLIR called differently in FILE, a schedule, a payload, or both.

    Shows the change as a diff; comments and layout stay. The result is parsed: exit code 0 says that it
    parses, 1 that something is left, with its place and what to write instead. What parses already is not
    touched, but for elementwise ops, which --elementwise writes in the one or the other way.
    """
    upgraded = upgrade_file(Path(file), elementwise=elementwise, limits=limits)
    if write and upgraded.upgrade.text != upgraded.old:
        write_file(upgraded.source, upgraded.upgrade.text.encode())
    elif upgraded.diff:
        say(upgraded.diff, nl=False)
    for line in _summary(upgraded, written=write):
        say(f"lhkit: {line}", err=True)
    if (left := upgraded.left(written=write)) is not None:
        say(f"lhkit: {left.describe()}", err=True)
        raise click.exceptions.Exit(1)


def _summary(upgraded: UpgradedFile, *, written: bool) -> list[str]:
    if not upgraded.upgrade.changes:
        return [f"{upgraded.source}: nothing to rewrite"]
    count = len(upgraded.upgrade.changes)
    what = f"{count} old spelling{'s' if count != 1 else ''} {'rewritten' if written else 'to rewrite'}"
    verdict = "it does not parse yet" if upgraded.remaining else "now parses"
    lines = [f"{upgraded.source}: {what}; {verdict}"]
    if upgraded.upgrade.bind:
        options = " ".join(f"--bind {name or 'OPNAME'}" for name in upgraded.upgrade.bind)
        lines.append(f"its arguments after the root are given with {options}")
    return lines
