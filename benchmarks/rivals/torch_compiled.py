"""PyTorch with ``torch.compile``, one compilation for each shape; the setting is its mode.

What is laid out anew, such as filters of a convolution, is so once, which is no part of the time.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

torch.set_grad_enabled(False)


def prepare(task: Any) -> Callable[[Sequence[np.ndarray]], Callable[[], Any]]:
    """Return what binds the arguments of a family to a call of the compiled function."""
    torch.set_num_threads(task.threads)
    torch.compiler.reset()
    compiled = torch.compile(
        FAMILIES[task.family], mode=task.setting or "max-autotune", fullgraph=True, dynamic=False
    )

    def bind(arrays: Sequence[np.ndarray]) -> Callable[[], Any]:
        tensors = [torch.from_numpy(a) for a in arrays]
        if task.family == "conv2d_nhwc":
            tensors[0] = tensors[0].permute(0, 3, 1, 2)
            tensors[1] = tensors[1].permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
            return lambda: compiled(*tensors).permute(0, 2, 3, 1)
        return lambda: compiled(*tensors)

    return bind


def prepare_linear(task: Any) -> Callable[[Sequence[np.ndarray]], Callable[[], Any]]:
    """Return the same for layers whose weights lie as ``nn.Linear`` keeps them, outputs×inputs."""
    torch.set_num_threads(task.threads)
    torch.compiler.reset()
    compiled = torch.compile(
        LINEAR[task.family], mode=task.setting or "max-autotune", fullgraph=True, dynamic=False
    )

    def bind(arrays: Sequence[np.ndarray]) -> Callable[[], Any]:
        # Every second argument is a matrix of weights.
        tensors = [
            torch.from_numpy(a).T.contiguous() if i % 2 else torch.from_numpy(a) for i, a in enumerate(arrays)
        ]
        return lambda: compiled(*tensors)

    return bind


def _linear_mlp(x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
    w0, b0, w1, b1, w2, b2 = weights
    linear = torch.nn.functional.linear
    return linear(torch.relu(linear(torch.relu(linear(x, w0, b0)), w1, b1)), w2, b2)


def _mlp(x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
    w0, b0, w1, b1, w2, b2 = weights
    hidden = torch.relu(x @ w0 + b0)
    hidden = torch.relu(hidden @ w1 + b1)
    return hidden @ w2 + b2


def _layernorm(source: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.layer_norm(source, (source.shape[1],), scale, shift, 1e-5)


FAMILIES = {
    "matmul": lambda lhs, rhs: lhs @ rhs,
    "fc_relu": lambda lhs, rhs, bias: torch.relu(lhs @ rhs + bias),
    "mlp": _mlp,
    "conv2d_nhwc": torch.conv2d,
    "softmax": lambda source: torch.softmax(source, -1),
    "layernorm": _layernorm,
    "elementwise_chain": lambda a, b, c: torch.relu(a * b + c),
}
LINEAR = {
    "fc_relu": lambda lhs, rhs, bias: torch.relu(torch.nn.functional.linear(lhs, rhs) + bias),
    "mlp": _linear_mlp,
}
