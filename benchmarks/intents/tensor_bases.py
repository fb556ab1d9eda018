"""Base schedules for ops on tensors of three dimensions and more: batches of products, convolutions."""

from __future__ import annotations

from benchmarks.intents import step_writer as w


def batch(shape: tuple[int, int, int]) -> str:
    """Return four products."""
    m, n, k = shape
    return (
        w.PayloadWriter(lhs=(4, m, k), rhs=(4, k, n))
        .product("product", "batch_matmul", "lhs rhs", (4, m, n))
        .text("product")
    )


def convolution(shape: tuple[int, int]) -> str:
    """Return a convolution with windows of 3x3 over a square image, plus a bias."""
    n, f = shape
    text = w.PayloadWriter(image=(1, n + 2, n + 2, 8), filters=(3, 3, 8, f), bias=(1, n, n, f))
    text.product("conv", "conv_2d_nhwc_hwcf", "image filters", (1, n, n, f))
    return text.new("sum", "add", "conv bias").text("sum")


def batch_tiled(outer: str, inner: str) -> str:
    """Share the batch out by forall, tile each product by for, vectorize."""
    return w.schedule(
        w.match("%product", "linalg.batch_matmul"),
        w.producer("%init", "%product", 2),
        w.tile_forall("%t, %forall", "%product", outer),
        w.fuse("%init_t, %l1", "%init", "%forall"),
        w.tile("%step, %loops:2", "%t", inner),
        w.vectorize("%step", " {create_named_contraction}"),
        w.vectorize("%init_t"),
    )


def convolution_tiled(outer: str, inner: str, factor: int) -> str:
    """Tile the sum, fuse the convolution, tile its window, unroll the channels."""
    return w.schedule(
        w.match("%sum", "linalg.add"),
        w.producer("%conv", "%sum", 0),
        w.producer("%init", "%conv", 2),
        w.tile_forall("%t, %forall", "%sum", outer),
        w.fuse("%conv_t, %l1", "%conv", "%forall"),
        w.fuse("%init_t, %l2", "%init", "%l1"),
        w.tile("%piece, %loops:3", "%conv_t", inner),
        w.unroll("%loops#2", factor),
        w.match("%f", "func.func"),
        w.patterns("%f"),
        w.cse("%f"),
    )


def convolution_generic(sizes: str) -> str:
    """Generalize the convolution, tile it, the sum apart from it."""
    return w.schedule(
        w.match("%conv", "linalg.conv_2d_nhwc_hwcf"),
        w.generalize("%g", "%conv"),
        w.tile("%t, %loops:2", "%g", sizes),
        w.match("%sum", "linalg.add"),
        w.tile("%sum_t, %sum_l", "%sum", "[0, 2]"),
        w.unroll("%sum_l", 2),
        w.match("%f", "func.func"),
        w.patterns("%f"),
    )
