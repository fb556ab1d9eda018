"""The store: nothing that happens to the process that writes it damages or loses a line."""

import json
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from lhkit.model.errors import UsageError
from lhkit.sweeps import record_store as line_file
from lhkit.sweeps.record_store import Store, merge_stores
from lhkit.sweeps.sweep_files import load_records
from lhkit.sweeps.variant_record import record_from_json, record_to_json, record_to_line
from tests.sweep_parts import make_record

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads(files("lhkit").joinpath("schemas/sweep-1.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
SAME = {"status": "same-as", "same_as": "a" * 64, "time_ns": None, "compile_ns": None}
FAILED = {
    "status": "crashed",
    "message": "died: “why”\n",
    "time_ns": None,
    "ir_sha256": None,
    "max_abs_error": None,
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "s.jsonl"


def fill(path, *numbers, **more):
    with Store(path) as store:
        for number in numbers:
            store.append(make_record(number, **more))
    return path.read_bytes()


@pytest.mark.parametrize("more", [{}, SAME, FAILED, {"hot_loops": {"loops": []}, "gflops": None}])
def test_a_line_fits_its_schema_and_is_read_as_it_was_written(more):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    record = make_record(**more)
    line = record_to_line(record)
    VALIDATOR.validate(json.loads(line))
    assert record_from_json(json.loads(line)) == record and "\n" not in line


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "lhkit.sweep/2"},
        {"status": "good"},
        {"status": "same-as"},
        {"same_as": "a" * 64},
        {"knobs": [1]},
        {"knobs": {"a": [1]}},
        {"time_ns": {"median": 1}},
        {"time_ns": 5},
        {"compile_ns": True},
        {"environment": None},
        {"more": 1},
    ],
)
def test_what_is_no_record_is_refused(change):
    data = {**record_to_json(make_record()), **change}
    assert not VALIDATOR.is_valid(data)
    with pytest.raises(ValueError):
        record_from_json(data)


def test_what_is_appended_is_there_when_opened_again(path):
    content = fill(path, 1, 2)
    assert content.count(b"\n") == 2
    with Store(path) as store:
        assert len(store) == 2 and store.get("0" * 64) is None
        assert store.records() == [make_record(1), make_record(2)]
        store.append(make_record(2, status="stopped-early"))
        assert len(store) == 2
    assert Store(path, read_only=True)[make_record(2).key].status == "stopped-early"  # the last line counts
    assert path.read_bytes().startswith(content)


def test_a_line_that_was_cut_at_any_byte_is_mended_and_no_other_is_touched(path):
    whole = fill(path, 1, 2, 3)
    before = whole[: whole.rindex(b"\n", 0, -1) + 1]
    for cut in range(len(before), len(whole) + 1):
        path.write_bytes(whole[:cut])
        read = [r.values["a"] for r in Store(path, read_only=True).records()]
        assert path.read_bytes() == whole[:cut]  # readers change nothing
        with Store(path) as store:
            is_complete = cut >= len(whole) - 1
            assert [r.values["a"] for r in store.records()] == read == ([1, 2, 3] if is_complete else [1, 2])
            store.append(make_record(4))
        assert (
            path.read_bytes()
            == (whole if is_complete else before) + f"{record_to_line(make_record(4))}\n".encode()
        )


def test_a_block_of_zeros_at_the_end_is_cut_off(path):
    content = fill(path, 1)
    path.write_bytes(content + b"\0" * 4096)
    with Store(path) as store:
        assert len(store) == 1
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "content", [b"func.func @f() {\n}\n", b"func.func", b'{"schema": "lhkit.bench/1"}', b"[\n"]
)
def test_another_file_is_refused_and_left_as_it_is(path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"s\.jsonl:1: this is not a line of lhkit\.sweep/1"):
        Store(path)
    assert path.read_bytes() == content


