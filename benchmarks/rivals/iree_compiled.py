"""IREE: the same payload, compiled by a compiler that schedules by itself."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import iree.compiler
import iree.runtime
import numpy as np

_FLAGS = ("--iree-opt-level=O3",)
_TILED = "--iree-opt-data-tiling=true"
SETTINGS = {
    "as it is": (),
    "data tiling": (_TILED,),
    "data tiling, ukernels": (_TILED, "--iree-llvmcpu-enable-ukernels=all"),
}


def prepare(task: Any) -> Callable[[Sequence[np.ndarray]], Callable[[], Any]]:
    """Return what binds the arguments of a payload to a call of its function."""
    if task.threads > 1:
        iree.runtime.flags.parse_flags(f"--task_topology_max_group_count={task.threads}")
    config = iree.runtime.Config("local-task" if task.threads > 1 else "local-sync")
    binary = iree.compiler.compile_str(
        task.text,
        target_backends=["llvm-cpu"],
        input_type="auto",
        extra_args=[f"--iree-llvmcpu-target-cpu={task.cpu}", *_FLAGS, *SETTINGS[task.setting or "as it is"]],
    )
    module = iree.runtime.VmModule.copy_buffer(config.vm_instance, binary)
    function = iree.runtime.load_vm_module(module, config)[task.function]

    def bind(arrays: Sequence[np.ndarray]) -> Callable[[], Any]:
        placed = [iree.runtime.asdevicearray(config.device, a) for a in arrays]
        return functools.partial(function, *placed)

    return bind
