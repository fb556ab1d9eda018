"""Pictures of texts: a diff and machine code have the colours of the live drawing, and more than sixty lines."""

import re

import pytest

import lhkit
from lhkit.draw.theme import ROLES
from lhkit.show.value_views import text_picture


@pytest.fixture(scope="module")
def trace():
    return lhkit.trace("fc_relu.mlir", "fc_relu_handles.mlir")


def backgrounds(picture):
    return re.findall(r'<rect class="lh-f-(\S+)"[^>]*fill="(#\w+)"', picture)


def test_a_diff_has_the_colours_of_its_signs(trace):
    drawing = lhkit.show.diff(trace, step=5)
    signs = [line[0] for line in str(drawing).splitlines() if line[:1] in "+−~↕" and line[:1]]
    roles = {"+": "created-paper", "−": "erased-paper", "~": "changed-paper", "↕": "selected-paper"}
    assert backgrounds(drawing.svg()) == [(roles[s], ROLES[roles[s]][0]) for s in signs]
    assert len(signs) > 10


def test_machine_code_has_the_colours_of_its_sorts():
    found = backgrounds(lhkit.show.code(lhkit.compile("matmul.mlir", "matmul_tile_fuse_vectorize.mlir")).svg())
    assert {"created-paper", "changed-paper"} <= {role for role, _ in found}


def test_a_long_text_is_cut_where_it_is_asked_to_be():
    text = "\n".join(f"+ line {i}" for i in range(100))
    assert "40 more lines" in text_picture("a text", text).replace("\N{NO-BREAK SPACE}", " ")
    whole = text_picture("a text", text, {"+": "created-paper"}, most=100)
    assert "more lines" not in whole and len(backgrounds(whole)) == 100


def test_no_line_of_a_diff_is_cut_by_a_letter(trace):
    drawing = lhkit.show.diff(trace, step=5)
    assert "…" not in drawing.svg() and "%relu_tile" in drawing.svg()


def test_long_lines_make_the_picture_wide():
    width = [
        float(re.search(r'viewBox="0 0 (\S+)', text_picture("t", f"+ {'x' * n}", {"+": "created-paper"}))[1])
        for n in (10, 200, 4000)
    ]
    assert width[0] < width[1] < width[2] == 1800
