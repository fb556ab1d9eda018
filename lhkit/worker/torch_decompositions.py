"""How operations of PyTorch are written with others where their conversion to linalg is slow, or is wrong."""

from __future__ import annotations

import functools
import importlib.util
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch

from lhkit.model.bindings_host import TORCH_HOST, torch_versions_error

_TABLE = ("extras", "fx_decomp_util.py")

# The conversion knows these itself, and does it better: PyTorch's way adds factors of 1, and variances in f64.
_CONVERTED = {
    torch.ops.aten.addmm,
    torch.ops.aten.native_layer_norm,
    torch.ops.aten.layer_norm,
    torch.ops.aten.native_group_norm,
    torch.ops.aten.group_norm,
}


def decomposed(program: Any) -> Any:
    """Return an exported program in operations that can be converted.

    Raises:
        UsageError: The versions of PyTorch and torch-mlir do not fit together.
    """
    return program.run_decompositions(decompositions())


@functools.cache
def decompositions() -> dict[Any, Any]:
    """Return how operations are written with others before they are converted.

    Raises:
        UsageError: The versions of PyTorch and torch-mlir do not fit together.
    """
    try:
        table = _table().get_decomposition_table()
        known = {op: how for op, how in table.items() if op._overloadpacket not in _CONVERTED}
    except Exception as error:  # noqa: BLE001 - of another version: whatever is not there any more
        raise torch_versions_error(error) from None
    return {
        **known,
        torch.ops.aten.gelu.default: _gelu_by_tanh,
        torch.ops.aten.convolution.default: _transposed_by_phases,
    }


def _table() -> Any:
    """Return the conversion's module of decompositions, which is Python alone: its package loads MLIR."""
    package = importlib.util.find_spec(TORCH_HOST)
    folder = next(iter((package and package.submodule_search_locations) or ()), "")
    spec = importlib.util.spec_from_file_location("_lhkit_decompositions", Path(folder, *_TABLE))
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError("/".join(_TABLE))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _gelu_by_tanh(x: torch.Tensor, *, approximate: str = "none") -> Any:
    """Return GELU by its approximation; the conversion's own has .797724 in place of sqrt(2 / pi), .797885."""
    if approximate != "tanh":
        return NotImplemented
    wide = x.to(torch.float32) if x.dtype in (torch.float16, torch.bfloat16) else x
    inner = math.sqrt(2 / math.pi) * (wide + 0.044715 * wide * wide * wide)
    return (0.5 * wide * (1 + torch.tanh(inner))).to(x.dtype)


def _transposed_by_phases(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Any:
    """Return a transposed convolution with strides as a convolution with more filters.

    The conversion's own way puts zeros between the elements of the image, and multiplies them. Here the results
    at places that are the same modulo the stride, a phase, come from the same elements of the filter: the
    elements of all phases are the filters of one convolution, whose results are then woven into one another.
    """
    spatial = [*x.shape[2:]]
    if not transposed or not all(isinstance(n, int) for n in spatial) or max(stride) == 1:
        return NotImplemented
    found = [_Phases.of(*each) for each in zip(weight.shape[2:], stride, dilation, strict=True)]
    phases = [phase for phase in found if phase is not None]
    if len(phases) < len(found):
        return NotImplemented
    dims = [
        dim.around(*each)
        for dim, *each in zip(phases, spatial, weight.shape[2:], padding, dilation, output_padding, strict=True)
    ]
    for place, dim in enumerate(dims, 2):
        low, high = dim.low, dim.high
        x = x.narrow(place, max(-low, 0), x.shape[place] - max(-low, 0) - max(-high, 0))
    x = torch.constant_pad_nd(x, [n for dim in reversed(dims) for n in (max(dim.low, 0), max(dim.high, 0))])
    filters = _of_phases(weight, phases, groups)
    rank = len(phases)
    together = torch.ops.aten.convolution(
        x, filters, None, [1] * rank, [0] * rank, [p.dilation for p in phases], False, [0] * rank, groups
    )
    woven = together.reshape(x.shape[0], -1, *(p.count for p in phases), *together.shape[2:])
    for place, (phase, every) in enumerate(zip(phases, stride, strict=True), 2):
        if phase.count < every:
            there = dict(zip(phase.at, woven.unbind(place), strict=True))
            none = torch.zeros_like(there[0])
            woven = torch.stack([there.get(r, none) for r in range(every)], place)
    order = [0, 1, *(d for i in range(rank) for d in (2 + rank + i, 2 + i))]
    whole = woven.permute(order).reshape(
        *woven.shape[:2], *(n * s for n, s in zip(together.shape[2:], stride, strict=True))
    )
    for place, dim in enumerate(dims, 2):
        whole = whole.narrow(place, dim.start, dim.extent)
    return whole if bias is None else whole + bias.reshape(-1, *[1] * rank)


class _Extent(NamedTuple):
    """By how much an image is padded (less than 0: cut), and where the result lies in what is woven."""

    low: int
    high: int
    start: int
    extent: int


@dataclass(frozen=True, slots=True)
class _Phases:
    """The phases of a dimension that have elements of the filter.

    Attributes:
        at: The places of the phases modulo the stride.
        elements: How many elements of the filter each has, the last ones perhaps zeros.
        dilation: The distance of the elements of the image that these are multiplied by.
        stride: The distance of the results of one phase.
    """

    at: tuple[int, ...]
    elements: int
    dilation: int
    stride: int

    @property
    def count(self) -> int:
        """How many they are."""
        return len(self.at)

    @classmethod
    def of(cls, size: int, stride: int, dilation: int) -> _Phases | None:
        """Return the phases; None where their elements begin at different elements of the image."""
        common = math.gcd(stride, dilation)
        at = tuple(t * dilation for t in range(min(stride // common, size)))
        return cls(at, -(-size // len(at)), dilation // common, stride) if at[-1] < stride else None

    def around(self, extent: int, size: int, padding: int, dilation: int, output_padding: int) -> _Extent:
        """Return what the image is padded with, and which part of the woven results is the result."""
        whole = (extent - 1) * self.stride - 2 * padding + dilation * (size - 1) + output_padding + 1
        first, last = padding // self.stride, (padding + whole - 1) // self.stride
        low = (self.elements - 1) * self.dilation - first
        return _Extent(low, last - (extent - 1), padding - first * self.stride, whole)


def _of_phases(weight: torch.Tensor, phases: Sequence[_Phases], groups: int) -> torch.Tensor:
    """Return filters, from inputs×outputs×elements to (outputs×phases)×inputs×elements, last elements first."""
    inputs, outputs, *sizes = weight.shape
    missing = [p.elements * p.count - size for p, size in zip(phases, sizes, strict=True)]
    weight = torch.constant_pad_nd(weight, [n for m in reversed(missing) for n in (0, m)])
    parts = weight.reshape(
        groups, inputs // groups, outputs, *(n for p in phases for n in (p.elements, p.count))
    )
    elements, counts = list(range(3, parts.dim(), 2)), list(range(4, parts.dim(), 2))
    turned = parts.flip(elements).permute(0, 2, *counts, 1, *elements)
    return turned.reshape(-1, inputs // groups, *(p.elements for p in phases))
