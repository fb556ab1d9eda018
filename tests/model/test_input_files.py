"""Files and JSON of strangers: regular files only, of bounded size and depth."""

import os
import socket

import pytest

from lhkit.model.file_io import check_input, open_input, parse_json, read_bytes, read_text


@pytest.fixture(params=["fifo", "socket", "device", "directory", "NUL", "endless"])
def unfit(request, tmp_path):
    path = tmp_path / "x"
    if request.param == "fifo":
        os.mkfifo(path)
        return path, "it is a FIFO, not a regular file"
    if request.param == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
        return path, "it is a socket"
    if request.param == "directory":
        return tmp_path, "Is a directory"
    if request.param == "NUL":
        return "a\0b", "its name holds a NUL character"
    if request.param == "endless":
        with path.open("wb") as file:
            file.truncate(1 << 40)
        return path, "it has more than 256 MiB"
    return "/dev/zero", "it is a device"


def test_what_is_no_regular_file_of_bounded_size_is_refused_at_once(unfit):
    path, reason = unfit
    for read in (read_bytes, read_text):
        with pytest.raises(OSError, match=reason) as raised:
            read(path)
        assert reason in raised.value.strerror


def test_a_file_without_a_size_is_read_as_far_as_allowed():
    assert b"Name:" in read_bytes("/proc/self/status")
    with pytest.raises(OSError, match="more than 0 MiB"):
        read_bytes("/proc/self/status", most=10)


def test_regular_files_are_read(tmp_path):
    (tmp_path / "a").write_bytes("é\r\nb".encode())
    (tmp_path / "b").symlink_to(tmp_path / "a")
    check_input(tmp_path / "b")
    assert read_text(tmp_path / "b") == "é\nb"
    open_input(tmp_path / "a").close()
    with pytest.raises(FileNotFoundError):
        open_input(tmp_path / "c")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ("[" * 100_000, "nested too deeply|Expecting value"),
        ('{"a":' * 200 + "1" + "}" * 200, "nested too deeply"),
        ("1" * 5000, "a number has 5,000 digits"),
        ("[NaN]", "NaN is not a JSON number"),
        ("-Infinity", "-Infinity is not a JSON number"),
        ("1e999", "1e999 is not a finite number"),
        ("{", "Expecting property name"),
    ],
)
def test_json_without_bounds_is_refused(text, message):
    for given in (text, text.encode()):
        with pytest.raises(ValueError, match=message):
            parse_json(given)


def test_json_within_bounds_is_taken():
    assert parse_json('{"a": [1, 2.5, {"b": [true, null, "x"]}]}') == {"a": [1, 2.5, {"b": [True, None, "x"]}]}
    assert parse_json("[" * 99 + "1" + "]" * 99)
