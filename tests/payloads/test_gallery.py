"""The gallery: every generator in odd sizes and every float type computes what its reference does."""

import re

import pytest
from payload_sizes import SIZES

import lhkit
from lhkit import payloads
from lhkit.load.shipped_files import shipped_folder
from lhkit.model.errors import UsageError

# Half a minute of LLVM for a thousand loop nests; one loop with its schedule.
SCHEDULES = {"op_chain": "op_chain_tile_fuse.mlir"}
MIXED = ("matmul_bf16_f32", "matmul_i8_i32")
CELLS = [
    (name, dtype)
    for name in SIZES
    for dtype in ((None,) if name in MIXED else ("bfloat16", "float16", "float32", "float64"))
]


@pytest.mark.parametrize("length", [1, 64, 65])
def test_a_chain_of_any_length_takes_its_schedule(length, worker):
    payload = payloads.op_chain(length)
    kernel = lhkit.compile(payload, SCHEDULES["op_chain"], worker=worker)
    assert lhkit.verify(kernel).ok
    # One op is left, in a loop where there are several tiles.
    ops = re.findall(r"linalg\.\w+ \{", kernel.ir("scheduled"))
    assert len(ops) == 1 and ("scf.for" in kernel.ir("scheduled")) == (length > 64)


@pytest.mark.parametrize(("name", "dtype"), CELLS)
def test_a_generated_payload_is_right(name, dtype):
    options = {} if dtype is None else {"dtype": dtype}
    payload = getattr(payloads, name)(*SIZES[name], **options)
    schedule = lhkit.load_schedule(SCHEDULES[name]) if name in SCHEDULES else None
    verdict = lhkit.verify(lhkit.compile(payload, schedule, opt_level=1))
    assert verdict.ok and verdict.against == "NumPy", verdict


def test_the_table_has_every_generator_and_every_shipped_file():
    shipped = {p.stem for p in shipped_folder("data").glob("*.mlir")}
    assert set(SIZES) == set(payloads.__all__) == shipped


@pytest.mark.parametrize("name", sorted(SIZES))
def test_shipped_files_are_what_the_generators_write(name):
    generated = getattr(payloads, name)()
    assert generated.text == (shipped_folder("data") / f"{name}.mlir").read_text()
    assert generated.source.startswith(f"<{name} ")


def test_generators_take_sizes_and_types():
    payload = payloads.matmul(3, 5, 7, "float64")
    assert [t.text for t in payload.function().arguments] == ["tensor<3x7xf64>", "tensor<7x5xf64>"]
    with pytest.raises(UsageError, match="'int3'"):
        payloads.matmul(dtype="int3")
    with pytest.raises(UsageError, match="extent of 0"):
        payloads.row_sum(0)
    with pytest.raises(UsageError, match="extent of -1"):
        payloads.matmul_i8_i32(k=-1)
