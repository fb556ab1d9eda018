"""3,000 requests of every kind, good and bad: memory, descriptors, threads and children stay flat."""

import gc
import random

import numpy as np
import psutil
import pytest

import lhkit
from lhkit.load.random_inputs import generate_arguments
from lhkit.model.errors import LhkitError
from lhkit.worker.client import shared_worker
from lhkit.worker.limits import Limits
from lhkit.worker.requests import Ping

pytestmark = pytest.mark.heavy
MIB = 1 << 20
REQUESTS = 3000
LIMITS = Limits(20)
DEAD = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %m = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %t, %l = transform.structured.tile_using_for %m tile_sizes [4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %u, %k = transform.structured.tile_using_for %m tile_sizes [4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
"""


def test_3000_mixed_requests_stay_flat(tmp_path):
    draw = random.Random(0)
    payload = lhkit.load_payload("memory/matmul.mlir")
    schedule = lhkit.load_schedule("matmul_tile.mlir")
    one = np.ones((96, 96), np.float32)
    arguments = [np.ones(a.shape, a.dtype) for a in _arrays(payload)]
    kernel = lhkit.compile(payload, schedule)

    def opened():
        lhkit.explore(payload, schedule).close()

    requests = {
        "load": (lambda: lhkit.load_payload("fc_relu.mlir"), 8),
        "does not parse": (lambda: lhkit.load_payload("func.func @f( {"), 8),
        "old spelling": (lambda: lhkit.load_schedule("transform.sequence failures(propagate) {\n}"), 4),
        "check": (lambda: lhkit.check(lhkit.load_schedule("fc_relu_tile_fuse.mlir")), 4),
        "dead handle": (lambda: lhkit.trace(payload, lhkit.load_schedule(DEAD), limits=LIMITS), 8),
        "trace": (lambda: lhkit.trace("fc_relu.mlir", "fc_relu_handles.mlir"), 4),
        "compile": (lambda: lhkit.compile(payload, schedule), 4),
        "call": (lambda: kernel(*arguments), 30),
        "wrong arguments": (lambda: kernel(one), 8),
        "verify": (lambda: lhkit.verify(kernel), 2),
        "explore": (opened, 1),
        "kill": (lambda: shared_worker().kill(), 0.3),
    }
    names = list(requests)
    weights = [requests[name][1] for name in names]
    own, seen, failures = psutil.Process(), [], 0
    for number in range(REQUESTS):
        name = draw.choices(names, weights)[0]
        try:
            requests[name][0]()
        except LhkitError:
            failures += 1
        if number % 250 == 249:
            gc.collect()
            shared_worker().ask(Ping())
            child = psutil.Process(shared_worker().pid)
            seen.append((own.memory_info().rss / MIB, own.num_fds(), own.num_threads(), len(own.children()),
                         child.memory_info().rss / MIB, child.num_fds()))  # fmt: skip
    print("\ncaller MiB, descriptors, threads, children, worker MiB, its descriptors; after each 250 requests")
    for row in seen:
        print("  ".join(f"{value:8.1f}" for value in row))
    print(f"{failures} of {REQUESTS} failed, each with a typed error")
    settled, last = seen[len(seen) // 3], seen[-1]
    assert last[0] - settled[0] < 40, "the caller's memory grows"
    assert last[1] - settled[1] <= 4 and last[2] - settled[2] <= 2 and last[3] <= settled[3]
    assert max(row[4] for row in seen) < 1024 and max(row[5] for row in seen) < 64


def _arrays(payload):
    return [np.asarray(a) for a in generate_arguments(payload.function())]
