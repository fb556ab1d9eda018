"""schedules/fc_relu.mlir and schedules/mlp.mlir on graphs of layers: chains, shared results, products without epilogue."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import lhkit

M, K, N = 13, 20, 32


def matrix(rows, columns):
    return f"tensor<{rows}x{columns}xf32>"


class Graph:
    """A function of matrices, written line by line; values are (name, rows, columns)."""

    def __init__(self):
        self.arguments, self.lines = [], ["%zero = arith.constant 0.0 : f32"]

    def argument(self, rows, columns):
        self.arguments.append((f"%x{len(self.arguments)}", rows, columns))
        return self.arguments[-1]

    def _value(self, rows, columns, text):
        name, shape = f"%v{len(self.lines)}", matrix(rows, columns)
        self.lines.append(f"{name} = {text} : {shape}".replace("-> :", "->"))
        return name, rows, columns

    def empty(self, rows, columns):
        return self._value(rows, columns, "tensor.empty()")

    def zeros(self, rows, columns):
        empty, *_ = self.empty(rows, columns)
        return self._value(
            rows, columns, f"linalg.fill ins(%zero : f32) outs({empty} : {matrix(rows, columns)}) ->"
        )

    def matmul(self, a, b, init=None):
        (x, m, k), (y, _, n) = a, b
        init = init or self.zeros(m, n)
        ins = f"ins({x}, {y} : {matrix(m, k)}, {matrix(k, n)})"
        return self._value(m, n, f"linalg.matmul {ins} outs({init[0]} : {matrix(m, n)}) ->")

    def elements(self, op, a, b):
        (x, m, n), (y, *_), (out, *_) = a, b, self.empty(a[1], a[2])
        shape = matrix(m, n)
        return self._value(m, n, f"linalg.{op} ins({x}, {y} : {shape}, {shape}) outs({out} : {shape}) ->")

    def relu(self, a):
        return self.elements("max", a, self.zeros(a[1], a[2]))

    def rows_from(self, a, first):
        x, rows, columns = a
        left = matrix(rows - first, columns)
        text = f"tensor.extract_slice {x}[{first}, 0] [{rows - first}, {columns}] [1, 1] : {matrix(rows, columns)} to"
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text} {left}")
        return name, rows - first, columns

    def text(self, results):
        arguments = ", ".join(f"{n}: {matrix(r, c)}" for n, r, c in self.arguments)
        types = ", ".join(matrix(r, c) for _, r, c in results)
        names = ", ".join(n for n, *_ in results)
        body = "\n".join(self.lines)
        return f"func.func @graph({arguments}) -> ({types}) {{\n{body}\nreturn {names} : {types}\n}}"


@dataclass(frozen=True)
class Case:
    """Shapes of the arguments, how the graph is built from them, and the same in NumPy."""

    shapes: tuple[tuple[int, int], ...]
    build: Callable
    reference: Callable


def relu(x):
    return np.maximum(x, 0)


A, B, C = (M, K), (K, N), (N, K)
CASES = {
    "one product": Case((A, B), lambda g, a, b: [g.matmul(a, b)], lambda a, b: [a @ b]),
    "odd extents": Case(
        ((13, 21), (21, 37), (37, 9)),
        lambda g, a, b, c: [g.matmul(g.matmul(a, b), c)],
        lambda a, b, c: [a @ b @ c],
    ),
    "a chain": Case((A, B, C), lambda g, a, b, c: [g.matmul(g.matmul(a, b), c)], lambda a, b, c: [a @ b @ c]),
    "a chain with panels": Case(
        ((14, 515), (515, 600), (600, 9)),
        lambda g, a, b, c: [g.matmul(g.matmul(a, b), c)],
        lambda a, b, c: [a @ b @ c],
    ),
    "a chain of one row": Case(
        ((1, 40), (40, 83), (83, 3)),
        lambda g, a, b, c: [g.matmul(g.matmul(a, b), c)],
        lambda a, b, c: [a @ b @ c],
    ),
    "a square": Case(
        ((16, 16), (16, 16)),
        lambda g, a, b: [g.matmul(*[g.matmul(a, b)] * 2)],
        lambda a, b: [(a @ b) @ (a @ b)],
    ),
    "the last without an epilogue": Case(
        (A, B, C), lambda g, a, b, c: [g.matmul(g.relu(g.matmul(a, b)), c)], lambda a, b, c: [relu(a @ b) @ c]
    ),
    "the first without an epilogue": Case(
        (A, B, C), lambda g, a, b, c: [g.relu(g.matmul(g.matmul(a, b), c))], lambda a, b, c: [relu(a @ b @ c)]
    ),
    "a product with several users": Case(
        (A, B, (M, N)),
        lambda g, a, b, c: [g.relu(p := g.matmul(a, b)), g.elements("mul", p, c), p],
        lambda a, b, c: [relu(a @ b), a @ b * c, a @ b],
    ),
    "a product that is squared": Case(
        (A, B), lambda g, a, b: [g.elements("mul", *[g.matmul(a, b)] * 2)], lambda a, b: [(a @ b) ** 2]
    ),
    "an epilogue used twice": Case(
        (A, B, (M, N)),
        lambda g, a, b, c: [g.elements("add", r := g.relu(g.matmul(a, b)), c), g.elements("mul", r, c)],
        lambda a, b, c: [relu(a @ b) + c, relu(a @ b) * c],
    ),
    "an epilogue used by two layers": Case(
        (A, B, C, C),
        lambda g, a, b, c, d: [g.matmul(r := g.relu(g.matmul(a, b)), c), g.relu(g.matmul(r, d))],
        lambda a, b, c, d: [relu(a @ b) @ c, relu(relu(a @ b) @ d)],
    ),
    "two layers that share nothing": Case(
        (A, B, A, B),
        lambda g, a, b, c, d: [g.relu(g.matmul(a, b)), g.relu(g.matmul(c, d))],
        lambda a, b, c, d: [relu(a @ b), relu(c @ d)],
    ),
    "two products and one epilogue": Case(
        (A, B, B),
        lambda g, a, b, c: [g.elements("mul", g.matmul(a, b), g.relu(g.matmul(a, c)))],
        lambda a, b, c: [a @ b * relu(a @ c)],
    ),
    "a residual": Case(
        (A, B, (N, N)),
        lambda g, a, b, c: [g.elements("add", g.matmul(r := g.relu(g.matmul(a, b)), c), r)],
        lambda a, b, c: [relu(a @ b) @ c + relu(a @ b)],
    ),
    "an operand that is computed": Case(
        (A, B), lambda g, a, b: [g.matmul(g.relu(a), b)], lambda a, b: [relu(a) @ b]
    ),
    "an operand that no op of linalg computes": Case(
        ((2 * M, K), B),
        lambda g, a, b: [g.relu(g.matmul(g.rows_from(a, M), b))],
        lambda a, b: [relu(a[M:] @ b)],
    ),
    "an argument to start from": Case(
        (A, B, (M, N)), lambda g, a, b, c: [g.relu(g.matmul(a, b, c))], lambda a, b, c: [relu(a @ b + c)]
    ),
    "a product to start from": Case(
        (A, B, B), lambda g, a, b, c: [g.matmul(a, c, g.matmul(a, b))], lambda a, b, c: [a @ b + a @ c]
    ),
    "no product": Case((A,), lambda g, a: [g.relu(a)], lambda a: [relu(a)]),
}
# fc_relu.mlir shares among threads first, and does the rest as mlp.mlir does.
THREADED = [
    "one product",
    "a chain",
    "a square",
    "the last without an epilogue",
    "a product with several users",
    "two products and one epilogue",
    "an argument to start from",
    "a product to start from",
]


def check(case, schedule, knobs, worker):
    graph = Graph()
    results = case.build(graph, *[graph.argument(*shape) for shape in case.shapes])
    kernel = lhkit.compile(
        lhkit.load_payload(graph.text(results), worker=worker), schedule, knobs, worker=worker
    )
    generator = np.random.default_rng(0)
    arguments = [generator.standard_normal(shape, dtype=np.float32) for shape in case.shapes]
    found = kernel(*arguments)
    for one, expected in zip(
        found if isinstance(found, tuple) else [found], case.reference(*arguments), strict=True
    ):
        np.testing.assert_allclose(one, expected, rtol=1e-4, atol=1e-3)
    assert not re.findall(r"linalg\.\w+|vector\.contract", kernel.ir("scheduled"))


@pytest.mark.parametrize("name", CASES)
def test_a_graph_of_layers(name, worker):
    check(CASES[name], "mlp.mlir", {"tile_n": 16, "lanes": 8}, worker)


@pytest.mark.parametrize("name", THREADED)
def test_a_graph_of_layers_shared_among_threads(name, worker):
    check(CASES[name], "fc_relu.mlir", {"tile_n": 16, "lanes": 8, "threads": 2}, worker)


def test_a_chain_for_any_batch(worker):
    graph = Graph()
    a, b, c = graph.argument(99, 40), graph.argument(40, 85), graph.argument(85, 33)
    text = graph.text([graph.matmul(graph.matmul(a, b), c)])
    size = "%c0 = arith.constant 0 : index\n%m = tensor.dim %x0, %c0 : tensor<?x40xf32>\n"
    text = text.replace("tensor<99x", "tensor<?x").replace("empty() : tensor<?x", "empty(%m) : tensor<?x")
    payload = lhkit.load_payload(text.replace("{\n", "{\n" + size, 1), worker=worker)
    kernel = lhkit.compile(payload, "mlp.mlir", {"tile_n": 16, "lanes": 8}, worker=worker)
    for batch in (1, 13):
        x, y, z = (
            np.random.default_rng(0).standard_normal(s, np.float32) for s in ((batch, 40), (40, 85), (85, 33))
        )
        np.testing.assert_allclose(kernel(x, y, z), x @ y @ z, rtol=1e-4, atol=1e-3)
