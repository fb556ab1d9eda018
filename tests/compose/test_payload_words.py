"""Words about ops of payloads: the ops exist, and the NumPy readings compute what they say."""

import numpy as np
import pytest

from lhkit.compiler.ir.bindings import new_context
from lhkit.model.errors import UsageError
from lhkit.model.op_catalogue import payload_op
from lhkit.ops import PAYLOAD_OPS

RNG = np.random.default_rng(0)
M, N, K, B = 6, 8, 4, 3
LEFT, RIGHT, START = RNG.random((M, K)), RNG.random((K, N)), RNG.random((M, N))


def tiles(matrix, m, n):
    rows, columns = matrix.shape
    return np.array([[matrix[i : i + m, j : j + n] for j in range(0, columns, n)] for i in range(0, rows, m)])


def run(name, **values):
    """Return C as the reading of an op computes it."""
    scope = {"np": np, **{k: v.copy() if isinstance(v, np.ndarray) else v for k, v in values.items()}}
    exec(payload_op(name).reading, scope)
    return scope["C"]


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("linalg.matmul", {"A": LEFT, "B": RIGHT, "C": START}, START + LEFT.dot(RIGHT)),
        ("linalg.matvec", {"A": LEFT, "B": RIGHT[:, 0], "C": START[:, 0]}, START[:, 0] + LEFT.dot(RIGHT[:, 0])),
        ("linalg.vecmat", {"A": LEFT[0], "B": RIGHT, "C": START[0]}, START[0] + LEFT[0].dot(RIGHT)),
        (
            "linalg.batch_matvec",
            {"A": np.stack([LEFT] * B), "B": np.stack([RIGHT[:, 0]] * B), "C": np.zeros((B, M))},
            np.stack([LEFT.dot(RIGHT[:, 0])] * B),
        ),
        (
            "linalg.mmt4d",
            {"A": tiles(LEFT, 2, 2), "B": tiles(RIGHT.T.copy(), 4, 2), "C": np.zeros((M // 2, N // 4, 2, 4))},
            tiles(LEFT.dot(RIGHT), 2, 4),
        ),
        ("linalg.pack", {"A": START, "M": M, "N": N, "m": 2, "n": 4}, tiles(START, 2, 4)),
        ("linalg.unpack", {"A": tiles(START, 2, 4), "M": M, "N": N}, START),
        ("linalg.softmax", {"A": START, "axis": 1}, np.exp(START) / np.exp(START).sum(1, keepdims=True)),
        ("linalg.reduce", {"A": START, "C": np.zeros(M), "axis": 1}, START @ np.ones(N)),
        ("linalg.broadcast", {"A": START[:, 0], "C": START, "axes": (1,)}, np.stack([START[:, 0]] * N, axis=1)),
    ],
)  # fmt: skip
def test_numpy_readings_compute_what_the_op_does(name, values, expected):
    np.testing.assert_allclose(run(name, **values), expected)


def test_every_op_is_registered_and_said_in_a_sentence():
    with new_context() as context:
        assert [n for n in PAYLOAD_OPS if not context.is_registered_operation(n)] == []
    assert len(PAYLOAD_OPS) > 80
    assert all(op.sentence.endswith(".") for op in PAYLOAD_OPS.values())
    assert all(op.reading for name, op in PAYLOAD_OPS.items() if name.startswith("linalg."))


def test_an_unknown_op_is_answered_with_its_dialect():
    with pytest.raises(UsageError, match=r"linalg\.matmul"):
        payload_op("linalg.no_such_op")
