"""Payloads of one random ``linalg.generic`` each: maps, iterator types, extents, element types, static or dynamic."""

import random
from dataclasses import dataclass

FLOATS = ("f32", "f64", "bf16", "f16")
INTEGERS = ("i32", "i64", "i8")
MOST_ITERATIONS = 60_000


@dataclass(frozen=True)
class GeneratedGeneric:
    """The text of a payload, and the shapes of its arguments."""

    text: str
    shapes: tuple[tuple[int, ...], ...]


def generate_generic(seed: int) -> GeneratedGeneric:
    """Return a payload of one generic that no other seed shares.

    Its inputs are read through permutations, broadcasts, constants, strides and windows; its results, one or two,
    reduce some loops or none.
    """
    rng = random.Random(seed)
    rank = rng.randint(1, 5)
    extents = _extents(rng, rank)
    kinds = ["reduction" if rng.random() < 0.35 else "parallel" for _ in range(rank)]
    kept = [i for i in range(rank) if kinds[i] == "parallel"]
    if rng.random() < 0.4:
        rng.shuffle(kept)
    element = rng.choice([*FLOATS, "f32", "f32", *INTEGERS])
    source = "i8" if element == "i32" and rng.random() < 0.5 else element
    source = rng.choice(["bf16", "f16"]) if element == "f32" and rng.random() < 0.2 else source
    maps = [_input_map(rng, rank, whole=i == 0) for i in range(rng.randint(1, 3))]
    # The extent of each loop follows from an operand that is read or written without stride or window.
    plain = {((i, 1),) for i in kept}.union(*maps)
    maps[0] = [e if all(((i, 1),) in plain for i, _ in e) else ((e[0][0], 1),) for e in maps[0]]
    shapes = tuple(tuple(_extent_of(e, extents) for e in results) for results in maps)
    return GeneratedGeneric(_text(rng, extents, kinds, kept, element, source, maps, shapes), shapes)


def _extents(rng: random.Random, rank: int) -> list[int]:
    extents, left = [], MOST_ITERATIONS
    for _ in range(rank):
        extents.append(max(1, min(rng.randint(1, 70), left)))
        left //= extents[-1]
    rng.shuffle(extents)
    return extents


# An expression of a map is a list of (loop, factor), and a constant is an empty one.
Expression = tuple[tuple[int, int], ...]


def _input_map(rng: random.Random, rank: int, *, whole: bool) -> list[Expression]:
    loops = list(range(rank))
    if rng.random() < 0.5:
        rng.shuffle(loops)
    if not whole:
        loops = loops[: rng.randint(0, rank)] if rng.random() < 0.5 else loops[rng.randint(0, rank) :]
    results: list[Expression] = [((i, 1),) for i in loops]
    for i in range(len(results)):
        choice = rng.random()
        if choice < 0.05:
            results[i] = ((loops[i], 2),)
        elif choice < 0.1:
            results[i] = ((loops[i], 1), (rng.randrange(rank), 1))
    if rng.random() < 0.1:
        results.insert(rng.randint(0, len(results)), ())
    return results


def _extent_of(expression: Expression, extents: list[int]) -> int:
    return 1 + sum(factor * (extents[loop] - 1) for loop, factor in expression)


def _expression(expression: Expression) -> str:
    return " + ".join(f"d{i}" if factor == 1 else f"d{i} * {factor}" for i, factor in expression) or "0"


