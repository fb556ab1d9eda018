"""Base schedules for products of matrices: layers, one product, two in a row."""

from __future__ import annotations

from benchmarks.intents import step_writer as w

Shape = tuple[int, int, int]
_CONTRACTION = " {create_named_contraction}"


def layer(shape: Shape) -> str:
    """Return max(lhs · rhs + bias, 0)."""
    m, n, k = shape
    text = w.PayloadWriter(lhs=(m, k), rhs=(k, n), bias=(m, n))
    text.product("product", "matmul", "lhs rhs", (m, n)).new("sum", "add", "product bias")
    return text.fill("zeros", (m, n)).new("relu", "max", "sum zeros").text("relu")


def matmul(shape: Shape) -> str:
    """Return lhs · rhs."""
    m, n, k = shape
    return (
        w.PayloadWriter(lhs=(m, k), rhs=(k, n)).product("product", "matmul", "lhs rhs", (m, n)).text("product")
    )


def two_products(shape: Shape) -> str:
    """Return (lhs · rhs + bias) · rhs2."""
    m, n, k = shape
    text = w.PayloadWriter(lhs=(m, k), rhs=(k, n), bias=(m, n), rhs2=(n, k))
    text.product("first", "matmul", "lhs rhs", (m, n)).new("sum", "add", "first bias")
    return text.product("second", "matmul", "sum rhs2", (m, k)).text("second")


def _of_relu() -> list[str]:
    return [
        w.match("%relu", "linalg.max"),
        w.producer("%sum", "%relu", 0),
        w.producer("%product", "%sum", 0),
        w.producer("%init", "%product", 2),
        w.producer("%zeros", "%relu", 1),
    ]


def _fused_into(loop: str) -> list[str]:
    return [
        w.fuse("%sum_t, %l1", "%sum", loop),
        w.fuse("%product_t, %l2", "%product", "%l1"),
        w.fuse("%init_t, %l3", "%init", "%l2"),
        w.fuse("%zeros_t, %l4", "%zeros", "%l3"),
    ]


def layer_by_for(sizes: str, steps_of_k: str) -> str:
    """Tile the ReLU by for, fuse all that feeds it, vectorize."""
    return w.schedule(
        *_of_relu(),
        w.tile("%relu_t, %loops:2", "%relu", sizes),
        *_fused_into("%loops#1"),
        w.tile("%step, %reduction", "%product_t", steps_of_k),
        w.vectorize("%step", _CONTRACTION),
        w.merge("%others", "%init_t, %zeros_t, %sum_t, %relu_t"),
        w.vectorize("%others"),
    )


def layer_by_forall(sizes: str) -> str:
    """Tile the ReLU by forall, fuse all that feeds it, clean up."""
    return w.schedule(
        *_of_relu(),
        w.tile_forall("%relu_t, %forall", "%relu", sizes),
        *_fused_into("%forall"),
        w.match("%f", "func.func"),
        w.patterns("%f"),
        w.cse("%f"),
    )


def layer_two_levels(outer: str, inner: str) -> str:
    """Tile by forall and again by for, the producers following twice."""
    return w.schedule(
        *_of_relu(),
        w.tile_forall("%relu_t, %forall", "%relu", outer),
        *_fused_into("%forall"),
        w.tile("%relu_u, %inner:2", "%relu_t", inner),
        w.fuse("%sum_u, %i1", "%sum_t", "%inner#1"),
        w.fuse("%zeros_u, %i2", "%zeros_t", "%i1"),
        w.vectorize("%relu_u"),
        w.vectorize("%sum_u"),
        w.vectorize("%zeros_u"),
        w.vectorize("%product_t", _CONTRACTION),
        w.vectorize("%init_t"),
    )


def layer_tile_and_fuse(sizes: str) -> str:
    """Tile the ReLU with its producers in one step, then vectorize what the function holds."""
    return w.schedule(
        w.match("%relu", "linalg.max"),
        w.tile_and_fuse("%relu_t, %loops:2", "%relu", sizes),
        w.match("%product", "linalg.matmul", "%loops#1"),
        w.tile("%step, %reduction", "%product", "[0, 0, 4]"),
        w.match("%f", "func.func"),
        w.vectorize_all("%v", "%f"),
        w.patterns("%v"),
    )


