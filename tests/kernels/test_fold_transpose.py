"""Folding a transpose into a pack: the same numbers, only where it was asked for, whatever ran before."""

import itertools

import numpy as np
import pytest

import lhkit
from lhkit.load.shipped_files import shipped_folder

DATA, SCHEDULES = shipped_folder("data"), shipped_folder("schedules")
ANY = "!transform.any_op"
ENTRIES = {"without_fold": "ok", "always_fold": "failed", "__transform_main": "ok"}


def fold(options=""):
    return f"""module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: {ANY} {{transform.readonly}}) {{
    %folded = "lhkit.fold_transpose_into_pack"(%root) {{{options}}} : ({ANY}) -> {ANY}
    transform.yield
  }}
}}"""


def transposed_and_packed(transpose, pack, *, uses=""):
    return f"""func.func @f(%x: tensor<5x6x7xf32>) -> tensor<{pack[1]}xf32> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{transpose[1]}xf32>
  %t = {transpose[0]}
  %d = tensor.empty() : tensor<{pack[1]}xf32>
  %p = linalg.pack %t padding_value(%zero : f32) {pack[0]} into %d : tensor<{transpose[1]}xf32> -> tensor<{pack[1]}xf32>
{uses}  return %p : tensor<{pack[1]}xf32>
}}"""


def named(permutation):
    return f"linalg.transpose ins(%x : tensor<5x6x7xf32>) outs(%e : tensor<{extents(permutation)}xf32>) permutation = {list(permutation)}"


def generic(permutation):
    loops = ["d0", "d1", "d2"]
    maps = [loops, [loops[d] for d in permutation]]
    spelled = ", ".join(f"affine_map<({', '.join(loops)}) -> ({', '.join(m)})>" for m in maps)
    out = f"tensor<{extents(permutation)}xf32>"
    return (
        f'linalg.generic {{indexing_maps = [{spelled}], iterator_types = ["parallel", "parallel", "parallel"]}}'
        f" ins(%x : tensor<5x6x7xf32>) outs(%e : {out}) {{\n  ^bb0(%in: f32, %out: f32):\n    linalg.yield %in : f32\n  }} -> {out}"
    )


def extents(permutation):
    return "x".join(str((5, 6, 7)[d]) for d in permutation)


