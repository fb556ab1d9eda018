"""Messages: what is written is read again, and garbage is known as such."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lhkit.worker.framing import (
    Call,
    GarbageError,
    Progress,
    call_of,
    decode,
    encode,
    read_message,
    request_union,
    write_message,
)
from lhkit.worker.requests import LoadPayload, LoadSchedule, Source

REQUESTS = st.builds(LoadPayload, st.text(), st.binary(max_size=500)) | st.builds(
    LoadSchedule,
    st.lists(st.builds(Source, st.just("schedule"), st.text(), st.text(), st.binary())).map(tuple),
    st.booleans(),
)


@given(st.lists(REQUESTS, max_size=4))
def test_messages_survive_a_stream(requests):
    stream = io.BytesIO()
    for request in requests:
        write_message(stream, call_of(request, 1.0, 2))
    stream.seek(0)
    union = request_union((LoadPayload, LoadSchedule))
    assert [decode(c.request, union) for c in iter(lambda: read_message(stream, Call), None)] == requests


@given(st.binary(min_size=1, max_size=100))
def test_garbage_is_never_a_message(data):
    with pytest.raises(GarbageError):
        read_message(io.BytesIO(data), Call)


@given(st.data())
def test_a_message_cut_anywhere_is_garbage(data):
    stream = io.BytesIO()
    write_message(stream, Progress("apply", "ir"))
    cut = data.draw(st.integers(1, len(stream.getvalue()) - 1))
    with pytest.raises(GarbageError):
        read_message(io.BytesIO(stream.getvalue()[:cut]), Progress)


def test_a_field_of_another_type_is_garbage():
    with pytest.raises(GarbageError, match=r"at `\$.name`"):
        decode(encode(LoadPayload(3, b"")), LoadPayload)


def test_names_of_files_that_are_not_utf8_do_not_stop_a_request():
    assert decode(encode(LoadPayload("a\udcff", b"\xff")), LoadPayload) == LoadPayload("a?", b"\xff")