def _text(rng, extents, kinds, kept, element, source, maps, shapes) -> str:
    rank, results = len(extents), rng.choice([1, 1, 1, 2])
    loops = ", ".join(f"d{i}" for i in range(rank))
    # Extents follow from what is read as it is: not through strides and windows alone.
    plain = {}
    for number, expressions in enumerate(maps):
        for position, expression in enumerate(expressions):
            if len(expression) == 1 and expression[0][1] == 1:
                plain.setdefault(expression[0][0], (number, position))
    is_dynamic = rng.random() < 0.35 and len(plain) == rank
    known = [not is_dynamic or rng.random() < 0.3 for _ in range(rank)]

    def type_of(sizes, element):
        return f"tensor<{''.join(f'{s}x' for s in sizes)}{element}>"

    def sizes_of(expressions, shape):
        return [s if all(known[i] for i, _ in e) else "?" for e, s in zip(expressions, shape, strict=True)]

    inputs = [type_of(sizes_of(m, s), source) for m, s in zip(maps, shapes, strict=True)]
    out = type_of([extents[i] if known[i] else "?" for i in kept], element)
    lines = []
    for i in kept:
        if not known[i]:
            number, position = plain[i]
            lines += [f"%at_{i} = arith.constant {position} : index"]
            lines += [f"%size_{i} = tensor.dim %arg{number}, %at_{i} : {inputs[number]}"]
    sizes = ", ".join(f"%size_{i}" for i in kept if not known[i])
    is_float = element in FLOATS
    zero = "0.0" if is_float else "0"
    lines += [f"%init = arith.constant {zero} : {element}", f"%empty = tensor.empty({sizes}) : {out}"]
    lines += [f"%filled = linalg.fill ins(%init : {element}) outs(%empty : {out}) -> {out}"]
    out_map = f"affine_map<({loops}) -> ({', '.join(f'd{i}' for i in kept)})>"
    in_maps = [f"affine_map<({loops}) -> ({', '.join(map(_expression, m))})>" for m in maps]
    iterators = ", ".join(f'"{kind}"' for kind in kinds)
    names = ", ".join(f"%arg{i}" for i in range(len(maps)))
    outs = ", ".join(["%filled"] * results)
    types = ", ".join([out] * results)
    body, values = _body(rng, kinds, element, source, len(maps), results)
    arguments = ", ".join(
        [f"%in{i}: {source}" for i in range(len(maps))] + [f"%out{i}: {element}" for i in range(results)]
    )
    lines += [
        f"%r:{results} = linalg.generic {{indexing_maps = [{', '.join(in_maps + [out_map] * results)}],"
        f" iterator_types = [{iterators}]}} ins({names} : {', '.join(inputs)}) outs({outs} : {types}) {{",
        f"^bb0({arguments}):",
        *body,
        f"linalg.yield {', '.join(values)} : {', '.join([element] * results)}",
        f"}} -> ({types})",
        f"return {', '.join(f'%r#{i}' for i in range(results))} : {types}",
    ]
    parameters = ", ".join(f"%arg{i}: {t}" for i, t in enumerate(inputs))
    return f"func.func @generated({parameters}) -> ({types}) {{\n" + "\n".join(lines) + "\n}\n"


def _body(rng, kinds, element, source, inputs, results):
    """Return the lines of the body, and what it yields."""
    is_float = element in FLOATS
    binary = (
        ["arith.addf", "arith.mulf", "arith.subf", "arith.maximumf"]
        if is_float
        else ["arith.addi", "arith.muli", "arith.subi", "arith.maxsi"]
    )
    lines, values = [], []
    for i in range(inputs):
        value = f"%in{i}"
        if source != element:
            cast = "arith.extf" if is_float else "arith.extsi"
            lines += [f"%wide{i} = {cast} {value} : {source} to {element}"]
            value = f"%wide{i}"
        values.append(value)
    total = values[0]
    for i, value in enumerate(values[1:]):
        lines += [f"%t{i} = {rng.choice(binary)} {total}, {value} : {element}"]
        total = f"%t{i}"
    if rng.random() < 0.25:
        compare = "arith.cmpf ogt" if is_float else "arith.cmpi sgt"
        zero = "0.0" if is_float else "0"
        lines += [f"%none = arith.constant {zero} : {element}"]
        lines += [f"%is = {compare}, {values[-1]}, %none : {element}"]
        lines += [f"%where = arith.select %is, {total}, %none : {element}"]
        total = "%where"
    if rng.random() < 0.15:
        lines += [
            f"%i = linalg.index {rng.randrange(len(kinds))} : index",
            "%j = arith.index_cast %i : index to i32",
        ]
        # Positions below 16 are exact in every type.
        lines += ["%low = arith.constant 15 : i32", "%k = arith.andi %j, %low : i32"]
        if is_float:
            lines += [f"%p = arith.sitofp %k : i32 to {element}"]
        elif element == "i32":
            lines += ["%p = arith.addi %k, %low : i32"]
        else:
            lines += [f"%p = arith.{'extsi' if element == 'i64' else 'trunci'} %k : i32 to {element}"]
        lines += [f"%placed = {rng.choice(binary[:3])} {total}, %p : {element}"]
        total = "%placed"
    if "reduction" not in kinds:
        return lines, [total] * results
    combine = rng.sample([binary[0], binary[3]], results)
    yielded = []
    for i, op in enumerate(combine):
        order = (total, f"%out{i}") if rng.random() < 0.5 else (f"%out{i}", total)
        lines += [f"%c{i} = {op} {order[0]}, {order[1]} : {element}"]
        yielded.append(f"%c{i}")
    return lines, yielded


