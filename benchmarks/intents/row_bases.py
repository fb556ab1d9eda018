"""Base schedules for what is no product: rows, elementwise chains, transposes."""

from __future__ import annotations

from benchmarks.intents import step_writer as w

Pair = tuple[int, int]


def softmax(shape: Pair) -> str:
    """Return exp(x) / sum of its row."""
    m, n = shape
    text = w.PayloadWriter(x=(m, n)).new("power", "exp", "x").reduce("total", "addf", "power", (m,), 1)
    text.new("totals", "broadcast", "total", (m, n), "dimensions = [1]")
    return text.new("quotient", "div", "power totals").text("quotient")


def row_sum(shape: Pair) -> str:
    """Return the sum of the squares of each row."""
    text = w.PayloadWriter(x=shape).new("square", "mul", "x x")
    return text.reduce("total", "addf", "square", shape[:1], 1).text("total")


def column_sum(shape: Pair) -> str:
    """Return the sum of each column, times two vectors."""
    n = shape[1:]
    text = w.PayloadWriter(x=shape, s=n).reduce("total", "addf", "x", n, 0)
    return text.new("scaled", "mul", "total s").new("shifted", "add", "scaled s").text("shifted")


def chain(shape: Pair) -> str:
    """Return max(a * b + c, 0) - b."""
    text = (
        w.PayloadWriter(a=shape, b=shape, c=shape).new("product", "mul", "a b").new("sum", "add", "product c")
    )
    return text.fill("zeros", shape).new("relu", "max", "sum zeros").new("rest", "sub", "relu b").text("rest")


def layer_norm(shape: Pair) -> str:
    """Return x minus its row's sum, over the square root of the sum of squares."""
    m, n = shape
    text = w.PayloadWriter(x=(m, n)).reduce("total", "addf", "x", (m,), 1)
    text.new("means", "broadcast", "total", (m, n), "dimensions = [1]").new("centered", "sub", "x means")
    text.new("square", "mul", "centered centered").reduce("variance", "addf", "square", (m,), 1)
    text.new("factor", "sqrt", "variance").new("factors", "broadcast", "factor", (m, n), "dimensions = [1]")
    return text.new("normal", "div", "centered factors").text("normal")


def transposed(shape: Pair) -> str:
    """Return the transpose of a, plus b."""
    m, n = shape
    text = w.PayloadWriter(a=(m, n), b=(n, m)).new("turned", "transpose", "a", (n, m), "permutation = [1, 0]")
    return text.new("sum", "add", "turned b").text("sum")


def softmax_fused(sizes: str) -> str:
    """Tile the quotient by rows, fuse all that feeds it, vectorize the function."""
    return w.schedule(
        w.match("%quotient", "linalg.div"),
        w.match("%totals", "linalg.broadcast"),
        w.match("%total", "linalg.reduce"),
        w.match("%power", "linalg.exp"),
        w.producer("%init", "%total", 1),
        w.tile_forall("%t, %forall", "%quotient", sizes),
        w.fuse("%totals_t, %l1", "%totals", "%forall"),
        w.fuse("%total_t, %l2", "%total", "%l1"),
        w.fuse("%power_t, %l3", "%power", "%l2"),
        w.fuse("%init_t, %l4", "%init", "%l3"),
        w.match("%f", "func.func"),
        w.patterns("%f"),
        w.vectorize_all("%v", "%f"),
    )


def softmax_kept(sizes: str) -> str:
    """Tile the powers and their sum alone, and the quotient with its broadcast."""
    return w.schedule(
        w.match("%power", "linalg.exp"),
        w.tile("%power_t, %power_l", "%power", sizes),
        w.vectorize("%power_t"),
        w.match("%quotient", "linalg.div"),
        w.producer("%totals", "%quotient", 1),
        w.producer("%total", "%totals", 0),
        w.tile("%total_t, %total_l", "%total", sizes),
        w.vectorize("%total_t"),
        w.tile_forall("%t, %forall", "%quotient", sizes),
        w.fuse("%totals_t, %l1", "%totals", "%forall"),
        w.vectorize("%t"),
        w.vectorize("%totals_t"),
        w.match("%init", "linalg.fill"),
        w.vectorize("%init"),
    )


def row_sum_fused(rows: str, columns: str) -> str:
    """Tile the sum by rows, fuse the squares and the zeros, go through the row in pieces."""
    return w.schedule(
        w.match("%total", "linalg.reduce"),
        w.producer("%square", "%total", 0),
        w.producer("%init", "%total", 1),
        w.tile_forall("%t, %forall", "%total", rows),
        w.fuse("%square_t, %l1", "%square", "%forall"),
        w.fuse("%init_t, %l2", "%init", "%l1"),
        w.tile("%piece, %loop", "%t", columns),
        w.fuse("%square_u, %k", "%square_t", "%loop"),
        w.vectorize("%piece"),
        w.vectorize("%square_u"),
        w.vectorize("%init_t"),
    )


def row_sum_parallel(columns: str) -> str:
    """Sum in partial sums, tile what is left."""
    made, op = "%fill, %parts, %sum, %loop", "transform.structured.tile_reduction_using_for"
    step = f"{made} = {op} %total by tile_sizes = {columns}"
    return w.schedule(
        w.match("%square", "linalg.mul"),
        w.match("%total", "linalg.reduce"),
        f"{step} : ({w.ANY}) -> {w.types(4)}",
        w.fuse("%square_t, %l1", "%square", "%loop"),
        w.vectorize("%square_t"),
        w.vectorize("%parts"),
        w.vectorize("%sum"),
        w.match("%fills", "linalg.fill"),
        w.vectorize("%fills"),
    )


