"""How long a store of 100,000 lines takes to open; run by hand: ``make heavy``."""

import time

import pytest

from lhkit.sweeps.record_store import Store
from lhkit.sweeps.variant_record import record_to_line
from tests.sweep_parts import make_record

pytestmark = pytest.mark.heavy
LINES = 100_000


def test_a_store_of_a_hundred_thousand_lines_opens_within_two_seconds(tmp_path):
    """Beside reading the file alone; all records decoded, as a resumed sweep needs them, is shown too."""
    path = tmp_path / "s.jsonl"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(record_to_line(make_record(number)) + "\n" for number in range(LINES))
    started = time.perf_counter()
    content = path.read_bytes()
    read = time.perf_counter()
    with Store(path) as store:
        opened = time.perf_counter()
        records = store.records()
        decoded = time.perf_counter()
    assert len(records) == LINES and records[-1] == make_record(LINES - 1)
    read_s, open_s, decode_s = read - started, opened - read, decoded - opened
    print(
        f"\n{LINES:,} lines, {len(content) >> 20} MiB: opened in {open_s:.2f} s, {open_s / read_s:.1f} times what"
        f" reading the file takes; every record decoded: {decode_s / open_s:.1f} times as long as opening"
    )
    assert open_s < 2
