"""Six small PyTorch models to try things on, with weights from a seed; nothing is downloaded."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional


class Mlp(nn.Module):
    """Three linear layers, with ReLU between them."""

    def __init__(self, width: int = 512, inner: int = 1024, classes: int = 10) -> None:
        super().__init__()
        self.first = nn.Linear(width, inner)
        self.second = nn.Linear(inner, inner)
        self.last = nn.Linear(inner, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Take ``batch x width`` and return ``batch x classes``."""
        result: Tensor = self.last(torch.relu(self.second(torch.relu(self.first(x)))))
        return result


class ResidualBlock(nn.Module):
    """The basic block of a ResNet: two convolutions of 3x3 with batch normalization, and the input added."""

    def __init__(self, channels: int = 64) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        """Take and return ``batch x channels x height x width``."""
        inner = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.norm2(self.conv2(inner)) + x)


class SeparableBlock(nn.Module):
    """A convolution of each channel for itself, and one of single pixels, each with batch normalization."""

    def __init__(self, channels: int = 64, filters: int = 128) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.pointwise = nn.Conv2d(channels, filters, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(filters)

    def forward(self, x: Tensor) -> Tensor:
        """Take ``batch x channels x height x width`` and return as many filters."""
        return functional.relu6(self.norm2(self.pointwise(functional.relu6(self.norm1(self.depthwise(x))))))


class AttentionBlock(nn.Module):
    """Attention of several heads, with its projections, and the input added."""

    def __init__(self, width: int = 256, heads: int = 4) -> None:
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.norm = nn.LayerNorm(width)
        self.project = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Take and return ``batch x length x width``."""
        batch, length, width = x.shape
        parts = self.project(self.norm(x)).view(batch, length, 3, self.heads, self.size).permute(2, 0, 3, 1, 4)
        query, key, value = parts[0], parts[1], parts[2]
        weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(self.size), dim=-1)
        result: Tensor = x + self.out((weights @ value).transpose(1, 2).reshape(batch, length, width))
        return result


class EncoderLayer(nn.Module):
    """A layer of a transformer: attention, then two linear layers with GELU, both behind a normalization."""

    def __init__(self, width: int = 256, heads: int = 4, inner: int = 1024) -> None:
        super().__init__()
        self.attention = AttentionBlock(width, heads)
        self.norm = nn.LayerNorm(width)
        self.widen = nn.Linear(width, inner)
        self.narrow = nn.Linear(inner, width)

    def forward(self, x: Tensor) -> Tensor:
        """Take and return ``batch x length x width``."""
        x = self.attention(x)
        result: Tensor = x + self.narrow(functional.gelu(self.widen(self.norm(x))))
        return result


class SmallCnn(nn.Module):
    """Two convolutions with pooling, the mean of each map, a linear layer and softmax."""

    def __init__(self, channels: int = 32, classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, 2 * channels, 3, padding=1)
        self.last = nn.Linear(2 * channels, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Take ``batch x 3 x height x width`` and return probabilities, ``batch x classes``."""
        x = functional.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = functional.max_pool2d(torch.relu(self.conv2(x)), 2)
        return torch.softmax(self.last(x.mean((2, 3))), dim=-1)


class Example(NamedTuple):
    """A model and inputs for it."""

    module: nn.Module
    inputs: tuple[Tensor, ...]


_SHAPES: Mapping[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "mlp": (Mlp, (512,)),
    "residual_block": (ResidualBlock, (64, 56, 56)),
    "separable_block": (SeparableBlock, (64, 56, 56)),
    "attention_block": (AttentionBlock, (128, 256)),
    "encoder_layer": (EncoderLayer, (128, 256)),
    "small_cnn": (SmallCnn, (3, 64, 64)),
}
NAMES = tuple(_SHAPES)


def example(name: str, batch: int = 1, seed: int = 0) -> Example:
    """Return one of the models, its statistics and weights drawn at random, and inputs of a batch.

    Args:
        name: One of ``NAMES``.
        batch: How many inputs at once.
        seed: What weights and inputs are drawn from.
    """
    make, shape = _SHAPES[name]
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        module = make().eval()
        for each in module.modules():
            if isinstance(each, nn.BatchNorm2d):  # untrained, it would be the identity
                each.running_mean = torch.randn(each.num_features) / 4
                each.running_var = torch.rand(each.num_features) + 0.5
        return Example(module, (torch.randn(batch, *shape),))
