"""IREE: the same payload, compiled by a compiler that schedules by itself."""

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import iree.compiler
import iree.runtime
import numpy as np

from benchmarks.suite_payloads import torch_models

_FLAGS = ("--iree-opt-level=O3",)
_TILED = "--iree-opt-data-tiling=true"
SETTINGS = {
    "as it is": (),
    "data tiling": (_TILED,),
    "data tiling, ukernels": (_TILED, "--iree-llvmcpu-enable-ukernels=all"),
}


@functools.cache
def _configuration(threads: int) -> iree.runtime.Config:
    if threads > 1:
        iree.runtime.flags.parse_flags(f"--task_topology_max_group_count={threads}")
    return iree.runtime.Config("local-task" if threads > 1 else "local-sync")


def configuration(task: Any) -> iree.runtime.Config:
    """Return the device that runs a task."""
    return _configuration(task.threads)


def prepare(task: Any) -> Callable[[Sequence[np.ndarray]], Callable[[], Any]]:
    """Return what binds the arguments of a payload to a call of its function."""
    function = compiled(task, with_weights(task) if task.family == "model" else task.text)

    def bind(arrays: Sequence[np.ndarray]) -> Callable[[], Any]:
        placed = [iree.runtime.asdevicearray(configuration(task).device, a) for a in arrays]
        return functools.partial(function, *placed)

    return bind


def prepare_constant(task: Any) -> Callable[[Sequence[np.ndarray]], Callable[[], Any]]:
    """Return the same for a payload whose bound arguments are constants, which IREE packs once."""
    made: list[Any] = []

    def bind(arrays: Sequence[np.ndarray]) -> Callable[[], Any]:
        if not made:
            made.append(compiled(task, with_constants(task, arrays)))
        given = [a for i, a in enumerate(arrays) if i not in task.bound]
        device = configuration(task).device
        return functools.partial(made[0], *(iree.runtime.asdevicearray(device, a) for a in given))

    return bind


def with_constants(task: Any, arrays: Sequence[np.ndarray]) -> str:
    """Return the text of a task with the data of its bound arguments."""
    head = re.search(rf"func\.func @{task.function}\((.*?)\) -> .*?\{{\n", task.text, re.DOTALL)
    arguments = re.findall(r"(%\w+): (tensor<[^>]*>)", head[1])
    left = ", ".join(f"{n}: {t}" for i, (n, t) in enumerate(arguments) if i not in task.bound)
    constants = "".join(
        f"{n} = arith.constant dense_resource<w{i}> : {t}\n"
        for i, (n, t) in enumerate(arguments)
        if i in task.bound
    )
    opened = head[0].replace(head[1], left) + constants
    data = ", ".join(f'w{i}: "0x40000000{arrays[i].tobytes().hex()}"' for i in task.bound)
    resources = "{-#\n dialect_resources: { builtin: { " + data + " } }\n#-}\n"
    return f"{task.text[: head.start()]}{opened}{task.text[head.end() :]}\n{resources}"


def with_weights(task: Any) -> str:
    """Return the text of a model with the data of its weights."""
    state = {
        n: t.numpy() for n, t in torch_models().example(*task.shape).module.state_dict().items() if t.dim()
    }
    data = ", ".join(f'"{n}": "0x40000000{array.tobytes().hex()}"' for n, array in state.items())
    return f"{task.text}\n{{-#\n dialect_resources: {{ builtin: {{ {data} }} }}\n#-}}\n"


def compiled(task: Any, text: str) -> Callable[..., Any]:
    """Return the function of a task, compiled from a text."""
    config = configuration(task)
    binary = iree.compiler.compile_str(
        text,
        target_backends=["llvm-cpu"],
        input_type="auto",
        extra_args=[f"--iree-llvmcpu-target-cpu={task.cpu}", *_FLAGS, *SETTINGS[task.setting or "as it is"]],
    )
    module = iree.runtime.VmModule.copy_buffer(config.vm_instance, binary)
    return iree.runtime.load_vm_module(module, config)[task.function]
