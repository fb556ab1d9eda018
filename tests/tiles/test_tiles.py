"""Tile pictures as drawn: records, text, SVG; nothing overlaps, whatever the extents."""

import dataclasses
import itertools
import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lhkit
from lhkit.draw.svg import svg_png
from lhkit.draw.tables import format_bytes
from lhkit.model.signature import ArrayType, Function
from lhkit.model.target import CacheLevel
from lhkit.model.tile_picture import LoopVariable, StructuredOp, Term, TiledOperand, Tilings, View
from lhkit.tiles.tile_effect import effect_of, effect_words
from lhkit.tiles.tile_facts import tile_frame, tile_picture
from lhkit.tiles.tile_layout import lay_out, tiles_text
from lhkit.tiles.tile_requests import tile_picture_of
from lhkit.tiles.tile_svg import (
    tiles_at,
    tiles_bundle,
    tiles_frames,
    tiles_html,
    tiles_multiples_svg,
    tiles_svg,
)

CACHES = (CacheLevel("L1", 32 << 10), CacheLevel("L2", 1 << 20))
SVG = "{http://www.w3.org/2000/svg}"


class Terms:
    """Terms as they are needed, each once."""

    def __init__(self):
        self.terms = []

    def __call__(self, kind, *operands, value=0):
        term = Term(kind, operands, value)
        if term not in self.terms:
            self.terms.append(term)
        return self.terms.index(term)

    def number(self, value):
        return self("constant", value=value)


def product(extents, tiles, names=("%lhs", "%rhs", "%out"), batch=0):
    """Return a matrix product in three loops, edge tiles smaller; in one more loop around with a batch."""
    t = Terms()
    zero, one = t.number(0), t.number(1)
    extents, tiles = ((batch, *extents), (1, *tiles)) if batch else (extents, tiles)
    loops, sizes = [], []
    for n, (extent, tile) in enumerate(zip(extents, tiles, strict=True)):
        loops.append(LoopVariable(f"%i{n}", "scf.for", n, zero, t.number(extent), t.number(tile)))
        left = t("sub", t.number(extent), t("loop", value=n))
        sizes.append(t("min", t.number(tile), left))
    dimensions = [t("dimension", value=n) for n in range(len(extents))]
    lead = (0,) if batch else ()
    m, n, k = range(len(lead), len(lead) + 3)
    operands = []
    for at, axes in enumerate([(*lead, m, k), (*lead, k, n), (*lead, m, n)]):
        shape = tuple(t.number(extents[a]) for a in axes)
        offsets = tuple(t("loop", value=a) for a in axes)
        view = View("tensor.extract_slice", offsets, (one,) * len(axes), tuple(range(len(axes))), shape)
        base = names[at], "argument", shape, (), ""
        operands.append(
            TiledOperand(at == 2, tuple(dimensions[a] for a in axes), (view,), *base[:3], (), "", 4)
        )
    types = tuple(ArrayType("tensor", tuple(extents), "float32", "tensor") for _ in operands)
    op = StructuredOp(
        "linalg.matmul", 0, "f", tuple(range(len(extents))), ("scf.for",) * len(extents), tuple(sizes),
        tuple(operands), 2, True, None,
    )  # fmt: skip
    return Tilings(tuple(t.terms), tuple(loops), (op,), (Function("f", types, (), 1),))


def picture(extents=(40, 48, 30), tiles=(16, 16, 16), first=0, **options):
    tilings = product(extents, tiles, **options)
    return tile_picture(tilings, tilings.ops[0], caches=CACHES, first=first)


def test_a_tile_picture_in_words(golden):
    golden("\n\n".join(tiles_text(picture(), n) for n in (0, 17)))


def test_an_edge_tile_is_drawn_smaller():
    tiles = [tile_frame(picture(), n).tiles[0].tile.box for n in (0, 17)]
    assert tiles == [((0, 16), (0, 16)), ((32, 40), (16, 30))]
    widths = [
        [(float(r.get("width")), float(r.get("height"))) for r in tile_rects(tiles_svg(picture(), n))]
        for n in (0, 17)
    ]
    assert all(last[0] < first[0] or last[1] < first[1] for first, last in zip(*widths, strict=True))


