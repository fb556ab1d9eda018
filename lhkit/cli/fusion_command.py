"""``lhkit fusion``: why two ops of a payload are not fused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lhkit.cli.options import NEED_A_SCHEDULE, limit_options, load_scheduled, schedule_options
from lhkit.cli.terminal import say
from lhkit.fusion.fusion_doctor import why_not_fused
from lhkit.load.loader import load_payload
from lhkit.model.errors import usage_error
from lhkit.model.payload import Payload
from lhkit.model.trace_record import Trace
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.worker.limits import Limits


@click.command(
    "fusion",
    epilog="Example: lhkit fusion data/fc_relu.mlir schedules/fc_relu_tile.mlir"
    " --producer linalg.matmul --consumer linalg.add",
)
@click.argument("payload")
@click.argument("schedule", required=False)
@click.option("--producer", required=True, metavar="OP", help="The op whose result the other reads.")
@click.option("--consumer", required=True, metavar="OP", help="The op that reads it.")
@click.option("--no-repairs", is_flag=True, help="Do not look for repairs.")
@schedule_options
@limit_options
def command(
    payload: str,
    schedule: str | None,
    producer: str,
    consumer: str,
    no_repairs: bool,
    limits: Limits,
    **scheduling: Any,
) -> None:
    """Say why two ops of PAYLOAD are not fused after SCHEDULE, and which step is responsible.

    Ops are named by name (linalg.matmul; linalg.generic#1 of several, from 0), line of the payload (12), handle
    of the schedule (%sum), value of the payload (%product), or an attribute that one op alone has ({tag}).
    Repairs were applied to a copy of the schedule: it passes with them, and the two are fused. Without SCHEDULE
    they are schedules that fuse the two.
    """
    if schedule is None and any(scheduling.values()):
        raise usage_error(NEED_A_SCHEDULE)
    loaded = load_payload(Path(payload), limits=limits)
    asked: Payload | Trace = loaded
    if schedule is not None:
        scheduled = load_scheduled(schedule, limits=limits, **scheduling)
        asked = trace_schedule(loaded, scheduled, limits=limits)
    say(why_not_fused(asked, producer, consumer, limit=0 if no_repairs else 2))
