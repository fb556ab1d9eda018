"""A backend for ``torch.compile``: graphs become kernels of scheduled parts; the rest stays in eager mode."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_symbols, statically_known_true

from lhkit.kernels.kernel import Kernel
from lhkit.kernels.verification import verify
from lhkit.load.torch_modules import array_of_tensor, from_torch, tensor_of_array
from lhkit.model.errors import LhkitError, usage_error
from lhkit.parts.assembled_kernel import assemble

Forward = Callable[..., Sequence[Any]]

# Of a kernel for several shapes so many are compared with eager mode.
_MOST_CHECKED = 16


def lhkit_backend(graph: Any, inputs: Sequence[Any]) -> Forward:
    """Compile a graph for ``torch.compile(model, backend="lhkit")``, for inference on the CPU.

    The graph is cut into parts, each with the schedule for any payload, and verified against eager mode.
    Parameters are bound, so that what is computed from them alone is computed once: they may not change later.
    Sizes that may differ from call to call are dynamic in the kernel, which is verified again for new ones.
    Graphs that train or have operations without a conversion stay in eager mode. What was done goes to standard
    error, a line a graph.
    """
    return _Graph(graph)


class _Graph:
    """A graph that is compiled when it is called first.

    ``torch.compile`` has its own symbols for sizes at work until then, which an export would take for its own.
    """

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._kernel: Kernel | None = None
        self._checked: set[tuple[Any, ...]] = set()

    def __call__(self, *given: Any) -> Sequence[Any]:
        tensors = [x for x in given if isinstance(x, torch.Tensor)]
        shapes = tuple(x.shape for x in tensors)
        is_open = self._kernel is not None and len(self._checked) < _MOST_CHECKED
        if not self._checked or (is_open and shapes not in self._checked):
            self._checked.add(shapes)
            self._check(tensors)
        if self._kernel is None:
            eager: Sequence[Any] = self._graph.forward(*given)
            return eager
        results = self._kernel(*self._arrays(self._kernel, tensors))
        return [tensor_of_array(torch, r) for r in (results if isinstance(results, tuple) else (results,))]

    def _check(self, tensors: Sequence[Any]) -> None:
        """Compare the kernel, compiled if there is none, with eager mode; drop it if it does not do."""
        said = ""
        try:
            if self._kernel is None:
                _refuse(self._graph, tensors)
                self._kernel, places = _kernel(self._graph, tensors)
                said = f"a graph of {places} part{'s' * (places != 1)}"
            verification = verify(self._kernel, self._arrays(self._kernel, tensors))
            if not verification.ok:
                raise usage_error(f"it is compiled wrong: {verification.difference}")
        except LhkitError as error:
            self._kernel = None
            sys.stderr.write(f"lhkit: a graph stays in eager mode: {error}\n")
            return
        if said:
            sys.stderr.write(f"lhkit: {said}; largest error {verification.max_abs_error:.2g}\n")

    @staticmethod
    def _arrays(kernel: Kernel, tensors: Sequence[Any]) -> list[Any]:
        return [array_of_tensor(torch, x) for i, x in enumerate(tensors) if i not in kernel.bound]


def _refuse(graph: Any, tensors: Sequence[Any]) -> None:
    """Raise a `UsageError` for a graph that is not taken."""
    if any(x.device.type != "cpu" for x in tensors):
        raise usage_error("it is not on the CPU")
    if torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
        raise usage_error("it trains; call it in torch.no_grad()")
    if graph.graph.find_nodes(op="call_method", target="item"):
        advice = (
            "With dynamic=True PyTorch passes numbers of a module as tensors; without, or with"
            " torch._dynamo.mark_dynamic, sizes may differ all the same."
        )
        raise usage_error("it makes a number of a tensor", advice)
    returned = graph.graph.output_node().all_input_nodes
    if any(isinstance(_example(node), torch.SymInt) for node in returned):
        raise usage_error("it returns sizes")


def _kernel(graph: Any, tensors: Sequence[Any]) -> tuple[Kernel, int]:
    """Return the kernel, its parameters bound, and in how many places it has parts."""
    alone, dynamic_shapes = _without_sizes(graph)
    # Copies: to export notes at tensors which of their sizes are dynamic, and dynamo would see that.
    given = [x.detach() for x in tensors]
    payload = from_torch(alone, *given, dynamic_shapes=dynamic_shapes, name="<graph>")
    parameters: dict[str | int, Any] = {
        i: array_of_tensor(torch, x) for i, x in enumerate(tensors) if isinstance(x, torch.nn.Parameter)
    }
    assembled = assemble(payload, check=False, constants=[int(i) for i in parameters])
    places = sum(part.count for part in assembled.parts)
    return assembled.bind(parameters) if parameters else assembled, places


def _without_sizes(graph: Any) -> tuple[Any, tuple[dict[int, Any] | None, ...] | None]:
    """Return a graph that takes tensors only, its sizes from those, and which of their extents are dynamic."""
    copied = copy.deepcopy(graph.graph)
    inputs = copied.find_nodes(op="placeholder")
    tensors = [node for node in inputs if isinstance(_example(node), torch.Tensor)]
    first = next(node for node in copied.nodes if node.op != "placeholder")
    for node in [node for node in inputs if node not in tensors]:
        with copied.inserting_before(first):
            size = copied.call_method("size", _place_of_size(_example(node), tensors))
        node.replace_all_uses_with(size)
        copied.erase_node(node)
    dynamic = [
        {d: torch.export.Dim.AUTO for d, size in enumerate(_example(node).shape) if free_symbols(size)}
        for node in tensors
    ]
    if not any(dynamic):
        return graph, None
    return torch.fx.GraphModule(graph, copied), tuple(each or None for each in dynamic)


def _place_of_size(size: Any, tensors: Sequence[Any]) -> tuple[Any, int]:
    for node in tensors:
        for place, extent in enumerate(_example(node).shape):
            if statically_known_true(extent == size):
                return node, place
    raise usage_error(f"{size} is not the extent of an input")


def _example(node: Any) -> Any:
    return node.meta.get("example_value")
