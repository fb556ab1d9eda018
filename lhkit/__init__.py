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

from lhkit.model.registry import register_drawing, register_frames, register_method

if TYPE_CHECKING:
    from lhkit import exercises as exercises
    from lhkit import ops as ops
    from lhkit import payloads as payloads
    from lhkit import show as show
    from lhkit.model.errors import LhkitError
    from lhkit.model.measurement import Comparison, Measurement
    from lhkit.model.payload import Payload
    from lhkit.model.schedule import Schedule
    from lhkit.session.building import building as building
    from lhkit.session.checking import check_schedule as check
    from lhkit.session.kernels import Kernel, empty
    from lhkit.session.kernels import compile_kernel as compile
    from lhkit.session.loading import load_payload, load_schedule
    from lhkit.session.measuring import measure
    from lhkit.session.own_ops import load_own_ops as load_ops  # noqa: F401 - given away as lhkit.load_ops
    from lhkit.session.sweeping import sweep as sweep
    from lhkit.session.tracing import trace_schedule as trace
    from lhkit.session.verifying import verify
    from lhkit.widgets.workbench import explore as explore
    from lhkit.worker.limits import Limits

__version__ = "0.1.0"

_PLACES = {
    "Comparison": "lhkit.model.measurement:Comparison",
    "Kernel": "lhkit.session.kernels:Kernel",
    "LhkitError": "lhkit.model.errors:LhkitError",
    "Limits": "lhkit.worker.limits:Limits",
    "Measurement": "lhkit.model.measurement:Measurement",
    "Payload": "lhkit.model.payload:Payload",
    "Schedule": "lhkit.model.schedule:Schedule",
    "check": "lhkit.session.checking:check_schedule",
    "compile": "lhkit.session.kernels:compile_kernel",
    "empty": "lhkit.session.kernels:empty",
    "load_payload": "lhkit.session.loading:load_payload",
    "load_ipython_extension": "lhkit.magics:load_ipython_extension",
    "load_schedule": "lhkit.session.loading:load_schedule",
    "measure": "lhkit.session.measuring:measure",
    "trace": "lhkit.session.tracing:trace_schedule",
    "verify": "lhkit.session.verifying:verify",
}
_NAMESPACES = ("exercises", "ops", "payloads", "show")
# How schedules are made, explored, and their knobs chosen, beside the names that say what is done with them.
_MAKERS = {
    "building": "lhkit.session.building:building",
    "explore": "lhkit.widgets.workbench:explore",
    "load_ops": "lhkit.session.own_ops:load_own_ops",
    "sweep": "lhkit.session.sweeping:sweep",
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

register_drawing("CheckReport", "lhkit.render.check_text:check_bundle")
register_drawing("Comparison", "lhkit.widgets.bundles:comparison_bundle")
register_drawing("Confirmation", "lhkit.render.sweep_bundle:confirmation_bundle")
register_drawing("Exercise", "lhkit.exercises.showing:exercise_bundle")
register_drawing("Footprint", "lhkit.render.footprint_text:footprint_bundle")
register_drawing("HotLoops", "lhkit.render.machine_code:hot_loops_bundle")
register_drawing("Kernel", "lhkit.widgets.bundles:kernel_bundle")
register_drawing("Measurement", "lhkit.widgets.bundles:measurement_bundle")
register_drawing("Note", "lhkit.exercises.showing:note_bundle")
register_drawing("Payload", "lhkit.widgets.bundles:payload_bundle")
register_drawing("Repair", "lhkit.render.repair_text:repair_bundle")
register_drawing("Repairs", "lhkit.render.repair_text:repair_bundle")
register_drawing("Schedule", "lhkit.widgets.bundles:schedule_bundle")
register_drawing("Sweep", "lhkit.widgets.sweep_board:sweep_bundle")
register_drawing("SweepResult", "lhkit.render.sweep_bundle:sweep_result_bundle")
register_drawing("Trace", "lhkit.widgets.bundles:trace_bundle")
register_drawing("TilePicture", "lhkit.render.tile_html:tiles_bundle")
register_drawing("Verdict", "lhkit.exercises.showing:verdict_bundle")
register_drawing("Explanation", "lhkit.render.trace_text:explanation_bundle")
register_frames("SweepResult", "lhkit.analysis.sweep_frames")
register_frames("Trace", "lhkit.analysis.trace_frames")
register_method("SweepResult", "best_schedule", "lhkit.session.winning:best_schedule")
register_method("SweepResult", "choices", "lhkit.analysis.sweep_payloads:choices_of")
register_method("SweepResult", "save", "lhkit.session.sweep_files:save_result")
register_method("SweepResult", "save_by_payload", "lhkit.session.sweep_files:save_by_payload")
register_method("SweepResult", "knobs_without_effect", "lhkit.analysis.sweep_knobs:knobs_without_effect")
register_method("Payload", "constants_to_arguments", "lhkit.session.weights:constants_to_arguments")
register_method("Payload", "weights", "lhkit.session.weights:weights_of_payload")
register_method("Payload", "save", "lhkit.session.saving:save_payload")
register_method("Trace", "why", "lhkit.analysis.explaining:explain")
register_method("Trace", "repairs", "lhkit.session.repairing:repairs_of")
register_method("Trace", "to_markdown", "lhkit.render.trace_markdown:trace_markdown")
register_method("Trace", "compiler_explorer_url", "lhkit.analysis.compiler_explorer:trace_url")
register_method("Trace", "save_html", "lhkit.show:save_page")
register_method("Trace", "save_reproducer", "lhkit.session.reproducing:save_reproducer")


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
