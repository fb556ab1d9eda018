"""Ops, values and aliases of printed payloads, read from lines and indents."""

from lhkit.traces.diff.line_diff import changed_parts
from lhkit.traces.record.placed_ops import read_printed

TEXT = """\
#map = affine_map<(d0) -> (d0)>
module {
  func.func @f(%arg0: tensor<4xf32>, %arg1: index) -> tensor<4xf32> {
    %c0 = arith.constant 0 : index
    %0:2 = scf.for %arg2 = %c0 to %arg1 step %arg1 iter_args(%arg3 = %arg0, %arg4 = %arg0) -> (tensor<4xf32>, tensor<4xf32>) {
      %2 = linalg.generic {indexing_maps = [#map], text = "%no #map } {"} outs(%arg3 : tensor<4xf32>) {
      ^bb0(%out: f32):
        linalg.yield %out : f32
      } -> tensor<4xf32>
      scf.yield %2, %arg4 : tensor<4xf32>, tensor<4xf32>
    }
    %1 = scf.if %cond -> (f32) {
      %2 = "my.op"() : () -> f32
      scf.yield %2 : f32
    } else {
      %2 = my.other
      scf.yield %2 : f32
    }
    cf.switch %1 : i32, [
      default: ^bb1,
      42: ^bb2
    ]
  ^bb1:  // 2 preds: ^bb0, ^bb2
    return %0#1 : tensor<4xf32>
  }
}
"""


def test_every_op_has_its_lines_and_its_parent():
    ir = read_printed(TEXT)
    names = [op.name for op in ir.ops]
    assert names == [
        "module", "func.func", "arith.constant", "scf.for", "linalg.generic", "linalg.yield", "scf.yield", "scf.if",
        "my.op", "scf.yield", "my.other", "scf.yield", "cf.switch", "return",
    ]  # fmt: skip
    parents = [names[op.parent] if op.parent >= 0 else None for op in ir.ops]
    assert parents[3:7] == ["func.func", "scf.for", "linalg.generic", "scf.for"]
    assert [ir.ops[i].lines for i in (3, 4, 7, 12)] == [[4, 10], [5, 6, 8], [11, 14, 17], [18, 19, 20, 21]]
    assert ir.owners[0] == -1 and ir.owners[22] == names.index("func.func")
    assert len(ir.owners) == len(ir.lines) == 26


def test_values_are_told_by_their_ops_and_scopes():
    ir = read_printed(TEXT)
    loop, generic, returned = ir.ops[3], ir.ops[4], ir.ops[-1]
    assert loop.values[0] == ((3, 0), (3, -1), (2, 0), (1, -2), (1, -2), (3, -2), (1, -1), (3, -3), (1, -1))
    assert generic.values == [((4, 0), (3, -2)), ((4, -1),), ()]
    assert returned.values == [((3, 1),)]
    # Both branches have a %2 of their own.
    assert [ir.ops[i].values[0] for i in (9, 11)] == [((8, 0),), ((10, 0),)]


def test_shapes_leave_names_out_and_write_aliases_in_full():
    ir = read_printed(TEXT)
    assert (
        ir.ops[4]
        .shapes[0]
        .startswith('% = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], text = "%no #map } {"}')
    )
    assert ir.ops[1].shapes[1] == "^bb1:"


def test_what_changed_in_a_line_is_told_by_meaning():
    old = "%2 = linalg.fill {a = 1} ins(%c : f32) outs(%x : tensor<4xf32>) -> tensor<4xf32>"
    new = "%5 = linalg.fill {a = 2} ins(%c : f32) outs(%y : tensor<4xf32>) -> tensor<8xf32>"
    parts = changed_parts(old, new, ["r", "c", "x"], ["r", "d", "x"])
    assert [(new[p.start : p.end], p.was, p.kind) for p in parts] == [
        ("2", "1", "attribute"),
        ("%c", "%c", "operand"),
        ("8xf32", "4xf32", "type"),
    ]
    assert changed_parts(old, old, ["r", "c", "x"], ["r", "c", "x"]) == ()
    assert changed_parts("a #m b", "  a #n b", [], [], ({"#m": "x"}, {"#n": "x"})) == ()


def test_texts_of_another_make_give_lines_all_the_same():
    for text in ("", "\n", "}", "%0 = ", "garbage (((\n\t{{", "^bb0", '"', "  deep\nshallow"):
        ir = read_printed(text)
        assert "\n".join(ir.lines) == text.removesuffix("\n")
        assert len(ir.owners) == len(ir.lines)
