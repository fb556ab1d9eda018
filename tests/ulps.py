"""How far functions of floats are from the truth, in units in the last place."""

import math

import numpy as np

import lhkit

EXPAND = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    "lhkit.expand_math"(%function) : (!transform.any_op) -> ()
    transform.yield
  }
}"""
# The largest errors of a strided run over all of f32, rounded up; the docstring of lhkit.expand_math has them too.
MOST_ULPS = {"exp": 0.9, "log": 1.55, "log1p": 1.6, "tanh": 1.4, "erf": 1.15, "rsqrt": 1.5}
TRUTH = {
    "exp": np.exp,
    "log": np.log,
    "log1p": np.log1p,
    "tanh": np.tanh,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
}


def payload_of(function, element_type, count):
    """Return a payload that applies a function to a vector's elements."""
    vector = f"tensor<{count}x{element_type}>"
    same = "affine_map<(i) -> (i)>"
    return lhkit.load_payload(f"""func.func @apply(%x: {vector}) -> {vector} {{
  %empty = tensor.empty() : {vector}
  %result = linalg.generic {{indexing_maps = [{same}, {same}], iterator_types = ["parallel"]}}
      ins(%x : {vector}) outs(%empty : {vector}) {{
  ^bb0(%in: {element_type}, %out: {element_type}):
    %y = math.{function} %in : {element_type}
    linalg.yield %y : {element_type}
  }} -> {vector}
  return %result : {vector}
}}""")


def compiled(function, element_type, count, worker):
    """Return a kernel with the function written out."""
    schedule = lhkit.load_schedule(EXPAND, worker=worker)
    return lhkit.compile(payload_of(function, element_type, count), schedule, worker=worker)


def ulps(got, truth):
    """Return the error of each element in ulps of its type; infinite where only one side is finite or a number.

    Args:
        got: What was computed, as f32 or f64.
        truth: The same in a wider type.
    """
    dtype = got.dtype
    with np.errstate(all="ignore"):
        rounded = truth.astype(dtype)
        largest = np.finfo(dtype).max
        spacing = np.spacing(np.minimum(np.abs(truth), largest).astype(dtype)).astype(truth.dtype)
        errors = np.abs(got.astype(truth.dtype) - truth) / spacing
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    return np.where(np.isfinite(got) & np.isfinite(rounded), errors, np.where(same, 0.0, np.inf))
