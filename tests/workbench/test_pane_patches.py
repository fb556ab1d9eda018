"""Panes are sent as patches, which give what they are patches to, and are small where little changes."""

import json

from hypothesis import given
from hypothesis import strategies as st

from lhkit.workbench.pane_patches import find_changes, patch_of

VALUES = st.recursive(
    st.none() | st.integers() | st.text(alphabet="ab<>]}\n✕", max_size=400),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.sampled_from("klm"), inner, max_size=3),
    max_leaves=12,
)


def patched(old, patch):
    """Apply a patch as static/patches.js does."""
    if "k" in patch:
        return {**old, **{key: patched(old[key], inner) for key, inner in patch["k"].items()}}
    if "s" in patch:
        return patch["s"]
    made, at = [], 0
    for start, end, piece in patch.get("t", patch.get("l")):
        made += [*old[at:start], *piece]
        at = end
    made += old[at:]
    return "".join(made) if isinstance(old, str) else made


@given(VALUES, VALUES)
def test_a_patch_gives_the_new_value(old, new):
    patch = json.loads(json.dumps(patch_of(old, new)))
    assert patched(old, patch) == new


@given(
    st.text(alphabet="ab>\n", min_size=210, max_size=600),
    st.integers(0, 600),
    st.text(alphabet="xy>", max_size=9),
)
def test_a_text_with_an_insertion_is_sent_as_that(text, at, piece):
    new = text[:at] + piece + text[at:]
    assert patched(text, patch_of(text, new)) == new


@given(st.lists(st.sampled_from("abcdef")), st.lists(st.sampled_from("abcdef")))
def test_changes_are_ascending_and_complete(old, new):
    made, at = [], 0
    for i, j, k, end in find_changes(old, new):
        assert at <= i <= j
        made += [*old[at:i], *new[k:end]]
        at = j
    assert [*made, *old[at:]] == new


def test_a_move_of_a_knob_sends_a_tenth_of_its_panes(bench):
    bench.workbench.do({"do": "open", "area": "pictures", "pane": "schedule_graph"})
    before = dict(bench.workbench.panes)
    names = bench.do("set_knobs", knobs={"tile": 4})
    after = {name: bench.part(name) for name in names}
    patches = {name: patch_of(before[name], after[name]) for name in names}
    assert {name: patched(before[name], patch) for name, patch in patches.items()} == after
    sizes = [len(json.dumps(each)) for each in (after, patches)]
    assert sizes[0] > 20_000 and sizes[1] < 2_500, sizes


def test_what_cannot_be_counted_alike_in_a_browser_is_sent_whole():
    text = "🙂" + "a>" * 200
    assert patch_of(text, text + "b") == {"s": text + "b"}
