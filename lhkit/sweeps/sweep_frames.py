"""The records of a sweep as a pandas frame."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lhkit.sweeps.sweep_payloads import payload_rows
from lhkit.sweeps.variant_record import SweepRecord, SweepResult, originals

if TYPE_CHECKING:
    import pandas as pd


def records_frame(result: SweepResult) -> pd.DataFrame:
    """Return a row a variant, in the order in which they were asked for; see `frame_of_records`."""
    return frame_of_records(result.records)


def payloads_frame(result: SweepResult) -> pd.DataFrame:
    """Return the table from payload to knobs; see `SweepResult.by_payload`."""
    import pandas as pd

    return pd.DataFrame(payload_rows(result))


def frame_of_records(records: Iterable[SweepRecord]) -> pd.DataFrame:
    """Return a row a variant: a column a knob, status, times in ns, and what else a record holds.

    A variant that is the same program as another one has the times of that one.
    """
    import pandas as pd

    records = list(records)
    tried = originals(records)
    rows = []
    for record in records:
        source = tried[record.key]
        time = source.time_ns
        rows.append(
            {
                **record.values,
                "status": record.status,
                "median_ns": time.median if time else None,
                "min_ns": time.min if time else None,
                "mad_ns": time.mad if time else None,
                "runs": time.runs if time else None,
                "gflops": source.gflops,
                "compile_ns": source.compile_ns,
                "max_abs_error": source.max_abs_error,
                "message": record.message,
                "same_as": record.same_as,
                "ir_sha256": record.ir_sha256,
                "environment": record.environment,
                "started": record.started,
                "key": record.key,
            }
        )
    return pd.DataFrame(rows).convert_dtypes()