def tile_rects(drawing):
    return [r for r in ET.fromstring(drawing).iter(f"{SVG}rect") if r.find(f"{SVG}title") is not None]


def test_the_tile_stands_where_it_is_to_scale():
    drawn = picture()
    frame = tile_frame(drawn, 13)
    layout = lay_out(drawn, frame, top=100)
    found = tile_rects(tiles_svg(drawn, 13))
    assert len(found) == 3
    for sheet, rect, tile in zip(layout.sheets, found, frame.tiles, strict=True):
        operand = drawn.operands[sheet.operand]
        (top, bottom), (left, right) = tile.tile.box
        across, down = sheet.width / operand.shape[1], sheet.height / operand.shape[0]
        assert float(rect.get("x")) - sheet.x == pytest.approx(left * across, abs=0.02)
        assert float(rect.get("width")) == pytest.approx((right - left) * across, abs=0.02)
        assert float(rect.get("height")) == pytest.approx((bottom - top) * down, abs=0.02)


def test_a_product_is_laid_out_as_on_a_blackboard():
    drawn = picture()
    a, b, c = lay_out(drawn, tile_frame(drawn)).sheets
    assert a.y == c.y and a.height == c.height, "rows of A are rows of C"
    assert b.x == c.x and b.width == c.width, "columns of B are columns of C"
    assert a.x + a.width < c.x and b.y + b.height < c.y
    assert a.width == pytest.approx(b.height), "one scale for the reduction too"


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    extents=st.tuples(*[st.sampled_from([1, 3, 17, 64, 500, 4096])] * 3),
    tiles=st.tuples(*[st.sampled_from([1, 8, 64])] * 3),
    batch=st.sampled_from([0, 1, 5]),
    long=st.booleans(),
)
def test_nothing_overlaps(extents, tiles, batch, long):
    names = ("%a" * 40, "%b", "%c" * 30) if long else ("%lhs", "%rhs", "%out")
    drawn = picture(extents, tuple(map(min, tiles, extents)), names=names, batch=batch)
    layout = lay_out(drawn, tile_frame(drawn))
    boxes = []
    for sheet in layout.sheets:
        caption = 15 * len(sheet.caption)
        wide = max(sheet.width, sheet.caption_width)
        boxes.append((sheet.x, sheet.y - caption, sheet.x + wide, sheet.y + sheet.height + 14))
    for (x0, y0, x1, y1), (u0, v0, u1, v1) in itertools.combinations(boxes, 2):
        assert x1 <= u0 or u1 <= x0 or y1 <= v0 or v1 <= y0
    assert all(x0 >= 0 and y0 >= 0 and x1 <= layout.width + 1 for x0, y0, x1, _ in boxes)


def test_the_axes_that_are_not_drawn_are_named():
    drawn = picture((8, 8, 8), (4, 4, 4), batch=3)
    assert [o.shown for o in drawn.operands] == [(1, 2)] * 3
    assert "i: 1 of 3" in tiles_svg(drawn, 8)
    assert "tile of A: 1x4x4 of 3x8x8, 64 B  %lhs[1:2, 0:4, 0:4]" in tiles_text(drawn, 8)


def test_names_are_text_and_the_same_picture_has_the_same_bytes():
    drawn = picture(names=("<script>x</script>", "&", '"'))
    first = tiles_svg(drawn)
    assert "<script" not in first and first == tiles_svg(picture(names=("<script>x</script>", "&", '"')))
    assert "<script" not in tiles_html(drawn) and "&lt;script&gt;" in tiles_html(drawn)
    assert svg_png(tiles_svg(drawn, themed=False)).startswith(b"\x89PNG")


