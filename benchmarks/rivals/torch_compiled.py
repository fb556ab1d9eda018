"""PyTorch with ``torch.compile``, one compilation for each shape; the setting is its mode.

What is laid out anew, such as filters of a convolution, is so once, which is no part of the time.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from benchmarks.rivals.torch_eager import module_of

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


def prepare_frozen(task: Any) -> Callable[[Sequence[np.ndarray]], Callable[[], Any]]:
    """Return the same for a module whose weights are parameters, which Inductor freezes and packs once."""
    torch.set_num_threads(task.threads)
    torch.compiler.reset()
    torch._inductor.config.freezing = True
    mode, _, layout = task.setting.partition(", ")
    module = module_of(task)
    if module is not None:
        whole = torch.compile(module, mode=mode or "max-autotune", fullgraph=True, dynamic=False)
        return lambda arrays: functools.partial(whole, *map(torch.from_numpy, arrays))
    made: list[Any] = []

    def bind(arrays: Sequence[np.ndarray]) -> Callable[[], Any]:
        if not made:
            # A copy, because all calls share the weights of the first one.
            weights = [torch.from_numpy(np.array(a)) for a in arrays[1:]]
            module = Layers(task.family, weights, is_linear=layout == "Linear").eval()
            made.append(torch.compile(module, mode=mode or "max-autotune", fullgraph=True, dynamic=False))
        source = torch.from_numpy(arrays[0])
        return lambda: made[0](source)

    return bind


class Layers(torch.nn.Module):
    """A family as a module: its weights are parameters, as they lie or as ``nn.Linear`` keeps them."""

    def __init__(self, family: str, weights: Sequence[torch.Tensor], *, is_linear: bool) -> None:
        super().__init__()
        laid = [w.T.contiguous() if is_linear and i % 2 == 0 else w for i, w in enumerate(weights)]
        self.weights = torch.nn.ParameterList([torch.nn.Parameter(w, requires_grad=False) for w in laid])
        self.compute = (LINEAR if is_linear else FAMILIES)[family]

    def forward(self, source: torch.Tensor) -> torch.Tensor:
        """Return the result of the last layer."""
        return self.compute(source, *self.weights)


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
