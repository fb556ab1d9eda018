"""Messages: what is written is read again, and garbage is known as such."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lhkit.worker.framing import GarbageError, Message, read_message, write_message

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.lists(st.tuples(st.dictionaries(st.text(), json_values), st.binary(max_size=500)), max_size=4))
def test_messages_survive_a_stream(messages):
    stream = io.BytesIO()
    for header, body in messages:
        write_message(stream, Message(header, body))
    stream.seek(0)
    assert [(m.header, m.body) for m in iter(lambda: read_message(stream), None)] == messages


@given(st.binary(min_size=1, max_size=100))
def test_garbage_is_never_a_message(data):
    with pytest.raises(GarbageError):
        read_message(io.BytesIO(data))


@given(st.data())
def test_a_message_cut_anywhere_is_garbage(data):
    stream = io.BytesIO()
    write_message(stream, Message({"a": 1}, b"body"))
    cut = data.draw(st.integers(1, len(stream.getvalue()) - 1))
    with pytest.raises(GarbageError):
        read_message(io.BytesIO(stream.getvalue()[:cut]))
