"""``lhkit explore``: the workbench in a browser tab of its own."""

from __future__ import annotations

import asyncio
import html
import webbrowser
from pathlib import Path
from typing import Any

import click

from lhkit.cli.options import limit_options, schedule_options
from lhkit.cli.terminal import say
from lhkit.load.user_code import load_own_ops
from lhkit.model.errors import usage_error
from lhkit.model.knob import parse_settings
from lhkit.worker.folders import temporary_place
from lhkit.worker.limits import Limits


@click.command("explore", epilog="Example: lhkit explore data/fc_relu.mlir schedules/fc_relu_handles.mlir")
@click.argument("payload", required=False)
@click.argument("schedule", required=False)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the page; 0 is any free one.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option(
    "--trust", is_flag=True, help="Trust the files, now and from now on: they are applied, and may be run."
)
@schedule_options
@limit_options
def command(
    payload: str | None,
    schedule: str | None,
    port: int,
    no_browser: bool,
    trust: bool,
    limits: Limits,
    settings: tuple[str, ...],
    ops: tuple[str, ...],
    **loading: Any,
) -> None:
    """Open the workbench on PAYLOAD and SCHEDULE in a browser tab.

    It is the workbench of lhkit.explore in notebooks: walk the steps, move knobs, add steps, take repairs, run,
    measure, sweep. Without SCHEDULE it begins empty; without PAYLOAD it opens a small neural layer. A PAYLOAD
    that ends in .json is a workbench that was saved. What another editor saves to SCHEDULE is taken.

    The page is served to this machine only, at an address with a token; nothing is loaded from outside. Ctrl-C
    ends it. Through SSH: ssh -L 8890:localhost:8890 HOST, lhkit explore --port 8890 --no-browser there.
    """
    from lhkit.workbench.tab_server import listening_sockets, serve
    from lhkit.workbench.widget import WorkbenchWidget, opened_session

    if schedule is None and (settings or any(loading.values())):
        raise usage_error("--entry, --set, --target, --bind, --library and --allow-pass need a schedule")
    sockets = listening_sockets(port)
    for file in ops:
        load_own_ops(file, limits=limits)
    given = loading if schedule is not None else {}
    # A string would be taken as a text.
    session, kept = opened_session(_path(payload), _path(schedule), trust=trust, limits=limits, **given)
    if settings:
        session.set_knobs(parse_settings(session.schedule.knobs, settings))

    with temporary_place("lhkit-explore-") as folder:

        def started(address: str) -> None:
            say("lhkit: the workbench is at the address below; Ctrl-C ends it", err=True)
            say(address)
            if not no_browser and not _open(address, folder):
                say("lhkit: no browser was found: open the address yourself", err=True)

        asyncio.run(serve(lambda: WorkbenchWidget(session, **kept), sockets, started))
    raise KeyboardInterrupt


def _path(given: str | None) -> Path | None:
    return None if given is None else Path(given)


def _open(address: str, folder: Path) -> bool:
    """Open a browser on a private file that leads to the address: others can see the arguments of a browser."""
    file = folder / "explore.html"
    file.touch(mode=0o600)
    file.write_text(f'<meta http-equiv="refresh" content="0; url={html.escape(address)}">\n', encoding="utf-8")
    return webbrowser.open(file.as_uri())