def column_sum_fused(sizes: str) -> str:
    """Tile the last op, fuse its chain of producers by structured.fuse, vectorize the tile in the loop."""
    return w.schedule(
        w.match("%last", "linalg.add"),
        w.tile_and_fuse("%t, %loop", "%last", sizes),
        w.match("%sum", "linalg.reduce", "%loop"),
        w.match("%scaled", "linalg.mul", "%loop"),
        w.match("%init", "linalg.fill", "%loop"),
        w.vectorize("%scaled"),
        w.vectorize("%sum"),
        w.vectorize("%init"),
        w.vectorize("%t"),
    )


def chain_fused(sizes: str) -> str:
    """Tile the last op by for, fuse one producer after the other, vectorize each."""
    return w.schedule(
        w.match("%rest", "linalg.sub"),
        w.producer("%relu", "%rest", 0),
        w.producer("%sum", "%relu", 0),
        w.producer("%zeros", "%relu", 1),
        w.producer("%product", "%sum", 0),
        w.tile("%t, %loops:2", "%rest", sizes),
        w.fuse("%relu_t, %l1", "%relu", "%loops#1"),
        w.fuse("%sum_t, %l2", "%sum", "%l1"),
        w.fuse("%zeros_t, %l3", "%zeros", "%l2"),
        w.fuse("%product_t, %l4", "%product", "%l3"),
        w.merge("%all", "%t, %relu_t, %sum_t, %zeros_t, %product_t"),
        w.vectorize("%all"),
    )


def chain_generic(order: str, sizes: str) -> str:
    """Make one generic op of the chain, interchange it, tile it, unroll."""
    return w.schedule(
        w.match("%named", "LinalgOp"),
        w.generalize("%generics", "%named"),
        w.match("%f", "func.func"),
        w.apply_pass("%fused", "%f", "linalg-fuse-elementwise-ops"),
        w.match("%one", "linalg.generic", "%fused"),
        w.interchange("%i", "%one", order),
        w.tile("%t, %loops:2", "%i", sizes),
        w.vectorize("%t"),
        w.unroll("%loops#1", 2),
        w.match("%g", "func.func"),
        w.patterns("%g"),
    )


def chain_apart(sizes: str) -> str:
    """Tile each op of the chain alone, in a foreach."""
    return w.schedule(
        w.match("%product", "linalg.mul"),
        w.match("%sum", "linalg.add"),
        w.merge("%both", "%product, %sum"),
        w.foreach("%both", w.tile("%t, %l:2", "%each", sizes), w.vectorize("%t"), w.unroll("%l#1", 2)),
        w.match("%relu", "linalg.max"),
        w.tile("%relu_t, %relu_l:2", "%relu", sizes),
        w.match("%zeros", "linalg.fill"),
        w.fuse("%zeros_t, %l1", "%zeros", "%relu_l#1"),
        w.vectorize("%zeros_t"),
        w.vectorize("%relu_t"),
        w.match("%rest", "linalg.sub"),
        w.vectorize("%rest"),
    )


def layer_norm_fused(sizes: str) -> str:
    """Tile by rows with structured.fuse, clean up, vectorize the function."""
    return w.schedule(
        w.match("%normal", "linalg.div"),
        w.tile_and_fuse("%t, %loop", "%normal", sizes),
        w.match("%f", "func.func"),
        w.cse("%f"),
        w.patterns("%f"),
        w.vectorize_all("%v", "%f"),
    )


def layer_norm_split(sizes: str) -> str:
    """Split the handles of sums, broadcasts and zeros; fuse the second half of the work by rows."""
    return w.schedule(
        w.match("%sums", "linalg.reduce"),
        w.split("%total, %variance", "%sums"),
        w.match("%spread", "linalg.broadcast"),
        w.split("%means, %factors", "%spread"),
        w.match("%fills", "linalg.fill"),
        w.split("%total_init, %variance_init", "%fills"),
        w.match("%factor", "linalg.sqrt"),
        w.match("%square", "linalg.mul"),
        w.match("%normal", "linalg.div"),
        w.tile_forall("%t, %forall", "%normal", sizes),
        w.fuse("%factors_t, %l1", "%factors", "%forall"),
        w.fuse("%factor_t, %l2", "%factor", "%l1"),
        w.fuse("%variance_t, %l3", "%variance", "%l2"),
        w.fuse("%square_t, %l4", "%square", "%l3"),
        w.fuse("%init_t, %l5", "%variance_init", "%l4"),
        w.tile("%means_t, %means_l", "%means", sizes),
        w.fuse("%total_t, %m1", "%total", "%means_l"),
    )


def transposed_vectors(sizes: str) -> str:
    """Tile the sum, fuse the transpose, vectorize both, lower the transpose."""
    return w.schedule(
        w.match("%sum", "linalg.add"),
        w.producer("%turned", "%sum", 0),
        w.tile("%t, %loops:2", "%sum", sizes),
        w.fuse("%turned_t, %l1", "%turned", "%loops#1"),
        w.vectorize("%turned_t"),
        w.vectorize("%t"),
        w.match("%f", "func.func"),
        w.patterns("%f", 'vector.lower_transpose lowering_strategy = "shuffle_1d"', "canonicalization"),
    )