def layer_by_split(sizes: str) -> str:
    """Tell the two fills apart by splitting their handle."""
    return w.schedule(
        w.match("%fills", "linalg.fill"),
        w.split("%init, %zeros", "%fills"),
        w.match("%relu", "linalg.max"),
        w.match("%sum", "linalg.add"),
        w.match("%product", "linalg.matmul"),
        w.tile_forall("%relu_t, %forall", "%relu", sizes),
        *_fused_into("%forall"),
        w.vectorize("%product_t", _CONTRACTION),
        w.vectorize("%sum_t"),
        w.vectorize("%init_t"),
        w.vectorize("%zeros_t"),
        w.vectorize("%relu_t"),
    )


def layer_generic(sizes: str) -> str:
    """Turn named ops into generic ones, fuse what works by elements, tile the one that is left."""
    return w.schedule(
        w.match("%named", "LinalgOp"),
        w.generalize("%generics", "%named"),
        w.match("%f", "func.func"),
        w.apply_pass("%fused", "%f", "linalg-fuse-elementwise-ops"),
        w.match("%left", "linalg.generic", "%fused"),
        w.split("%init, %product, %relu", "%left"),
        w.tile_forall("%relu_t, %forall", "%relu", sizes),
        w.fuse("%product_t, %l1", "%product", "%forall"),
        w.fuse("%init_t, %l2", "%init", "%l1"),
        w.tile("%step, %reduction", "%product_t", "[0, 0, 8]"),
    )


def layer_by_include(sizes: str) -> str:
    """Tile in a named sequence that gives tile and loop; a second one fuses, consuming its first argument."""
    more = w.sequence("tile_it", "%op!", w.tile("%t, %l:2", "%op", sizes), gives="%t, %l#1") + w.sequence(
        "fuse_it", "%op!, %loop", w.fuse("%t, %l", "%op", "%loop"), gives="%t, %l"
    )
    return w.schedule(
        *_of_relu(),
        w.include("%relu_t, %l0", "tile_it", "%relu"),
        w.include("%sum_t, %l1", "fuse_it", "%sum, %l0"),
        w.include("%product_t, %l2", "fuse_it", "%product, %l1"),
        w.include("%init_t, %l3", "fuse_it", "%init, %l2"),
        w.include("%zeros_t, %l4", "fuse_it", "%zeros, %l3"),
        w.tile("%step, %reduction", "%product_t", "[0, 0, 4]"),
        w.unroll("%reduction", 2),
        more=more,
    )


def matmul_lowered(sizes: str, factor: int) -> str:
    """Tile, vectorize, hoist out of the reduction, unroll it, lower contractions to FMAs."""
    return w.schedule(
        w.match("%product", "linalg.matmul"),
        w.producer("%init", "%product", 2),
        w.tile_forall("%t, %forall", "%product", sizes),
        w.fuse("%init_t, %l1", "%init", "%forall"),
        w.tile("%step, %reduction", "%t", "[0, 0, 1]"),
        w.vectorize("%step", _CONTRACTION),
        w.vectorize("%init_t"),
        w.match("%f", "func.func"),
        w.patterns("%f", "vector.reduction_to_contract", "vector.transfer_permutation_patterns"),
        f"transform.apply_licm to %reduction : {w.ANY}",
        f"transform.loop.hoist_loop_invariant_subsets %reduction : {w.ANY}",
        w.unroll("%reduction", factor),
        w.patterns("%f", 'vector.lower_contraction lowering_strategy = "outerproduct"'),
        w.patterns("%f", "vector.lower_outerproduct", "canonicalization"),
    )


