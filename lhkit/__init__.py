"""lhkit: explore schedules of MLIR's Transform dialect.

Load payload IR, apply schedules to it, compile for the CPU, check the result and time it::

    import lhkit
    payload = lhkit.payloads.fc_relu(512, 512, 512)
    schedule = lhkit.load_schedule("fc_relu_tile_fuse_vectorize.mlir")
    kernel = lhkit.compile(payload, schedule, knobs={"tile_m": 4})
    result = kernel(lhs, rhs, bias)

MLIR runs in a worker process, so nothing that a schedule does can take this process down.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from lhkit.model.showable import register_drawing, register_frames, register_method

if TYPE_CHECKING:
    from lhkit import exercises as exercises
    from lhkit import ops as ops
    from lhkit import payloads as payloads
    from lhkit import show as show
    from lhkit.bench.side_by_side import measure
    from lhkit.checks.schedule_check import check_schedule as check
    from lhkit.compose.builder.schedule_builder import building as building
    from lhkit.kernels.kernel import Kernel, empty
    from lhkit.kernels.kernel import compile_kernel as compile
    from lhkit.kernels.verification import verify
    from lhkit.load.loader import load_payload, load_schedule
    from lhkit.load.user_code import load_own_ops as load_ops  # noqa: F401 - given away as lhkit.load_ops
    from lhkit.model.errors import LhkitError
    from lhkit.model.measurement import Comparison, Measurement
    from lhkit.model.payload import Payload
    from lhkit.model.schedule import Schedule
    from lhkit.sweeps.sweep_options import sweep as sweep
    from lhkit.sweeps.sweep_task import SweepOptions as SweepOptions
    from lhkit.traces.record.trace_run import trace_schedule as trace
    from lhkit.workbench.widget import explore as explore
    from lhkit.worker.limits import Limits

__version__ = "0.1.0"

_PLACES = {
    "Comparison": "lhkit.model.measurement:Comparison",
    "Kernel": "lhkit.kernels.kernel:Kernel",
    "LhkitError": "lhkit.model.errors:LhkitError",
    "Limits": "lhkit.worker.limits:Limits",
    "Measurement": "lhkit.model.measurement:Measurement",
    "Payload": "lhkit.model.payload:Payload",
    "Schedule": "lhkit.model.schedule:Schedule",
    "check": "lhkit.checks.schedule_check:check_schedule",
    "compile": "lhkit.kernels.kernel:compile_kernel",
    "empty": "lhkit.kernels.kernel:empty",
    "load_payload": "lhkit.load.loader:load_payload",
    "load_ipython_extension": "lhkit.lessons.magics:load_ipython_extension",
    "load_schedule": "lhkit.load.loader:load_schedule",
    "measure": "lhkit.bench.side_by_side:measure",
    "trace": "lhkit.traces.record.trace_run:trace_schedule",
    "verify": "lhkit.kernels.verification:verify",
}
_NAMESPACES = ("exercises", "ops", "payloads", "show")
# How schedules are made, explored, and their knobs chosen, beside the names that say what is done with them.
_MAKERS = {
    "SweepOptions": "lhkit.sweeps.sweep_task:SweepOptions",
    "building": "lhkit.compose.builder.schedule_builder:building",
    "explore": "lhkit.workbench.widget:explore",
    "load_ops": "lhkit.load.user_code:load_own_ops",
    "sweep": "lhkit.sweeps.sweep_options:sweep",
}

__all__ = [
    "Comparison",
    "Kernel",
    "LhkitError",
    "Limits",
    "Measurement",
    "Payload",
    "Schedule",
    "check",
    "compile",
    "empty",
    "load_payload",
    "load_schedule",
    "measure",
    "trace",
    "verify",
]

register_drawing("CheckReport", "lhkit.checks.schedule_check:check_bundle")
register_drawing("Comparison", "lhkit.show.cell_bundles:comparison_bundle")
register_drawing("Confirmation", "lhkit.sweeps.sweep_table:confirmation_bundle")
register_drawing("Exercise", "lhkit.exercises.exercise:exercise_bundle")
register_drawing("Footprint", "lhkit.memory.kernel_memory:footprint_bundle")
register_drawing("HotLoops", "lhkit.kernels.code_listing:hot_loops_bundle")
register_drawing("Kernel", "lhkit.show.cell_bundles:kernel_bundle")
register_drawing("Measurement", "lhkit.show.cell_bundles:measurement_bundle")
register_drawing("Note", "lhkit.exercises.exercise:note_bundle")
register_drawing("Payload", "lhkit.show.cell_bundles:payload_bundle")
register_drawing("Repair", "lhkit.repairs.repair_trials:repair_bundle")
register_drawing("Repairs", "lhkit.repairs.repair_trials:repair_bundle")
register_drawing("Schedule", "lhkit.show.cell_bundles:schedule_bundle")
register_drawing("Sweep", "lhkit.sweeps.sweep_board:sweep_bundle")
register_drawing("SweepResult", "lhkit.sweeps.sweep_table:sweep_result_bundle")
register_drawing("Trace", "lhkit.show.cell_bundles:trace_bundle")
register_drawing("TilePicture", "lhkit.tiles.tile_html:tiles_bundle")
register_drawing("Verdict", "lhkit.exercises.exercise:verdict_bundle")
register_drawing("Explanation", "lhkit.traces.report.trace_text:explanation_bundle")
register_frames("SweepResult", "lhkit.sweeps.sweep_files")
register_frames("Trace", "lhkit.traces.report.trace_frames")
register_method("SweepResult", "best_schedule", "lhkit.sweeps.best_schedule:best_schedule")
register_method("SweepResult", "choices", "lhkit.sweeps.sweep_summary:choices_of")
register_method("SweepResult", "save", "lhkit.sweeps.sweep_files:save_result")
register_method("SweepResult", "save_by_payload", "lhkit.sweeps.sweep_files:save_by_payload")
register_method("SweepResult", "knobs_without_effect", "lhkit.sweeps.knob_importance:knobs_without_effect")
register_method("Payload", "constants_to_arguments", "lhkit.load.weights:constants_to_arguments")
register_method("Payload", "weights", "lhkit.load.weights:weights_of_payload")
register_method("Payload", "save", "lhkit.load.weights:save_payload")
register_method("Trace", "why", "lhkit.traces.explain.handle_explanation:explain")
register_method("Trace", "repairs", "lhkit.repairs.repair_trials:repairs_of")
register_method("Trace", "to_markdown", "lhkit.traces.report.markdown_report:trace_markdown")
register_method("Trace", "compiler_explorer_url", "lhkit.traces.report.markdown_report:trace_url")
register_method("Trace", "save_html", "lhkit.show:save_page")
register_method("Trace", "save_reproducer", "lhkit.traces.report.reproducer_folder:save_reproducer")


def __getattr__(name: str) -> Any:
    if name in _NAMESPACES:
        return importlib.import_module(f"lhkit.{name}")
    place = _PLACES.get(name) or _MAKERS.get(name)
    if place is None:
        raise AttributeError(f"module 'lhkit' has no attribute {name!r}")
    module, _, attribute = place.partition(":")
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_NAMESPACES, *_MAKERS, "__version__"])
