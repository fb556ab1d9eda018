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

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import lhkit.exercises as exercises
    import lhkit.model.errors as errors
    import lhkit.ops as ops
    import lhkit.payloads as payloads
    import lhkit.show as show
    import lhkit.sweeps.constraints as constraints
    from lhkit.bench.side_by_side import measure
    from lhkit.checks.schedule_check import check_schedule as check
    from lhkit.compose.builder.schedule_builder import build
    from lhkit.compose.session import Session
    from lhkit.compose.trial_steps import try_ops
    from lhkit.fusion.fusion_doctor import why_not_fused
    from lhkit.kernels.kernel import Kernel, empty, scheduled_footprint
    from lhkit.kernels.kernel import compile_kernel as compile
    from lhkit.kernels.verification import verify
    from lhkit.load.loader import load_payload, load_schedule
    from lhkit.load.shipped_files import shipped_folder
    from lhkit.load.target_choice import find_target
    from lhkit.load.torch_modules import from_torch
    from lhkit.load.user_code import load_own_ops as load_ops
    from lhkit.model.check_report import CheckReport
    from lhkit.model.errors import LhkitError
    from lhkit.model.measurement import Comparison, Measurement
    from lhkit.model.pass_trace import PassTrace
    from lhkit.model.payload import Payload
    from lhkit.model.schedule import Schedule
    from lhkit.model.trace_json import load_trace
    from lhkit.model.trace_record import Trace
    from lhkit.parts.assembled_kernel import assemble
    from lhkit.parts.part_profile import profile
    from lhkit.pipelines.pass_run import run_passes as passes
    from lhkit.pipelines.print_ir_log import load_passes
    from lhkit.proposals.proposal import Proposal, propose
    from lhkit.sweeps.live_sweep import Sweep, sweep
    from lhkit.sweeps.strategy_replay import replay_strategies
    from lhkit.sweeps.sweep_summary import SweepResult
    from lhkit.sweeps.sweep_task import SweepOptions
    from lhkit.tiles.op_dimensions import loops_of
    from lhkit.traces.record.trace_run import trace_schedule as trace
    from lhkit.tuned.best_known import Best, best
    from lhkit.workbench.widget import WorkbenchWidget, explore
    from lhkit.worker.limits import Limits

__version__ = "0.1.0"

__all__ = [
    "Best",
    "CheckReport",
    "Comparison",
    "Kernel",
    "LhkitError",
    "Limits",
    "Measurement",
    "PassTrace",
    "Payload",
    "Proposal",
    "Schedule",
    "Session",
    "Sweep",
    "SweepOptions",
    "SweepResult",
    "Trace",
    "WorkbenchWidget",
    "assemble",
    "best",
    "build",
    "check",
    "compile",
    "constraints",
    "empty",
    "errors",
    "exercises",
    "explore",
    "find_target",
    "from_torch",
    "load_ops",
    "load_passes",
    "load_payload",
    "load_schedule",
    "load_trace",
    "loops_of",
    "measure",
    "ops",
    "passes",
    "payloads",
    "profile",
    "propose",
    "replay_strategies",
    "scheduled_footprint",
    "shipped_folder",
    "show",
    "sweep",
    "trace",
    "try_ops",
    "verify",
    "why_not_fused",
]


# ``import a.b as b`` instead of ``from a import b``, which would ask for ``a.b`` here again.
def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562)."""
    match name:  # one case per room
        case "exercises" | "show":
            import lhkit.exercises as exercises
            import lhkit.show as show
        case "ops" | "payloads":
            import lhkit.ops as ops
            import lhkit.payloads as payloads
        case "CheckReport" | "Comparison" | "LhkitError" | "Measurement" | "errors":
            import lhkit.model.errors as errors
            from lhkit.model.check_report import CheckReport
            from lhkit.model.errors import LhkitError
            from lhkit.model.measurement import Comparison, Measurement
        case "PassTrace" | "Payload" | "Schedule" | "Trace" | "load_passes" | "load_trace":
            from lhkit.model.pass_trace import PassTrace
            from lhkit.model.payload import Payload
            from lhkit.model.schedule import Schedule
            from lhkit.model.trace_json import load_trace
            from lhkit.model.trace_record import Trace
            from lhkit.pipelines.print_ir_log import load_passes
        case "find_target" | "from_torch" | "load_ops" | "load_payload" | "load_schedule" | "shipped_folder":
            from lhkit.load.loader import load_payload, load_schedule
            from lhkit.load.shipped_files import shipped_folder
            from lhkit.load.target_choice import find_target
            from lhkit.load.torch_modules import from_torch
            from lhkit.load.user_code import load_own_ops as load_ops
        case "check" | "loops_of" | "passes" | "trace" | "why_not_fused":
            from lhkit.checks.schedule_check import check_schedule as check
            from lhkit.fusion.fusion_doctor import why_not_fused
            from lhkit.pipelines.pass_run import run_passes as passes
            from lhkit.tiles.op_dimensions import loops_of
            from lhkit.traces.record.trace_run import trace_schedule as trace
        case "Kernel" | "Limits" | "compile" | "empty" | "measure" | "scheduled_footprint" | "verify":
            from lhkit.bench.side_by_side import measure
            from lhkit.kernels.kernel import Kernel, empty, scheduled_footprint
            from lhkit.kernels.kernel import compile_kernel as compile
            from lhkit.kernels.verification import verify
            from lhkit.worker.limits import Limits
        case "Best" | "Proposal" | "assemble" | "best" | "profile" | "propose":
            from lhkit.parts.assembled_kernel import assemble
            from lhkit.parts.part_profile import profile
            from lhkit.proposals.proposal import Proposal, propose
            from lhkit.tuned.best_known import Best, best
        case "Sweep" | "SweepOptions" | "SweepResult" | "constraints" | "replay_strategies" | "sweep":
            import lhkit.sweeps.constraints as constraints
            from lhkit.sweeps.live_sweep import Sweep, sweep
            from lhkit.sweeps.strategy_replay import replay_strategies
            from lhkit.sweeps.sweep_summary import SweepResult
            from lhkit.sweeps.sweep_task import SweepOptions
        case "Session" | "WorkbenchWidget" | "build" | "explore" | "try_ops":
            from lhkit.compose.builder.schedule_builder import build
            from lhkit.compose.session import Session
            from lhkit.compose.trial_steps import try_ops
            from lhkit.workbench.widget import WorkbenchWidget, explore
        case "load_ipython_extension":
            from lhkit.lessons.magics import load_ipython_extension
        case _:
            raise AttributeError(f"module 'lhkit' has no attribute {name!r}")
    return globals().setdefault(name, locals()[name])


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
