"""What weights of hundreds of megabytes cost to load and to convert, run by hand: ``make heavy``.

The memory is the sum of the peaks of client and worker, each in a process that does nothing else; the time of
the conversion is a median, in parts of the time that loading takes.
"""

import json
import subprocess
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.heavy
EXTENT, ROWS = 8192, 2
MIB = 1 << 20
BLOB_BYTES = 2 * 2 * EXTENT * (EXTENT + 1)

MEASURE = """
import json, statistics, sys, time
import numpy as np
from lhkit.worker.requests import Ping
import lhkit
from lhkit.worker.client import shared_worker

def peak_bytes(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))

worker = shared_worker()
worker.ask(Ping())
began = time.perf_counter()
payload = lhkit.load_payload(sys.argv[1])
load_s = time.perf_counter() - began
converts_s = []
for _ in range(5):
    began = time.perf_counter()
    converted = payload.constants_to_arguments()
    converts_s.append(time.perf_counter() - began)
peaks = [peak_bytes("self"), peak_bytes(worker.pid)]
x = np.random.default_rng(1).standard_normal(payload.function().arguments[0].shape).astype(np.float16)
limits = lhkit.Limits(seconds=300)
kernel = lhkit.compile(converted, limits=limits)
results = [kernel(x), kernel(x, *converted.weights().values()), lhkit.compile(payload, limits=limits)(x)]
print(json.dumps({
    "load_s": load_s, "converts_s": converts_s, "peaks": peaks,
    "text": len(converted.text), "names": list(converted.weights()),
    "equal": [bool(np.array_equal(results[0], r)) for r in results],
    "largest": float(abs(results[0].astype(np.float32)).max()),
}))
"""


def layer(number, source, weight):
    """Return the lines of a layer: its weight transposed, a product, a bias."""
    matrix, row = f"tensor<{EXTENT}x{EXTENT}xf16>", f"tensor<{ROWS}x{EXTENT}xf16>"
    return f"""    %t{number} = linalg.transpose ins(%w{weight} : {matrix}) outs(%te : {matrix}) permutation = [1, 0]
    %p{number} = linalg.matmul ins({source}, %t{number} : {row}, {matrix}) outs(%f : {row}) -> {row}
    %c{number} = linalg.broadcast ins(%b{weight} : tensor<{EXTENT}xf16>) outs(%e : {row}) dimensions = [0]
    %s{number} = linalg.add ins(%p{number}, %c{number} : {row}, {row}) outs(%e : {row}) -> {row}
"""


def write_hex(file, array):
    """Write the data of a resource, a piece at a time."""
    file.write('"0x04000000')
    data = array.reshape(-1).view(np.uint8)
    for at in range(0, data.size, MIB):
        file.write(data[at : at + MIB].tobytes().hex().upper())
    file.write('"')


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Two layers as text: half a gigabyte."""
    path = tmp_path_factory.mktemp("weights") / "layers.mlir"
    matrix, row = f"tensor<{EXTENT}x{EXTENT}xf16>", f"tensor<{ROWS}x{EXTENT}xf16>"
    generator = np.random.default_rng(0)
    with path.open("w", encoding="ascii") as file:
        file.write(f"""module {{
  func.func @main(%x: {row}) -> {row} {{
    %z = arith.constant 0.0 : f16
    %w1 = arith.constant dense_resource<w1> : {matrix}
    %b1 = arith.constant dense_resource<b1> : tensor<{EXTENT}xf16>
    %w0 = arith.constant dense_resource<w0> : {matrix}
    %b0 = arith.constant dense_resource<b0> : tensor<{EXTENT}xf16>
    %te = tensor.empty() : {matrix}
    %e = tensor.empty() : {row}
    %f = linalg.fill ins(%z : f16) outs(%e : {row}) -> {row}
{layer(0, "%x", 0)}{layer(1, "%s0", 1)}    return %s1 : {row}
  }}
}}
{{-# dialect_resources: {{ builtin: {{
""")
        for i, name in enumerate(("w1", "b1", "w0", "b0")):
            file.write(f"{', ' if i else ''}{name}: ")
            shape = (EXTENT, EXTENT) if name[0] == "w" else EXTENT
            drawn = generator.standard_normal(shape, dtype=np.float32) / EXTENT**0.5
            write_hex(file, drawn.astype(np.float16))
        file.write(" } } #-}\n")
    yield path
    path.unlink()


def test_what_loading_and_converting_weights_costs(text):
    ran = subprocess.run(
        [sys.executable, "-c", MEASURE, str(text)], capture_output=True, text=True, timeout=600, check=True
    )
    found = json.loads(ran.stdout)
    client, worker = found["peaks"]
    limit = 3 * BLOB_BYTES + 300 * MIB
    first, *others = found["converts_s"]
    usual = sorted(others)[len(others) // 2]
    print(
        f"\ntext {text.stat().st_size / MIB:.0f} MiB, blobs {BLOB_BYTES / MIB:.0f} MiB; peak of client"
        f" {client / MIB:.0f} MiB, of worker {worker / MIB:.0f} MiB, limit for both {limit / MIB:.0f} MiB;"
        f" loading {found['load_s']:.2f} s, converting {1e3 * first:.0f} ms the first time, then"
        f" {1e3 * usual:.0f} ms, {usual / found['load_s']:.4f} of loading; text then {found['text']} characters"
    )
    assert found["names"] == ["matmul_0_B", "matmul_0_epilogue", "matmul_1_B", "matmul_1_epilogue"]
    assert client + worker < limit
    assert usual < found["load_s"] / 25
    assert found["text"] < 2000
    assert all(found["equal"]) and 0 < found["largest"] < 100