def matmul_peeled(sizes: str, factor: int) -> str:
    """Tile to sizes that do not divide, peel the loop, unroll its main part."""
    return w.schedule(
        w.match("%product", "linalg.matmul"),
        w.tile("%t, %loops:2", "%product", sizes),
        f'%for = transform.cast %loops#1 : {w.ANY} to !transform.op<"scf.for">',
        f'%main, %rest = transform.loop.peel %for : (!transform.op<"scf.for">) -> {w.types(2)}',
        w.unroll("%main", factor),
        w.match("%f", "func.func"),
        w.cse("%f"),
    )


def matmul_padded(sizes: str) -> str:
    """Tile to sizes that do not divide, pad the tile, vectorize it."""
    return w.schedule(
        w.match("%product", "linalg.matmul"),
        w.tile("%t, %loops:3", "%product", sizes),
        w.pad("%padded, %pads, %back", "%t", sizes),
        w.producer("%right", "%padded", 1),
        f"%packed = transform.structured.hoist_pad %right by 1 loops : ({w.ANY}) -> {w.ANY}",
        w.match("%f", "func.func"),
        w.patterns("%f"),
        w.cse("%f"),
    )


def matmul_bufferized(sizes: str) -> str:
    """Tile, bufferize, find the loops again and unroll the innermost."""
    return w.schedule(
        w.match("%product", "linalg.matmul"),
        w.tile("%t, %loops:3", "%product", sizes),
        w.bufferize("%b"),
        w.match("%f", "func.func", "%b"),
        w.cse("%f"),
        w.patterns("%f"),
        w.match("%again", "linalg.matmul", "%b"),
        w.parent("%inner", "%again", "scf.for"),
        w.unroll("%inner", 2),
    )


def matmul_interchanged(order: str, sizes: str) -> str:
    """Generalize, interchange, tile."""
    return w.schedule(
        w.match("%product", "linalg.matmul"),
        w.generalize("%g", "%product"),
        w.interchange("%i", "%g", order),
        w.tile("%t, %loops:3", "%i", sizes),
        w.unroll("%loops#2", 2),
        w.match("%f", "func.func"),
        w.patterns("%f"),
    )


def matmul_split_reduction(factor: int, sizes: str) -> str:
    """Split the reduction in parts, tile the parts and their sum."""
    split = f"split_reduction %product {{split_factor = {factor}, insert_split_dimension = 0}}"
    return w.schedule(
        w.match("%product", "linalg.matmul"),
        f"%init, %fill, %parts, %sum = transform.structured.{split} : ({w.ANY}) -> {w.types(4)}",
        w.tile_forall("%parts_t, %forall", "%parts", "[1]"),
        w.fuse("%fill_t, %l1", "%fill", "%forall"),
        w.tile("%sum_t, %loop", "%sum", sizes),
    )


def two_products_each(sizes: str) -> str:
    """Tile each of two products in a foreach, the sum alone."""
    return w.schedule(
        w.match("%products", "linalg.matmul"),
        w.foreach(
            "%products",
            w.tile("%t, %l:2", "%each", sizes),
            w.tile("%u, %k", "%t", "[0, 0, 4]"),
            w.unroll("%k", 2),
        ),
        w.match("%sum", "linalg.add"),
        w.tile("%sum_t, %sum_l:2", "%sum", sizes),
        w.vectorize("%sum_t"),
        w.match("%f", "func.func"),
        w.vectorize_all("%v", "%f"),
    )


def two_products_split(sizes: str) -> str:
    """Tile the second product, fuse the sum and the first into its loop."""
    return w.schedule(
        w.match("%products", "linalg.matmul"),
        w.split("%first, %second", "%products"),
        w.producer("%sum", "%second", 0),
        w.producer("%first_init", "%first", 2),
        w.producer("%second_init", "%second", 2),
        w.tile_forall("%t, %forall", "%second", sizes),
        w.fuse("%sum_t, %l1", "%sum", "%forall"),
        w.fuse("%first_t, %l2", "%first", "%l1"),
        w.fuse("%init_t, %l3", "%first_init", "%l2"),
        w.fuse("%init_u, %l4", "%second_init", "%l3"),
        w.tile("%first_u, %k", "%first_t", "[0, 0, 8]"),
    )
