"""PyTorch in its eager mode, each family written as one would write it for speed.

With the setting ``out=`` results are written to tensors that are there, else they are new each time.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

torch.set_grad_enabled(False)


def prepare(task: Any) -> Callable[[Sequence[np.ndarray]], Callable[[], Any]]:
    """Return what binds the arguments of a family to a call."""
    torch.set_num_threads(task.threads)
    make = (INTO if task.setting == "out=" else FAMILIES)[task.family]

    def bind(arrays: Sequence[np.ndarray]) -> Callable[[], Any]:
        return make(*map(torch.from_numpy, arrays))

    return bind


def prepare_linear(task: Any) -> Callable[[Sequence[np.ndarray]], Callable[[], Any]]:
    """Return the same for layers whose weights lie as ``nn.Linear`` keeps them, outputs×inputs."""
    torch.set_num_threads(task.threads)
    linear = torch.nn.functional.linear

    def bind(arrays: Sequence[np.ndarray]) -> Callable[[], Any]:
        # Every second argument is a matrix of weights.
        x, *weights = (
            torch.from_numpy(a).T.contiguous() if i % 2 else torch.from_numpy(a) for i, a in enumerate(arrays)
        )
        if task.family == "fc_relu":
            return lambda: linear(x, weights[0]).add_(weights[1]).relu_()
        w0, b0, w1, b1, w2, b2 = weights
        return lambda: linear(linear(linear(x, w0, b0).relu_(), w1, b1).relu_(), w2, b2)

    return bind


def matmul(lhs: torch.Tensor, rhs: torch.Tensor) -> Callable[[], Any]:
    """Return a call of the product."""
    return lambda: torch.mm(lhs, rhs)


def fc_relu(lhs: torch.Tensor, rhs: torch.Tensor, bias: torch.Tensor) -> Callable[[], Any]:
    """Return a call of the layer."""
    return lambda: torch.addmm(bias, lhs, rhs).relu_()


def mlp(x: torch.Tensor, *weights: torch.Tensor) -> Callable[[], Any]:
    """Return a call of three layers, ReLU between them."""
    w0, b0, w1, b1, w2, b2 = weights

    def call() -> torch.Tensor:
        hidden = torch.addmm(b0, x, w0).relu_()
        hidden = torch.addmm(b1, hidden, w1).relu_()
        return torch.addmm(b2, hidden, w2)

    return call


def conv2d_nhwc(image: torch.Tensor, filter: torch.Tensor) -> Callable[[], Any]:
    """Return a call of the convolution in the layout channels_last; the filter is laid out once."""
    source = image.permute(0, 3, 1, 2)
    weights = filter.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
    return lambda: torch.conv2d(source, weights).permute(0, 2, 3, 1)


def softmax(source: torch.Tensor) -> Callable[[], Any]:
    """Return a call of softmax along rows."""
    return lambda: torch.softmax(source, -1)


def layernorm(source: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor) -> Callable[[], Any]:
    """Return a call of layer normalization along rows."""
    return lambda: torch.nn.functional.layer_norm(source, (source.shape[1],), scale, shift, 1e-5)


def elementwise_chain(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Callable[[], Any]:
    """Return a call of the chain."""
    return lambda: torch.addcmul(c, a, b).relu_()


def matmul_into(lhs: torch.Tensor, rhs: torch.Tensor) -> Callable[[], Any]:
    """Return a call of the product, to a result that is there."""
    out = torch.empty(lhs.shape[0], rhs.shape[1])
    return lambda: torch.mm(lhs, rhs, out=out)


def fc_relu_into(lhs: torch.Tensor, rhs: torch.Tensor, bias: torch.Tensor) -> Callable[[], Any]:
    """Return a call of the layer, to a result that is there."""
    out = torch.empty_like(bias)
    return lambda: torch.addmm(bias, lhs, rhs, out=out).relu_()


def mlp_into(x: torch.Tensor, *weights: torch.Tensor) -> Callable[[], Any]:
    """Return a call of three layers, to results that are there."""
    w0, b0, w1, b1, w2, b2 = weights
    first, second, last = (torch.empty(x.shape[0], w.shape[1]) for w in (w0, w1, w2))

    def call() -> torch.Tensor:
        torch.addmm(b0, x, w0, out=first).relu_()
        torch.addmm(b1, first, w1, out=second).relu_()
        return torch.addmm(b2, second, w2, out=last)

    return call


def softmax_into(source: torch.Tensor) -> Callable[[], Any]:
    """Return a call of softmax along rows, to a result that is there."""
    out = torch.empty_like(source)
    return lambda: torch.softmax(source, -1, out=out)


def elementwise_chain_into(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Callable[[], Any]:
    """Return a call of the chain, to a result that is there."""
    out = torch.empty_like(c)
    return lambda: torch.addcmul(c, a, b, out=out).relu_()


FAMILIES = {
    "matmul": matmul,
    "fc_relu": fc_relu,
    "mlp": mlp,
    "conv2d_nhwc": conv2d_nhwc,
    "softmax": softmax,
    "layernorm": layernorm,
    "elementwise_chain": elementwise_chain,
}
INTO = {
    "matmul": matmul_into,
    "fc_relu": fc_relu_into,
    "mlp": mlp_into,
    "softmax": softmax_into,
    "elementwise_chain": elementwise_chain_into,
}
