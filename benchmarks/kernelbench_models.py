"""The problems of ``kernelbench.toml`` as PyTorch modules: each a chain of steps, with inputs drawn for it.

A step is a word and what it takes. Words are the classes of ``torch.nn``; functions of one tensor in
``torch.nn.functional`` and ``torch``; ``+ - * /`` with a number, a parameter (``p:EXTENTS``), a further input
(``x1``) or the tensor that ``keep`` kept (``kept``); and the functions of this file. Arguments are numbers,
words, extents (``3x5``) and lists (``2,3``), by place or by name (``dim=1``); a name alone is ``True``.
"""

from __future__ import annotations

import functools
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

TABLE = Path(__file__).parent / "kernelbench.toml"


class Problem(NamedTuple):
    """A problem of the table: its number, its name, its inputs and its steps."""

    number: str
    name: str
    inputs: str
    steps: str


@functools.cache
def problems() -> Mapping[str, Problem]:
    """Return the problems by their numbers."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {row[0]: Problem(*row) for row in table["problems"]}


class Example(NamedTuple):
    """A problem's module and inputs for it."""

    module: nn.Module
    inputs: tuple[Tensor, ...]


def example(number: str, seed: int = 0) -> Example:
    """Return a problem's module, its weights and statistics drawn at random, and inputs."""
    problem = problems()[number]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = Chain([step.split() for step in problem.steps.split("; ")]).eval()
        for each in module.modules():
            _train(each)
        torch.manual_seed(seed)
        return Example(module, tuple(_drawn(word) for word in problem.inputs.split(", ")))


def _train(layer: nn.Module) -> None:
    """Give a normalization statistics and a scale: untrained, it would be the identity, or have a mean of 0."""
    if isinstance(layer, nn.modules.batchnorm._BatchNorm):
        layer.running_mean = torch.randn(layer.num_features) / 4
        layer.running_var = torch.rand(layer.num_features) + 0.5
    for values in (layer.weight, layer.bias) if isinstance(layer, (nn.GroupNorm, nn.LayerNorm)) else ():
        values.data = torch.randn(values.shape)


class Chain(nn.Module):  # type: ignore[misc]
    """Steps one after the other on the first input; the further inputs are there for all of them."""

    def __init__(self, steps: Sequence[Sequence[str]]) -> None:
        super().__init__()
        self.layers = nn.ModuleList()
        self.numbers = nn.ParameterList()
        self.steps = [self._step(word, words) for word, *words in steps]

    def forward(self, *inputs: Tensor) -> Tensor:
        """Return what the last step returns."""
        x, *others = inputs
        kept = x
        for step in self.steps:
            if step is None:
                kept = x
            else:
                x = step(x, others, kept)
        return x

    def _step(self, word: str, words: Sequence[str]) -> Callable[[Tensor, list[Tensor], Tensor], Tensor] | None:
        if word == "keep":
            return None
        if word[0].isupper():
            layer = getattr(nn, word)(*_places(words), **_names(words))
            self.layers.append(layer)
            return lambda x, _others, _kept: layer(x)
        function = _function(word)
        given = [self._value(each) for each in words if "=" not in each and each not in _FLAGS]
        named = _names(words)
        if word in _TAKES_INPUTS:
            return lambda x, others, _kept: function(x, *others, *given, **named)
        return lambda x, others, kept: function(x, *(_resolved(v, others, kept) for v in given), **named)

    def _value(self, word: str) -> Any:
        """Return a number, a parameter, or the word for what is known at a call."""
        if word.startswith("p:"):
            shape = [int(n) for n in word[2:].split("x") if n]
            parameter = nn.Parameter(torch.randn(shape) if shape else torch.tensor(0.75), requires_grad=False)
            self.numbers.append(parameter)
            return parameter
        return _parsed(word)


def _resolved(value: Any, others: Sequence[Tensor], kept: Tensor) -> Any:
    if value == "kept" and isinstance(value, str):
        return kept
    if isinstance(value, str) and value[0] == "x" and value[1:].isdigit():
        return others[int(value[1:]) - 1]
    return value


# Arguments of steps.

_FLAGS = ("keepdim",)


