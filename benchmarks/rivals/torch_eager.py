"""PyTorch in its eager mode, each family written as one would write it for speed.

With the setting ``out=`` results are written to tensors that are there, else they are new each time. With
``spelled`` an einsum is written as the products that it consists of.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from benchmarks import kernelbench_models
from benchmarks.suite_payloads import torch_models

torch.set_grad_enabled(False)


def prepare(task: Any) -> Callable[[Sequence[np.ndarray]], Callable[[], Any]]:
    """Return what binds the arguments of a family to a call."""
    torch.set_num_threads(task.threads)
    module = module_of(task)
    if module is not None:
        return lambda arrays: functools.partial(module, *map(torch.from_numpy, arrays))
    make = {"out=": INTO, "spelled": SPELLED}.get(task.setting, FAMILIES)[task.family]
    words = [part for part in task.shape if isinstance(part, str)]
    if words == ["bfloat16"]:
        return lambda arrays: _of_bf16(make, arrays)
    return lambda arrays: make(*words, *map(torch.from_numpy, arrays))


def module_of(task: Any) -> torch.nn.Module | None:
    """Return the module of a task whose payload was made from one."""
    if task.family == "model":
        return torch_models().example(*task.shape).module
    return kernelbench_models.example(*task.shape).module if task.family == "kernelbench" else None


def _of_bf16(make: Callable[..., Callable[[], Any]], arrays: Sequence[np.ndarray]) -> Callable[[], Any]:
    """Return a call for arrays of bf16, which PyTorch and NumPy exchange as integers only."""
    call = make(*(torch.from_numpy(a.view(np.int16)).view(torch.bfloat16) for a in arrays))
    return lambda: Bf16Result(call(), arrays[0].dtype)


class Bf16Result:
    """A tensor of bf16 that NumPy can read."""

    def __init__(self, tensor: torch.Tensor, dtype: np.dtype[Any]) -> None:
        self._tensor, self._dtype = tensor, dtype

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self._tensor.view(torch.int16).numpy().view(self._dtype)


def prepare_linear(task: Any) -> Callable[[Sequence[np.ndarray]], Callable[[], Any]]:
    """Return the same for layers whose weights lie as ``nn.Linear`` keeps them, outputs×inputs."""
    torch.set_num_threads(task.threads)
    linear = torch.nn.functional.linear
    if task.family == "matmul_i8_i32":
        return lambda arrays: quantized_linear(*map(torch.from_numpy, arrays))

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


def quantized_linear(source: torch.Tensor, weights: torch.Tensor) -> Callable[[], Any]:
    """Return a call of a layer of integers with packed weights; activations are unsigned, as CPUs want them."""
    packed = torch.ops.onednn.qlinear_prepack(weights.T.contiguous(), None)
    activations = (source.to(torch.int16) + 128).to(torch.uint8)
    scales, zeros = torch.ones(weights.shape[1]), torch.zeros(weights.shape[1], dtype=torch.int32)
    given = (activations, 1.0, 128, packed, scales, zeros, None, 1.0, 0, torch.float32, "none", [], "")
    return lambda: torch.ops.onednn.qlinear_pointwise(*given)


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


def batch_matmul(lhs: torch.Tensor, rhs: torch.Tensor) -> Callable[[], Any]:
    """Return a call of the products."""
    return lambda: torch.bmm(lhs, rhs)


def matmul_i8_i32(lhs: torch.Tensor, rhs: torch.Tensor) -> Callable[[], Any]:
    """Return a call of the product of integers."""
    return lambda: torch._int_mm(lhs, rhs)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Callable[[], Any]:
    """Return a call for one head."""
    heads = [tensor[None, None] for tensor in (q, k, v)]
    return lambda: torch.nn.functional.scaled_dot_product_attention(*heads)[0, 0]


def einsum(spec: str, lhs: torch.Tensor, rhs: torch.Tensor) -> Callable[[], Any]:
    """Return a call of the einsum, its result as it is written."""
    return lambda: torch.einsum(spec, lhs, rhs).contiguous()


def einsum_spelled(spec: str, lhs: torch.Tensor, rhs: torch.Tensor) -> Callable[[], Any]:
    """Return a call of the same by products."""
    calls: dict[str, Callable[[], Any]] = {
        "mk,nk->mn": lambda: torch.mm(lhs, rhs.T),
        "km,kn->mn": lambda: torch.mm(lhs.T, rhs),
        "mk,kn->nm": lambda: torch.mm(rhs.T, lhs.T),
        "bhnd,bhmd->bhnm": lambda: torch.matmul(lhs, rhs.mT),
        "abcd,dbe->ace": lambda: torch.tensordot(lhs, rhs, ([3, 1], [0, 1])),
        "mk,k->m": lambda: torch.mv(lhs, rhs),
        "k,kn->n": lambda: torch.mv(rhs.T, lhs),
    }
    return calls[spec]


def reduction(what: str, source: torch.Tensor) -> Callable[[], Any]:
    """Return a call of the reduction."""
    calls: dict[str, Callable[[], Any]] = {
        "row_sums": lambda: source.sum(1),
        "column_sums": lambda: source.sum(0),
        "sum_of_all": source.sum,
        "row_maxima": lambda: source.amax(1),
        "row_argmax": lambda: source.argmax(1),
    }
    return calls[what]


def convolution(what: str, image: torch.Tensor, filters: torch.Tensor) -> Callable[[], Any]:
    """Return a call of the convolution in the layout of its image; filters are laid out once."""
    name, _, strided = what.partition("_stride")
    kind, _, layout = name.rpartition("_")
    is_last = layout == "nhwc"
    groups = 1
    if kind == "depthwise":
        groups = image.shape[3 if is_last else 1]
        filters = filters.permute(2, 0, 1)[:, None] if is_last else filters[:, None]
    elif kind == "grouped":
        groups = filters.shape[0]
        filters = filters.flatten(0, 1)
        filters = filters.permute(0, 3, 1, 2) if is_last else filters
        image = image.flatten(3) if is_last else image.flatten(1, 2)
    order = torch.channels_last if is_last else torch.contiguous_format
    filters = filters.contiguous(memory_format=order)
    source = image.permute(0, 3, 1, 2) if is_last else image
    given = (source, filters, None, int(strided or 1), 0, 1, groups)
    if is_last and kind == "grouped":
        return lambda: torch.conv2d(*given).permute(0, 2, 3, 1).unflatten(3, (groups, -1))
    if is_last:
        return lambda: torch.conv2d(*given).permute(0, 2, 3, 1)
    if kind == "grouped":
        return lambda: torch.conv2d(*given).unflatten(1, (groups, -1))
    return lambda: torch.conv2d(*given)


def batch_matmul_into(lhs: torch.Tensor, rhs: torch.Tensor) -> Callable[[], Any]:
    """Return a call of the products, to a result that is there."""
    out = torch.empty(lhs.shape[0], lhs.shape[1], rhs.shape[2])
    return lambda: torch.bmm(lhs, rhs, out=out)


def matmul_into(lhs: torch.Tensor, rhs: torch.Tensor) -> Callable[[], Any]:
    """Return a call of the product, to a result that is there."""
    out = torch.empty(lhs.shape[0], rhs.shape[1], dtype=lhs.dtype)
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
    "batch_matmul": batch_matmul,
    "matmul_i8_i32": matmul_i8_i32,
    "attention": attention,
    "einsum": einsum,
    "reduction": reduction,
    "convolution": convolution,
}
SPELLED = {"einsum": einsum_spelled}
INTO = {
    "matmul": matmul_into,
    "fc_relu": fc_relu_into,
    "mlp": mlp_into,
    "softmax": softmax_into,
    "elementwise_chain": elementwise_chain_into,
    "batch_matmul": batch_matmul_into,
}