def test_a_damaged_line_in_the_middle_is_named(path):
    lines = fill(path, 1, 2, 3).splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:50] + b"\n" + lines[2])
    with pytest.raises(UsageError, match=":2: this is not a line"):
        Store(path)
    path.write_bytes(lines[0] + lines[1].replace(b'"ok"', b'"oh"') + lines[2])
    with Store(path) as store, pytest.raises(UsageError, match="damaged at the record"):
        store.records()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            b'"hot_loops": null',
            b'"hot_loops": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
            "nested too deeply",
        ),
        (b'"hot_loops": null', b'"hot_loops": {"a": NaN}', "NaN is not a JSON number"),
        (b'"median": 1001', b'"median": -1001', "time_ns.median"),
        (b'"runs": 7', b'"runs": 0', "time_ns.runs"),
        (b'"median": 1001', b'"median": ' + b"1" * 5000, "a number has 5,000 digits"),
        (b'"gflops": 1.5', b'"gflops": 1e999', "1e999 is not a finite number"),
        (b'"gflops": 1.5', b'"gflops": -1.5', "gflops"),
    ],
    ids=range(7),
)
def test_a_record_that_nothing_measured_is_refused(path, tmp_path, old, new, message):
    content = fill(path, 1)
    assert old in content
    path.write_bytes(content.replace(old, new))
    with Store(path) as store, pytest.raises(UsageError, match=f"damaged at the record .*{message}"):
        store.records()
    with Store(tmp_path / "target.jsonl") as target, pytest.raises(UsageError, match=message):
        merge_stores(target, [Store(path, read_only=True)])
    # As a file of records, and as the last line without a break, which a killed process may have left.
    path.write_bytes(b"[" + content.strip().replace(old, new) + b"]")
    with pytest.raises(UsageError, match=message):
        load_records(path)
    path.write_bytes(content.replace(old, new).strip())
    with Store(path) as store:
        assert len(store) == 0


def test_a_second_writer_is_refused_and_readers_are_not(path):
    with Store(path) as store:
        store.append(make_record(1))
        with pytest.raises(UsageError, match="being written by another sweep"):
            Store(path)
        with Store(path, read_only=True) as reader:
            assert len(reader) == 1
            with pytest.raises(UsageError, match="not open for writing"):
                reader.append(make_record(2))
    Store(path).close()


def test_the_lock_of_a_killed_process_is_gone(path):
    code = (
        "import os, sys; from lhkit.sweeps.record_store import Store; from tests.sweep_parts import make_record\n"
        f"s = Store({str(path)!r}); s.append(make_record(1)); print('open', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "open\n"
        with pytest.raises(UsageError, match="another sweep"):
            Store(path)
        other.kill()
        other.wait()
        with Store(path) as store:
            assert len(store) == 1


def test_a_full_disk_is_typed_and_damages_nothing(path, monkeypatch):
    content = fill(path, 1)
    write = os.write
    room = [40]

    def on_a_full_disk(descriptor, data):
        if not room[0]:
            raise OSError(28, "No space left on device")
        written = write(descriptor, data[: room[0]])
        room[0] -= written
        return written

    with Store(path) as store:
        monkeypatch.setattr(line_file.os, "write", on_a_full_disk)
        for _ in range(2):
            with pytest.raises(
                UsageError, match=r"No space left on device\nWhat it holds, 1 variants"
            ) as caught:
                store.append(make_record(2))
            assert caught.value.failure.exit_code == 2
        assert path.read_bytes() == content and len(store) == 1
        monkeypatch.undo()
        store.append(make_record(2))
    assert len(Store(path, read_only=True)) == 2


def test_a_limit_of_file_sizes_is_a_full_disk_too(path):
    content = fill(path, 1)
    code = (
        "import resource; from lhkit.sweeps.record_store import Store; from tests.sweep_parts import make_record\n"
        "from lhkit.model.errors import UsageError\n"
        f"s = Store({str(path)!r}); resource.setrlimit(resource.RLIMIT_FSIZE, ({len(content) + 99}, -1))\n"
        "try:\n    s.append(make_record(2))\nexcept UsageError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "cannot be written: File too large" in done.stdout and path.read_bytes() == content


def test_what_cannot_be_opened_is_typed(tmp_path):
    with pytest.raises(UsageError, match="cannot be opened: Is a directory"):
        Store(tmp_path)
    with pytest.raises(UsageError, match="cannot be opened: No such file"):
        Store(tmp_path / "none.jsonl", read_only=True)


def test_stores_are_merged(path, tmp_path):
    others = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    fill(path, 1, 2)
    fill(others[0], 2, 3, status="stopped-early")
    fill(others[1], 3, 4)
    with Store(path) as store:
        assert merge_stores(store, [Store(other, read_only=True) for other in others]) == 2
    merged = Store(path, read_only=True)
    assert [r.values["a"] for r in merged.records()] == [1, 2, 3, 4]
    assert [r.status for r in merged.records()] == ["ok", "ok", "stopped-early", "ok"]