def test_frames_are_the_first_iterations():
    drawn = picture()
    frames = tiles_frames(drawn, 4)
    assert len(frames) == 4 and len(set(frames)) == 4
    assert all(words.startswith(f"iteration {n + 1} of 18") for n, (words, _) in enumerate(frames))
    assert all(words in drawing for words, drawing in frames)
    assert tiles_at(drawn, 2)[:2] == (frames[2][0], tiles_svg(drawn, 2)) and tiles_svg(drawn, 2) != tiles_svg(
        drawn
    )
    assert len(tiles_frames(drawn, 99)) == drawn.iterations == 18
    multiples = ET.fromstring(tiles_multiples_svg(drawn, 6))
    assert [g.get("data-frame") for g in multiples.iter(f"{SVG}g") if g.get("data-frame")] == list("012345")


def test_a_brief_picture_has_the_tiles_and_their_size_in_less_room():
    drawn = picture((512, 512, 512), (32, 64, 16))
    _, whole, brief = tiles_at(drawn, 3)
    large, little = (ET.fromstring(svg) for svg in (whole, brief))
    assert float(little.get("width")) < 400 and float(little.get("height")) < 350 < float(large.get("height"))
    said = "".join(little.itertext())
    for words in (
        "linalg.matmul",
        "tile 32×16 of 512×512",
        "tile 16×64 of",
        "tile 32×64 of",
        "one tile 14 KiB",
    ):
        assert words in said
    one, other = (tile_rects(svg) for svg in (whole, brief))
    assert len(one) == len(other) == 3
    assert "all of 8×8" in tiles_at(picture((8, 8, 8), (8, 8, 8)), 0)[2]


def test_patterns_are_not_shared_by_what_may_be_hidden():
    page = tiles_html(picture(), 3)
    found = [part.partition('"')[0] for part in page.split('<pattern id="')[1:]]
    assert len(found) == 5 and len(set(found)) == 5


def test_a_picture_in_a_notebook():
    bundle = tiles_bundle(picture())
    assert set(bundle) == {"text/html", "image/png", "text/plain"}
    assert bundle["text/html"].startswith("<style>") and bundle["text/plain"].startswith("linalg.matmul")


def test_bytes_have_the_unit_that_fits():
    assert [format_bytes(n) for n in (0, 512, 1024, 1536, 150 << 10, 1081344, 3 << 30)] == [
        "0 B",
        "512 B",
        "1 KiB",
        "1.5 KiB",
        "150 KiB",
        "1.03 MiB",
        "3 GiB",
    ]


def test_the_effect_of_tiling_in_figures(worker):
    payload = lhkit.payloads.matmul(64, 64, 64)
    effect = effect_of(tile_picture_of(payload, worker=worker))
    # Three matrices of 16 KiB, each once; a multiplication and an addition for each of 64³ points.
    assert (effect.loops, effect.footprint_bytes, effect.moved_bytes) == ((), 49152, 49152)
    assert effect.flops == 2 * 64**3 and effect.flops_per_byte == pytest.approx(32 / 3)
    assert effect_words(effect, effect) == "" and "loops none" in effect_words(effect)


def test_bytes_are_dots_the_first_picture_has_something_visited_and_temporaries_have_no_op_as_name():
    trace = lhkit.trace("fc_relu.mlir", "fc_relu_handles.mlir")
    picture = lhkit.show.tiles(trace).svg()
    bytes_part = picture[picture.index("bytes touched") :]
    # On a logarithmic axis nothing has a length; the three boxes are those of the legend.
    assert bytes_part.count("<circle") == 4 and bytes_part.count("<rect") == 3 and "logarithmic" in bytes_part
    assert re.search(r'<rect[^>]*fill="url\(#', picture[: picture.index("bytes touched")])
    assert "tensor.empty" not in picture and "C result" in re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", picture))


def hatched(drawing, extent):
    """The boxes that each square sheet has hatched, in elements: rows, then columns."""
    found = []
    for rect in ET.fromstring(drawing).iter(f"{SVG}rect"):
        x, y, width, height = (float(rect.get(name) or 0) for name in ("x", "y", "width", "height"))
        looks = rect.get("class") or ""
        if "panel" in looks:
            left, top, scale = x, y, extent / height
            found.append(set())
        elif rect.get("fill").startswith("url(#") and "line" not in looks:  # but the sign in the legend
            edges = (y - top, y - top + height, x - left, x - left + width)
            found[-1].add(tuple(round(edge * scale) for edge in edges))
    return found


