"""``lhkit run`` of payloads with dynamic extents."""

import numpy as np
import pytest

TEXT = """func.func @f(%a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>, %m: memref<?xi32>) -> tensor<?x?xbf16> {
  %r = arith.addf %a, %b : tensor<?x?xbf16>
  return %r : tensor<?x?xbf16>
}
"""


@pytest.fixture
def payload(tmp_path):
    path = tmp_path / "add.mlir"
    path.write_text(TEXT)
    return path


def test_size_is_the_extent_of_what_no_file_gives(lhkit_command, payload, tmp_path):
    out = tmp_path / "out.npz"
    done = lhkit_command("run", payload, "--size", 5, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "result0:  5x5xbfloat16" in done.stdout
    saved = np.load(out)
    assert saved["result0"].shape == (5, 5)
    assert saved["arg2"].shape == (5,)
    assert list(saved["dtypes"]) == ["result0=bfloat16", "arg2=int32"]


def test_extents_that_disagree_are_bad_input_with_a_place(lhkit_command, payload, tmp_path):
    np.save(tmp_path / "a.npy", np.ones((3, 4), np.float32))
    done = lhkit_command("run", payload, "--arg", tmp_path / "a.npy")
    assert done.returncode == 2
    assert "(3x4, 64x64, 64) do not fit one another" in done.stderr
    assert "add.mlir:2:8: error:" in done.stderr
    assert "^" in done.stderr


NARROW = """func.func @f(%a: tensor<2xi4>, %b: memref<2xf8E5M2>) -> tensor<2xi4> {
  %n = arith.constant 7 : i64
  vector.print %n : i64
  %e = tensor.empty() : tensor<2xi4>
  %r = linalg.add ins(%a, %a : tensor<2xi4>, tensor<2xi4>) outs(%e : tensor<2xi4>) -> tensor<2xi4>
  return %r : tensor<2xi4>
}
"""


def test_narrow_types_travel_as_float32_and_prints_are_shown(lhkit_command, tmp_path):
    (tmp_path / "f.mlir").write_text(NARROW)
    np.save(tmp_path / "a.npy", np.array([3, -4], np.float32))
    np.save(tmp_path / "b.npy", np.array([0.5, -2], np.float32))
    done = lhkit_command(
        "run", tmp_path / "f.mlir", "--out", tmp_path / "o.npz", "--arg", tmp_path / "a.npy",
        "--arg", tmp_path / "b.npy",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == ["7"]
    assert "result0:  2xint4" in done.stdout
    saved = np.load(tmp_path / "o.npz")
    np.testing.assert_array_equal(saved["result0"], [6, -8])
    np.testing.assert_array_equal(saved["arg1"], [0.5, -2])
    assert list(saved["dtypes"]) == ["result0=int4", "arg1=float8_e5m2"]