# Element types of operands and results of products, and how an operand is extended.
PRODUCT_TYPES = (
    ("f32", "f32", ""),
    ("f64", "f64", ""),
    ("i32", "i32", ""),
    ("bf16", "bf16", ""),
    ("f16", "f16", ""),
    ("bf16", "f32", "arith.extf"),
    ("f16", "f32", "arith.extf"),
    ("i8", "i32", "arith.extsi"),
)


def generate_product(seed: int) -> GeneratedGeneric:
    """Return a payload of one contraction of two operands, as ``np.einsum`` would have it.

    It has up to five loops in any order: shared ones, rows, columns and steps, each perhaps several or none.
    """
    rng = random.Random(seed)
    rank = rng.randint(1, 5)
    extents = _extents(rng, rank)
    # Which loops the left operand, the right operand and the result have.
    uses = [rng.choice(["lr", "lr", "lo", "ro", "lro"]) for _ in range(rank)]
    uses[rng.randrange(rank)] = "lr"
    operands = [[i for i in range(rank) if name in uses[i]] for name in "lro"]
    for loops in operands:
        if rng.random() < 0.5:
            rng.shuffle(loops)
    source, element, extend = rng.choice(PRODUCT_TYPES)
    lhs, rhs, out = (
        f"tensor<{''.join(f'{extents[i]}x' for i in loops)}{type_}>"
        for loops, type_ in zip(operands, (source, source, element), strict=True)
    )
    names = ", ".join(f"d{i}" for i in range(rank))
    maps = ", ".join(f"affine_map<({names}) -> ({', '.join(f'd{i}' for i in loops)})>" for loops in operands)
    iterators = ", ".join('"reduction"' if use == "lr" else '"parallel"' for use in uses)
    kind, zero = ("f", "0.0") if element in FLOATS else ("i", "0")
    wide = [f"%{n}_wide = {extend} %{n} : {source} to {element}" for n in "xy"] if extend else []
    x, y = ("%x_wide", "%y_wide") if extend else ("%x", "%y")
    lines = [
        f"%zero = arith.constant {zero} : {element}",
        f"%empty = tensor.empty() : {out}",
        f"%start = linalg.fill ins(%zero : {element}) outs(%empty : {out}) -> {out}",
        f"%r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}}"
        f" ins(%arg0, %arg1 : {lhs}, {rhs}) outs(%start : {out}) {{",
        f"^bb0(%x: {source}, %y: {source}, %sum: {element}):",
        *wide,
        f"%xy = arith.mul{kind} {x}, {y} : {element}",
        f"%next = arith.add{kind} %sum, %xy : {element}",
        f"linalg.yield %next : {element}",
        f"}} -> {out}",
        f"return %r : {out}",
    ]
    text = f"func.func @generated(%arg0: {lhs}, %arg1: {rhs}) -> {out} {{\n" + "\n".join(lines) + "\n}\n"
    return GeneratedGeneric(text, tuple(tuple(extents[i] for i in loops) for loops in operands[:2]))
