"""A backend for ``torch.compile``: graphs become kernels of scheduled parts; the rest stays in eager mode."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch

from lhkit.kernels.kernel import Kernel
from lhkit.kernels.verification import verify
from lhkit.load.torch_modules import array_of_tensor, from_torch, tensor_of_array
from lhkit.model.errors import LhkitError
from lhkit.parts.assembled_kernel import assemble

Forward = Callable[..., Sequence[Any]]


def lhkit_backend(graph: Any, inputs: Sequence[Any]) -> Forward:
    """Compile a graph for ``torch.compile(model, backend="lhkit")``, for inference on the CPU.

    The graph is cut into parts, each with the schedule for any payload, and verified against eager mode.
    Parameters are bound, so that what is computed from them alone is computed once: they may not change later.
    Graphs that train, have sizes that are not known or operations without a conversion stay in eager mode. What
    was done goes to standard error, a line a graph.
    """
    try:
        reason = _refusal(inputs)
        kernel = None if reason else _kernel(graph, inputs)
    except LhkitError as error:
        reason, kernel = str(error), None
    if kernel is None:
        sys.stderr.write(f"lhkit: a graph stays in eager mode: {reason}\n")
        forward: Forward = graph.forward
        return forward
    bound = kernel.bound

    def call(*given: Any) -> Sequence[Any]:
        arrays = [array_of_tensor(torch, tensor) for i, tensor in enumerate(given) if i not in bound]
        results = kernel(*arrays)
        return [tensor_of_array(torch, r) for r in (results if isinstance(results, tuple) else (results,))]

    return call


def _refusal(inputs: Sequence[Any]) -> str | None:
    """Return why a graph with such inputs is not taken, or None."""
    if not all(isinstance(x, torch.Tensor) for x in inputs):
        return "it has sizes that are not known"
    if any(x.device.type != "cpu" for x in inputs):
        return "it is not on the CPU"
    if torch.is_grad_enabled() and any(x.requires_grad for x in inputs):
        return "it trains; call it in torch.no_grad()"
    return None


def _kernel(graph: Any, inputs: Sequence[Any]) -> Kernel:
    payload = from_torch(graph, *inputs, name="<graph>")
    arrays = [array_of_tensor(torch, x) for x in inputs]
    is_parameter = [isinstance(x, torch.nn.Parameter) for x in inputs]
    parameters: dict[str | int, Any] = {i: a for i, a in enumerate(arrays) if is_parameter[i]}
    assembled = assemble(payload, check=False, constants=[i for i, p in enumerate(is_parameter) if p])
    kernel = assembled.bind(parameters) if parameters else assembled
    verification = verify(kernel, arrays)
    if not verification.ok:
        raise RuntimeError(f"a graph is compiled wrong: {verification.difference}")
    places = sum(part.count for part in assembled.parts)
    counted = f"{places} part{'s' * (places != 1)}"
    sys.stderr.write(f"lhkit: a graph of {counted}; largest error {verification.max_abs_error:.2g}\n")
    return kernel
