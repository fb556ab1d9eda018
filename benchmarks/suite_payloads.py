"""Payloads of the suite that `lhkit.payloads` has no generator for: einsums, reductions, convolutions, models.

Each takes a word first, which is the name of its reference in ``suite_references.py``, and then extents.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from lhkit.load.loader import load_payload
from lhkit.load.random_inputs import default_arguments
from lhkit.load.shipped_files import shipped_folder
from lhkit.load.torch_modules import from_torch
from lhkit.model.errors import usage_error
from lhkit.model.payload import Payload
from lhkit.model.signature import Function

_REFERENCES = Path(__file__).parent / "suite_references.py"


def einsum(spec: str, *extents: int) -> Payload:
    """Return ``np.einsum(spec, lhs, rhs)`` in f32 as one op, ``einsum(lhs, rhs)``.

    Args:
        spec: Two operands and the result, such as ``mk,nk->mn``.
        extents: Those of its letters, in the order in which they occur first.
    """
    operands, _, result = spec.partition("->")
    lhs, _, rhs = operands.partition(",")
    sizes = dict(zip(dict.fromkeys(lhs + rhs), extents, strict=True))
    loops = [*result, *(name for name in sizes if name not in result)]
    maps = ", ".join(f"affine_map<({', '.join(loops)}) -> ({', '.join(n)})>" for n in (lhs, rhs, result))
    kinds = ", ".join('"parallel"' if name in result else '"reduction"' for name in loops)
    types = [_tensor(*(sizes[name] for name in names)) for names in (lhs, rhs, result)]
    body = f"""%value = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
    ins(%lhs, %rhs : {types[0]}, {types[1]}) outs(%start : {types[2]}) {{
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }} -> {types[2]}"""
    return _payload("einsum", spec, {"lhs": types[0], "rhs": types[1]}, types[2], body)


def reduction(what: str, m: int, n: int) -> Payload:
    """Return a reduction of m×n in f32, ``reduction(source)``.

    Args:
        what: ``row_sums``, ``column_sums``, ``sum_of_all``, ``row_maxima`` or ``row_argmax`` (columns as i64).
        m: Rows.
        n: Columns.
    """
    source = _tensor(m, n)
    kept, reduced = {"column_sums": ("n", 0), "sum_of_all": ("", (0, 1))}.get(what, ("m", 1))
    result = _tensor(*({"m": m, "n": n}[name] for name in kept))
    if what == "row_argmax":
        places = result.replace("f32", "i64")
        body = f"""%no_place = arith.constant 0 : i64
  %no_places = tensor.empty() : {places}
  %first = linalg.fill ins(%no_place : i64) outs(%no_places : {places}) -> {places}
  %highest, %value = linalg.generic {{indexing_maps = [affine_map<(m, n) -> (m, n)>,
    affine_map<(m, n) -> (m)>, affine_map<(m, n) -> (m)>], iterator_types = ["parallel", "reduction"]}}
    ins(%source : {source}) outs(%start, %first : {result}, {places}) {{
  ^bb0(%x: f32, %most: f32, %at: i64):
    %column = linalg.index 1 : index
    %here = arith.index_cast %column : index to i64
    %more = arith.cmpf ogt, %x, %most : f32
    %next = arith.select %more, %x, %most : f32
    %place = arith.select %more, %here, %at : i64
    linalg.yield %next, %place : f32, i64
  }} -> ({result}, {places})"""
        return _payload(
            "reduction", what, {"source": source}, places, body, start="0xFF800000", from_type=result
        )
    op, start = ("maximumf", "0xFF800000") if what == "row_maxima" else ("addf", "0.0")
    dimensions = list(reduced) if isinstance(reduced, tuple) else [reduced]
    body = f"%value = linalg.reduce {{ arith.{op} }} ins(%source : {source}) outs(%start : {result})"
    body += f" dimensions = {dimensions}"
    return _payload("reduction", what, {"source": source}, result, body, start=start)


# Word → the op, then extents of image, filters and result by letter; H, W: of the image with its border.
_CONVOLUTIONS = {
    "nchw": ("conv_2d_nchw_fchw", "ncHW", "fckk", "nfhw"),
    "depthwise_nchw": ("depthwise_conv_2d_nchw_chw", "ncHW", "ckk", "nchw"),
    "depthwise_nhwc": ("depthwise_conv_2d_nhwc_hwc", "nHWc", "kkc", "nhwc"),
    "grouped_nchw": ("conv_2d_ngchw_gfchw", "ngcHW", "gfckk", "ngfhw"),
    "grouped_nhwc": ("conv_2d_nhwgc_gfhwc", "nHWgc", "gfkkc", "nhwgf"),
}


def convolution(what: str, h: int, w: int, c: int, f: int = 1, g: int = 1) -> Payload:
    """Return a convolution of one image by windows of 3 by 3 in f32, ``convolution(image, filters)``.

    Args:
        what: ``nchw``, ``depthwise_nchw``, ``depthwise_nhwc``, ``grouped_nchw`` or ``grouped_nhwc``; with
            ``_stride2`` after it for every second place.
        h: Height of the result.
        w: Width of the result.
        c: Channels of the image, or of each of its groups.
        f: Filters, or those of each group; nothing to depthwise ones.
        g: Groups.
    """
    name, _, strided = what.partition("_stride")
    if name not in _CONVOLUTIONS:
        raise usage_error(f"no convolution {what!r}", f"There are {', '.join(_CONVOLUTIONS)}.")
    stride = int(strided or 1)
    op, *letters = _CONVOLUTIONS[name]
    high, wide = (h - 1) * stride + 3, (w - 1) * stride + 3
    sizes = {"n": 1, "h": h, "w": w, "H": high, "W": wide, "c": c, "f": f, "g": g, "k": 3}
    image, filters, result = (_tensor(*(sizes[letter] for letter in each)) for each in letters)
    steps = f"{{dilations = dense<1> : tensor<2xi64>, strides = dense<{stride}> : tensor<2xi64>}}"
    body = f"""%value = linalg.{op} {steps}
    ins(%image, %filters : {image}, {filters}) outs(%start : {result}) -> {result}"""
    return _payload("convolution", what, {"image": image, "filters": filters}, result, body)


def model(name: str, batch: int) -> Payload:
    """Return one of the models of ``data/torch_models.py``, with its weights as constants."""
    example = torch_models().example(name, batch)
    return from_torch(example.module, *example.inputs, name=f"<{name}, batch {batch}>")


def kernelbench(number: str) -> Payload:
    """Return a problem of ``kernelbench.toml``, with its weights as constants."""
    from benchmarks import kernelbench_models

    example = kernelbench_models.example(number)
    return from_torch(example.module, *example.inputs, name=f"<{kernelbench_models.problems()[number].name}>")


def suite_arguments(
    generator: str, shape: Sequence[Any], payload: Payload, function: Function, seed: int
) -> list[NDArray[Any]]:
    """Return arguments for a generator's payload: those of its problem, otherwise as for any payload."""
    if generator == "kernelbench":
        from benchmarks import kernelbench_models

        return [tensor.numpy() for tensor in kernelbench_models.example(str(shape[0]), seed).inputs]
    return default_arguments(payload, function, seed)


def torch_models() -> Any:
    """Return the module with the models."""
    spec = importlib.util.spec_from_file_location("torch_models", shipped_folder("data") / "torch_models.py")
    if spec is None or spec.loader is None:
        raise ImportError("torch_models.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _tensor(*extents: int) -> str:
    return f"tensor<{''.join(f'{n}x' for n in extents)}f32>"


def _payload(
    name: str,
    word: str,
    arguments: dict[str, str],
    result: str,
    body: str,
    *,
    start: str = "0.0",
    from_type: str | None = None,
) -> Payload:
    """Return the function that returns ``%value``; ``%start`` is a tensor of the result's type, or another."""
    given = ", ".join(f"%{n}: {t}" for n, t in arguments.items())
    init = from_type or result
    text = f"""func.func @{name}({given}) -> {result} {{
  %from = arith.constant {start} : f32
  %empty = tensor.empty() : {init}
  %start = linalg.fill ins(%from : f32) outs(%empty : {init}) -> {init}
  {body}
  return %value : {result}
}}
"""
    return load_payload(text, name=f"<{name} {word}>", reference=f"{_REFERENCES}:{word}")