def test_only_what_was_visited_is_hatched():
    """An unrolled loop has several ops, and this one only every fourth block of k: the others are not its own."""
    picture = tile_picture_of(lhkit.trace("fc_relu.mlir", "fc_relu_handles.mlir"))
    boxes = [tile.tile.box for tile in tile_frame(picture).tiles]
    assert boxes[:2] == [((0, 32), (256, 320)), ((256, 320), (320, 352))]
    a, b, c = hatched(tiles_svg(picture), 512)
    assert a == {(0, 32, 0, 64), (0, 32, 256, 320)}
    assert b == {(0, 64, 0, 320), (256, 320, 0, 320), (0, 64, 320, 352)}
    assert c == {(0, 32, 0, 320), (0, 32, 320, 352)}


TRIANGLE = """
func.func @triangle(%a: tensor<16x16xf32>, %to: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %r = scf.for %i = %c0 to %c16 step %c4 iter_args(%x = %to) -> tensor<16x16xf32> {
    %end = arith.addi %i, %c4 : index
    %q = scf.for %j = %c0 to %end step %c4 iter_args(%y = %x) -> tensor<16x16xf32> {
      %s = tensor.extract_slice %a[%i, %j] [4, 4] [1, 1] : tensor<16x16xf32> to tensor<4x4xf32>
      %o = tensor.extract_slice %y[%i, %j] [4, 4] [1, 1] : tensor<16x16xf32> to tensor<4x4xf32>
      %e = linalg.exp ins(%s : tensor<4x4xf32>) outs(%o : tensor<4x4xf32>) -> tensor<4x4xf32>
      %n = tensor.insert_slice %e into %y[%i, %j] [4, 4] [1, 1] : tensor<4x4xf32> into tensor<16x16xf32>
      scf.yield %n : tensor<16x16xf32>
    }
    scf.yield %q : tensor<16x16xf32>
  }
  return %r : tensor<16x16xf32>
}"""


def test_what_was_visited_is_drawn_in_pieces_where_it_is_no_grid(worker):
    """Rows get longer: the smallest box around two of them holds elements that neither touched."""
    picture = tile_picture_of(lhkit.load_payload(TRIANGLE, worker=worker), worker=worker)
    a, _ = hatched(tiles_svg(picture, 3), 16)  # at (8, 0), after (0, 0), (4, 0) and (4, 4)
    assert a == {(0, 4, 0, 4), (4, 8, 0, 4), (4, 8, 4, 8)}


def test_captions_wrap_and_are_not_cut():
    trace = lhkit.trace("softmax.mlir", "softmax.mlir")
    picture = tile_picture_of(trace)
    captions = [sheet.caption for sheet in lay_out(picture, tile_frame(picture)).sheets]
    assert not any("…" in line for caption in captions for line in caption)
    assert any("made anew for each" in " ".join(caption) for caption in captions)
    assert not any(len(line) == 1 for caption in captions for line in caption[3:])  # a letter alone


def test_what_only_rounding_makes_equal_to_a_cache_does_not_seem_to_fit():
    drawn = picture()
    used = tile_frame(drawn).working_sets[0].total_bytes
    caches = (CacheLevel("L1", used - 1), CacheLevel("L2", 1 << 20))
    words = tiles_text(dataclasses.replace(drawn, caches=caches))
    assert f"one tile: just over {format_bytes(used)}, does not fit L1, fits L2" in words
    exactly = dataclasses.replace(drawn, caches=(CacheLevel("L1", used), *caches[1:]))
    assert f"one tile: {format_bytes(used)}, fits L1" in tiles_text(exactly)


def test_a_picture_is_no_wider_than_what_is_in_it_and_keeps_its_size_while_it_plays():
    """In a column of 400 pixels all of it is scaled down, also empty room."""
    drawn = tile_picture_of(lhkit.trace("fc_relu.mlir", "fc_relu_handles.mlir"))
    widths = {float(ET.fromstring(svg).get("width")) for _, svg in tiles_frames(drawn, 32)}
    assert len(widths) == 1 and max(widths) < 640