def packing(permutation, positions, tiles, outer):
    shape = [(5, 6, 7)[d] for d in permutation]
    for position, tile in zip(positions, tiles, strict=True):
        shape[position] = -(-shape[position] // tile)
    order = f"outer_dims_perm = {list(outer)} " if outer else ""
    shape = [shape[d] for d in outer] if outer else shape
    text = f"{order}inner_dims_pos = {list(positions)} inner_tiles = {list(tiles)}"
    return text, "x".join(map(str, [*shape, *tiles]))


def packs_of(trace):
    return [line.strip() for line in trace.last_snapshot_text().splitlines() if "linalg.pack" in line]


CASES = list(zip(itertools.permutations(range(3)), itertools.cycle([named, generic]), strict=False))


@pytest.mark.parametrize(("permutation", "spell"), CASES, ids=lambda c: getattr(c, "__name__", str(c)))
@pytest.mark.parametrize("outer", [(), (2, 0, 1)], ids=["in order", "permuted"])
def test_the_numbers_stay(permutation, spell, outer, worker):
    text = transposed_and_packed(
        (spell(permutation), extents(permutation)), packing(permutation, (2, 0), (4, 2), outer)
    )
    payload = lhkit.load_payload(text, worker=worker)
    schedule = lhkit.load_schedule(fold(), worker=worker)
    x = np.random.default_rng(0).standard_normal((5, 6, 7)).astype(np.float32)
    trace = lhkit.trace(payload, schedule, worker=worker)
    assert "%x" in packs_of(trace)[0] or "%arg0" in packs_of(trace)[0]
    assert "linalg.transpose" not in trace.last_snapshot_text()
    assert "linalg.generic" not in trace.last_snapshot_text()
    kernels = [lhkit.compile(payload, s, opt_level=1, worker=worker) for s in (None, schedule)]
    np.testing.assert_array_equal(kernels[0](x), kernels[1](x))


def test_a_second_fold_changes_nothing_and_dynamic_extents_stay(worker):
    text = """func.func @f(%x: tensor<?x?xf32>, %e: tensor<?x?xf32>, %d: tensor<?x?x8x?xf32>, %tile: index) -> tensor<?x?x8x?xf32> {
  %zero = arith.constant 0.0 : f32
  %t = linalg.transpose ins(%x : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) permutation = [1, 0]
  %p = linalg.pack %t padding_value(%zero : f32) inner_dims_pos = [0, 1] inner_tiles = [8, %tile] into %d : tensor<?x?xf32> -> tensor<?x?x8x?xf32>
  return %p : tensor<?x?x8x?xf32>
}"""
    twice = fold().replace(
        "    transform.yield", fold().splitlines()[2].replace("%folded", "%again") + "\n    transform.yield"
    )
    trace = lhkit.trace(
        lhkit.load_payload(text, worker=worker), lhkit.load_schedule(twice, worker=worker), worker=worker
    )
    assert trace.outcome.status == "ok"
    assert "outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [8, %arg3]" in packs_of(trace)[0]
    first, second = trace.step_records
    assert first.payload_delta.created and not second.payload_delta.created
    assert [len(s.changes[-1].payload) for s in (first, second)] == [1, 0]


SECOND_PACK = """  %d2 = tensor.empty() : tensor<7x6x5x1xf32>
  %p2 = linalg.pack %t inner_dims_pos = [2] inner_tiles = [1] into %d2 : tensor<7x6x5xf32> -> tensor<7x6x5x1xf32>
"""
OTHER_USE = (
    "  %other = tensor.extract_slice %t[0, 0, 0] [1, 1, 1] [1, 1, 1] : tensor<7x6x5xf32> to tensor<1x1x1xf32>\n"
)


@pytest.mark.parametrize(
    ("uses", "folds"),
    [
        ("", {"": 1, "single_use": 1, "goes_away": 1}),
        (SECOND_PACK, {"": 2, "single_use": 0, "goes_away": 2}),
        (OTHER_USE, {"": 1, "single_use": 0, "goes_away": 0}),
    ],
    ids=["one use", "two packs", "another use"],
)
def test_the_conditions_gate(uses, folds, worker):
    permutation = (2, 1, 0)
    text = transposed_and_packed(
        (named(permutation), extents(permutation)), packing(permutation, (2, 0), (4, 2), ()), uses=uses
    )
    payload = lhkit.load_payload(text, worker=worker)
    for options, expected in folds.items():
        trace = lhkit.trace(payload, lhkit.load_schedule(fold(options), worker=worker), worker=worker)
        (step,) = trace.step_records
        assert len(step.changes[-1].payload) == expected
        stays = expected == 0 or uses == OTHER_USE
        assert ("linalg.transpose" in trace.last_snapshot_text()) is stays


def test_what_is_no_transpose_is_left_alone(worker):
    permutation = (0, 1, 2)
    text = transposed_and_packed(
        (generic(permutation), extents(permutation)), packing(permutation, (2, 0), (4, 2), ())
    )
    doubled = text.replace("    linalg.yield %in", "    %s = arith.addf %in, %in : f32\n    linalg.yield %s")
    summed = text.replace(
        "(d0, d1, d2) -> (d0, d1, d2)>, affine_map", "(d0, d1, d2) -> (d0, d1, 6 - d2)>, affine_map", 1
    )
    for other in (doubled, summed):
        payload = lhkit.load_payload(other, worker=worker)
        trace = lhkit.trace(payload, lhkit.load_schedule(fold(), worker=worker), worker=worker)
        assert trace.outcome.status == "ok" and "linalg.pack %1" in trace.last_snapshot_text().replace(
            "%t", "%1"
        )
        assert not trace.step_records[0].payload_delta.created


def test_both_conditions_are_one_too_many(worker):
    payload = lhkit.load_payload(DATA / "transpose_pack.mlir", worker=worker)
    trace = lhkit.trace(
        payload, lhkit.load_schedule(fold("single_use, goes_away"), worker=worker), worker=worker
    )
    assert trace.outcome.kind == "silenceable" and "leave goes_away out" in trace.outcome.message


def outcomes(worker, order):
    payload = lhkit.load_payload(DATA / "transpose_pack.mlir", worker=worker)
    found = {}
    for entry in order:
        schedule = lhkit.load_schedule(
            SCHEDULES / "packing" / "transpose_pack.mlir", entry=entry, worker=worker
        )
        trace = lhkit.trace(payload, schedule, worker=worker)
        found[entry] = (trace.outcome.status, trace.last_snapshot_text())
    return found


def test_without_it_fusion_works_with_it_it_fails_gated_it_works(worker):
    found = outcomes(worker, ENTRIES)
    assert {entry: status for entry, (status, _) in found.items()} == ENTRIES
    assert "-> (tensor<32x512x8x1xf32>, tensor<256x512xf32>)" in found["without_fold"][1]
    assert found["without_fold"][1] == found["__transform_main"][1]


def test_the_fold_does_not_hang_on_what_ran_before(worker):
    orders = [outcomes(worker, order) for order in itertools.permutations(ENTRIES)]
    assert all(found == orders[0] for found in orders)


@pytest.mark.parametrize("entry", ["without_fold", "__transform_main"])
def test_the_schedules_that_apply_are_right(entry, worker):
    payload = lhkit.payloads.transpose_pack(24, 40, 72)
    schedule = lhkit.load_schedule(SCHEDULES / "packing" / "transpose_pack.mlir", entry=entry, worker=worker)
    verdict = lhkit.verify(lhkit.compile(payload, schedule, opt_level=1, worker=worker))
    assert verdict.ok and verdict.against == "NumPy"


def test_the_second_form_of_the_weights_costs_what_the_thread_says(worker):
    payload = lhkit.load_payload(DATA / "transpose_pack.mlir", worker=worker)
    weights_bytes = 4 * 512 * 256
    beyond = {}
    for entry in (None, "without_fold", "fold_and_keep", "__transform_main"):
        path = SCHEDULES / "packing" / "transpose_pack.mlir"
        schedule = lhkit.load_schedule(path, entry=entry, worker=worker) if entry else None
        footprint = lhkit.compile(payload, schedule, opt_level=1, worker=worker).footprint()
        assert footprint.is_exact and footprint.agrees
        beyond[entry] = footprint.counted.peak_bytes / weights_bytes
        if entry is not None:
            # The packed weights: as large as the plain ones, and there while these are.
            assert footprint.predicted.sites[0].size_bytes.low == weights_bytes
    assert beyond == {None: 0, "without_fold": 3, "fold_and_keep": 3, "__transform_main": 3}