def _parsed(word: str) -> Any:
    for separator in ",x":
        if all(part.isdigit() for part in word.split(separator)) and separator in word:
            return tuple(int(n) for n in word.split(separator))
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def _places(words: Sequence[str]) -> list[Any]:
    return [_parsed(word) for word in words if "=" not in word and word not in _FLAGS]


def _names(words: Sequence[str]) -> dict[str, Any]:
    named = {name: _parsed(value) for name, _, value in (w.partition("=") for w in words if "=" in w)}
    if "bias" in named:
        named["bias"] = bool(named["bias"])
    return {**named, **{word: True for word in words if word in _FLAGS}}


def _drawn(word: str) -> Tensor:
    """Return an input: ``512x512`` of normal numbers, or of a kind, ``upper:512x512``."""
    kind, _, extents = word.rpartition(":")
    shape = [int(n) for n in extents.split("x")]
    if kind.startswith("below "):
        return torch.randint(0, int(kind.removeprefix("below ")), shape)
    return _KINDS[kind](torch.randn(shape))


_KINDS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "": lambda x: x,
    "symmetric": lambda x: (x + x.T) / 2,
    "upper": torch.triu,
    "lower": torch.tril,
    "mask": lambda x: x > 0,
    "signs": lambda x: torch.where(x > 0, 1.0, -1.0),
    "chances": lambda x: torch.softmax(x, -1),
}


# Functions of steps.


def _function(word: str) -> Callable[..., Any]:
    for place in (_OWN, functional, torch):
        found = place.get(word) if isinstance(place, dict) else getattr(place, word, None)
        if found is not None:
            function: Callable[..., Any] = found
            return function
    raise ValueError(f"no step {word!r}")


def _values(reduce: Callable[..., Any]) -> Callable[..., Tensor]:
    return lambda x, **named: reduce(x, **named)[0]


def _gate(x: Tensor, *words: str) -> Tensor:
    """Return ``x * f(x)``, f of one or more functions one after the other."""
    inner = x
    for word in words:
        inner = _function(word)(inner)
    return x * inner


def _exclusive_cumsum(x: Tensor) -> Tensor:
    sums = torch.cumsum(x.narrow(1, 0, x.shape[1] - 1), 1)
    return torch.cat((torch.zeros_like(x.select(1, 0).unsqueeze(1)), sums), 1)


def _softmax_over_space(x: Tensor) -> Tensor:
    return torch.softmax(x.flatten(2), 2).view(x.shape)


def _instance_norm_of_rows(x: Tensor) -> Tensor:
    return functional.instance_norm(x[:, None, None]).squeeze(1).squeeze(1)


_OWN: dict[str, Callable[..., Any]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
    "twice": lambda x: x + x,
    "minimum": lambda x, y: torch.min(x, y if isinstance(y, Tensor) else torch.tensor(y)),
    "einsum": lambda x, y, equation: torch.einsum(equation, x, y),
    "transpose": lambda x: x.T,
    "matmul_transposed": lambda x, y: x @ y.T,
    "diagonal_times": lambda x, y: x[:, None] * y,
    "swish": lambda x: x * torch.sigmoid(x),
    "swish_of_x_plus_3": lambda x: x * torch.sigmoid(x + 3) / 6,
    "hard_swish_spelled": lambda x: x * torch.clamp((x + 3) / 6, 0, 1),
    "gelu_of_gpt2": lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "softsign": lambda x: x / (1 + x.abs()),
    "gate": _gate,
    "flip": lambda x: x.flip(1),
    "max": _values(torch.max),
    "min": _values(torch.min),
    "less_mean": lambda x, dim: x - x.mean(dim, keepdim=True),
    "rms_norm": lambda x, dim: x / torch.sqrt((x**2).mean(dim, keepdim=True) + 1e-5),
    "frobenius_norm": lambda x: x / torch.norm(x),
    "l1_norm": lambda x: x / x.abs().mean(1, keepdim=True),
    "l2_norm": lambda x: x / torch.norm(x, p=2, dim=1, keepdim=True),
    "exclusive_cumsum": _exclusive_cumsum,
    "softmax_over_space": _softmax_over_space,
    "instance_norm_of_rows": _instance_norm_of_rows,
    "hinge": lambda x: torch.clamp(1 - x, min=0).mean(),
}
_TAKES_INPUTS = ("matmul", "bmm", "einsum", "matmul_transposed", "diagonal_times")
