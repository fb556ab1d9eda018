"""``lhkit best``: what sweeps found, for a payload or all of it; export and import."""

from __future__ import annotations

import click

from lhkit.cli.terminal import say, write_text
from lhkit.draw.tables import Table, format_ns, table_text
from lhkit.model.errors import usage_error
from lhkit.model.target import VECTORS
from lhkit.tuned.best_known import best
from lhkit.tuned.tuned_store import all_tuned, import_tuned, tuned_json


@click.command("best", epilog="Example: lhkit best data/matmul.mlir -o best.mlir")
@click.argument("payload", required=False)
@click.option(
    "-o", "--out", "--output", "output", metavar="FILE", help="Save the schedule; - is standard output."
)
@click.option("--target", type=click.Choice((*VECTORS, "host")), help="Instruction set (default: this CPU).")
@click.option("--list", "is_list", is_flag=True, help="List all that is known.")
@click.option("--export", "exported", metavar="FILE", help="Save all that is known as one file.")
@click.option("--import", "imported", metavar="FILE", help="Add what a file of --export has.")
def command(
    payload: str | None,
    output: str | None,
    target: str | None,
    is_list: bool,
    exported: str | None,
    imported: str | None,
) -> None:
    """Show the best schedule that sweeps found for PAYLOAD, or for its nearest shape.

    It is known by what the payload computes (ops, extents, types), the instruction set and the CPU. Imported
    schedules may not run passes that do more than change IR, and are verified before they are used.
    """
    if [payload is not None, is_list, exported is not None, imported is not None].count(True) != 1:
        raise usage_error("lhkit best takes one of PAYLOAD, --list, --export FILE and --import FILE")
    if payload is None and (output is not None or target is not None):
        raise usage_error("--out and --target go with PAYLOAD")
    if imported is not None:
        kept, count = import_tuned(imported)
        say(f"{kept} of {count} schedules kept; for the others there is a faster one, or one found here.")
    elif exported is not None:
        known = all_tuned()
        write_text(exported, tuned_json(known))
        say(f"lhkit: {len(known)} schedules in {exported}", err=True)
    elif is_list:
        rows = [
            (t.payload, t.target, format_ns(t.time_ns), t.date[:10], t.cpu + ", imported" * t.is_imported)
            for t in all_tuned()
        ]
        header = ("payload", "target", "time", "date", "CPU")
        say(table_text(Table(header, tuple(rows))) if rows else "Nothing is known yet: sweeps fill it.")
    elif payload is not None:
        _show(payload, target, output)


def _show(payload: str, target: str | None, output: str | None) -> None:
    found = best(payload, target)
    say(found, err=output == "-")
    if output is None:
        return
    if not found:
        raise usage_error(f"there is no schedule to write to {output}")
    write_text(output, found.text)
