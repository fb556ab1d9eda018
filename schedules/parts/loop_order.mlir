// Payload: linalg ops on tensors, of any rank, maps and element types.
// Idea:    generics with their loops in the order in which results are written, or what is reduced is read, one
//          element after the other. Attributes say what the parts after this one go by: "on_tensors" on all of these
//          ops; "loop_N" = "crossed" on those that read an operand across: their loop N runs along its elements.
//          Indexing maps can only be compared as a whole, so that orders of two to four loops are listed.
// Knobs:   none.
// Result:  those of reductions.mlir and elementwise.mlir.
// Ops of ranks that a payload does not have are not found.
// lhkit: allow zero-match, no-effect, unused-handle

module attributes {transform.with_named_sequence} {
  // Make generics of all named ops on tensors but fills, which fold into slices as they are, and give each generic of
  // one to six loops the order of loops in which it writes its result, or reads what it reduces, one element after
  // the other.
  transform.named_sequence @order_loops(%root: !transform.any_op {transform.readonly}) {
    %softmaxes = transform.structured.match ops{["linalg.softmax"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %softmaxes : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_decompose failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    transform.include @mark_ops_on_tensors failures(propagate) (%root) : (!transform.any_op) -> ()
    %on_tensors = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen = transform.foreach_match restrict_root in %on_tensors @is_fill -> @leave_named, @is_linalg -> @mark_named
      : (!transform.any_op) -> !transform.any_op
    %named = transform.structured.match attributes {named} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %named : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_generalize failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %generics = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %ordered = transform.foreach_match restrict_root in %generics
      @writes_elements -> @mark_order, @reduces_input_0 -> @mark_order, @reduces_input_1 -> @mark_order,
      @reduces_input_2 -> @mark_order, @reduces_windows -> @mark_windows : (!transform.any_op) -> !transform.any_op
    %p0 = transform.structured.match attributes {order = affine_map<(d0, d1) -> (d1, d0)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i0 = transform.structured.interchange %p0 iterator_interchange = [1, 0] : (!transform.any_op) -> !transform.any_op
    %p1 = transform.structured.match attributes {order = affine_map<(d0, d1, d2) -> (d0, d2, d1)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i1 = transform.structured.interchange %p1 iterator_interchange = [0, 2, 1] : (!transform.any_op) -> !transform.any_op
    %p2 = transform.structured.match attributes {order = affine_map<(d0, d1, d2) -> (d1, d0, d2)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i2 = transform.structured.interchange %p2 iterator_interchange = [1, 0, 2] : (!transform.any_op) -> !transform.any_op
    %p3 = transform.structured.match attributes {order = affine_map<(d0, d1, d2) -> (d1, d2, d0)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i3 = transform.structured.interchange %p3 iterator_interchange = [1, 2, 0] : (!transform.any_op) -> !transform.any_op
    %p4 = transform.structured.match attributes {order = affine_map<(d0, d1, d2) -> (d2, d0, d1)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i4 = transform.structured.interchange %p4 iterator_interchange = [2, 0, 1] : (!transform.any_op) -> !transform.any_op
    %p5 = transform.structured.match attributes {order = affine_map<(d0, d1, d2) -> (d2, d1, d0)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i5 = transform.structured.interchange %p5 iterator_interchange = [2, 1, 0] : (!transform.any_op) -> !transform.any_op
    %p6 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i6 = transform.structured.interchange %p6 iterator_interchange = [0, 1, 3, 2] : (!transform.any_op) -> !transform.any_op
    %p7 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i7 = transform.structured.interchange %p7 iterator_interchange = [0, 2, 1, 3] : (!transform.any_op) -> !transform.any_op
    %p8 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i8 = transform.structured.interchange %p8 iterator_interchange = [0, 2, 3, 1] : (!transform.any_op) -> !transform.any_op
    %p9 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i9 = transform.structured.interchange %p9 iterator_interchange = [0, 3, 1, 2] : (!transform.any_op) -> !transform.any_op
    %p10 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2, d1)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i10 = transform.structured.interchange %p10 iterator_interchange = [0, 3, 2, 1] : (!transform.any_op) -> !transform.any_op
    %p11 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d1, d0, d2, d3)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i11 = transform.structured.interchange %p11 iterator_interchange = [1, 0, 2, 3] : (!transform.any_op) -> !transform.any_op
    %p12 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d1, d0, d3, d2)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i12 = transform.structured.interchange %p12 iterator_interchange = [1, 0, 3, 2] : (!transform.any_op) -> !transform.any_op
    %p13 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d1, d2, d0, d3)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i13 = transform.structured.interchange %p13 iterator_interchange = [1, 2, 0, 3] : (!transform.any_op) -> !transform.any_op
    %p14 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d1, d2, d3, d0)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i14 = transform.structured.interchange %p14 iterator_interchange = [1, 2, 3, 0] : (!transform.any_op) -> !transform.any_op
    %p15 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d1, d3, d0, d2)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i15 = transform.structured.interchange %p15 iterator_interchange = [1, 3, 0, 2] : (!transform.any_op) -> !transform.any_op
    %p16 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d1, d3, d2, d0)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i16 = transform.structured.interchange %p16 iterator_interchange = [1, 3, 2, 0] : (!transform.any_op) -> !transform.any_op
    %p17 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d2, d0, d1, d3)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i17 = transform.structured.interchange %p17 iterator_interchange = [2, 0, 1, 3] : (!transform.any_op) -> !transform.any_op
    %p18 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d2, d0, d3, d1)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i18 = transform.structured.interchange %p18 iterator_interchange = [2, 0, 3, 1] : (!transform.any_op) -> !transform.any_op
    %p19 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d2, d1, d0, d3)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i19 = transform.structured.interchange %p19 iterator_interchange = [2, 1, 0, 3] : (!transform.any_op) -> !transform.any_op
    %p20 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d2, d1, d3, d0)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i20 = transform.structured.interchange %p20 iterator_interchange = [2, 1, 3, 0] : (!transform.any_op) -> !transform.any_op
    %p21 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d2, d3, d0, d1)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i21 = transform.structured.interchange %p21 iterator_interchange = [2, 3, 0, 1] : (!transform.any_op) -> !transform.any_op
    %p22 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d2, d3, d1, d0)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i22 = transform.structured.interchange %p22 iterator_interchange = [2, 3, 1, 0] : (!transform.any_op) -> !transform.any_op
    %p23 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d3, d0, d1, d2)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i23 = transform.structured.interchange %p23 iterator_interchange = [3, 0, 1, 2] : (!transform.any_op) -> !transform.any_op
    %p24 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d3, d0, d2, d1)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i24 = transform.structured.interchange %p24 iterator_interchange = [3, 0, 2, 1] : (!transform.any_op) -> !transform.any_op
    %p25 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d3, d1, d0, d2)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i25 = transform.structured.interchange %p25 iterator_interchange = [3, 1, 0, 2] : (!transform.any_op) -> !transform.any_op
    %p26 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d3, d1, d2, d0)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i26 = transform.structured.interchange %p26 iterator_interchange = [3, 1, 2, 0] : (!transform.any_op) -> !transform.any_op
    %p27 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d3, d2, d0, d1)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i27 = transform.structured.interchange %p27 iterator_interchange = [3, 2, 0, 1] : (!transform.any_op) -> !transform.any_op
    %p28 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d3, d2, d1, d0)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i28 = transform.structured.interchange %p28 iterator_interchange = [3, 2, 1, 0] : (!transform.any_op) -> !transform.any_op
    %p29 = transform.structured.match attributes {windows = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i29 = transform.structured.interchange %p29 iterator_interchange = [0, 1, 3, 2] : (!transform.any_op) -> !transform.any_op
    %p30 = transform.structured.match attributes {windows = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2,
      d3)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %i30 = transform.structured.interchange %p30 iterator_interchange = [0, 1, 2, 4, 5, 3] : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  // Ops on memrefs may alias, and stay as they are.
  transform.named_sequence @mark_ops_on_tensors(%root: !transform.any_op {transform.readonly}) {
    %structured = transform.structured.match interface{LinalgOp} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %structured : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @mark_if_on_tensors failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    transform.yield
  }
  transform.named_sequence private @try_decompose(%op: !transform.any_op {transform.consumed}) {
    transform.include @decompose failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @decompose(%op: !transform.any_op {transform.consumed}) {
    %parts = transform.structured.decompose_interface %op : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence @try_generalize(%op: !transform.any_op {transform.consumed}) {
    transform.include @generalize failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @generalize(%op: !transform.any_op {transform.consumed}) {
    %generic = transform.structured.generalize %op : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence private @mark_if_on_tensors(%op: !transform.any_op {transform.readonly}) {
    %same = transform.include @has_result_and_is_not_aside failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    transform.annotate %same "on_tensors" : !transform.any_op
    transform.yield
  }
  // The functions that have linalg ops on tensors: patterns that drop unit extents do not end on buffers with layouts.
  transform.named_sequence @functions_on_tensors(%root: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %all = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %functions = transform.foreach %all : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %kept = transform.include @unless_on_buffers failures(suppress) (%each) : (!transform.any_op) -> !transform.any_op
      transform.yield %kept : !transform.any_op
    }
    transform.yield %functions : !transform.any_op
  }
  transform.named_sequence private @unless_on_buffers(%function: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %same = transform.include @has_op_on_tensors failures(propagate) (%function) : (!transform.any_op) -> !transform.any_op
    transform.yield %same : !transform.any_op
  }
  transform.named_sequence private @has_op_on_tensors(%function: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %structured = transform.structured.match interface{LinalgOp} in %function : (!transform.any_op) -> !transform.any_op
    %on_tensors = transform.foreach %structured : !transform.any_op -> !transform.any_op {
    ^bb0(%op: !transform.any_op):
      %kept = transform.include @if_has_result failures(suppress) (%op) : (!transform.any_op) -> !transform.any_op
      transform.yield %kept : !transform.any_op
    }
    %count = transform.num_associations %on_tensors : (!transform.any_op) -> !transform.param<i64>
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %count, %one : !transform.param<i64>
    transform.yield %function : !transform.any_op
  }
  transform.named_sequence private @if_has_result(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %same = transform.include @has_result failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    transform.yield %same : !transform.any_op
  }
  // What a schedule has put aside is marked so.
  transform.named_sequence @has_result_and_is_not_aside(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %same = transform.include @has_result failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    %aside = transform.structured.match attributes {aside} in %op : (!transform.any_op) -> !transform.any_op
    %marks = transform.num_associations %aside : (!transform.any_op) -> !transform.param<i64>
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %marks, %none : !transform.param<i64>
    transform.yield %same : !transform.any_op
  }
  // Only the innermost loop reduces, up to 8 elements, 15 of 8 bits, or 4 of 64 bits; or it reduces pairs, or products
  // of bytes, for which there are instructions that LLVM finds in loops. LLVM unrolls it, and works
  // on several rows at once, which takes less time than filling and adding up a vector of partial sums for each row.
  transform.named_sequence @reduces_few(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %four = transform.param.constant 4 : i64 -> !transform.param<i64>
    %eight = transform.param.constant 8 : i64 -> !transform.param<i64>
    %fifteen = transform.param.constant 15 : i64 -> !transform.param<i64>
    %byte = transform.param.constant 8 : i64 -> !transform.param<i64>
    %narrow = transform.param.constant 32 : i64 -> !transform.param<i64>
    %wide = transform.param.constant 64 : i64 -> !transform.param<i64>
    %of_bytes = transform.include @if_reduces_up_to failures(suppress) (%op, %fifteen, %byte)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> !transform.any_op
    %of_narrow = transform.include @if_reduces_up_to failures(suppress) (%op, %eight, %narrow)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> !transform.any_op
    %of_wide = transform.include @if_reduces_up_to failures(suppress) (%op, %four, %wide)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> !transform.any_op
    %of_pairs = transform.include @if_reduces_pairs failures(suppress) (%op) : (!transform.any_op) -> !transform.any_op
    %of_products = transform.include @if_reduces_products_of_bytes failures(suppress) (%op) : (!transform.any_op) -> !transform.any_op
    %either = transform.merge_handles %of_products, %of_bytes, %of_narrow, %of_wide, %of_pairs : !transform.any_op
    %count = transform.num_associations %either : (!transform.any_op) -> !transform.param<i64>
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %count, %one : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // Gives nothing otherwise: what fails after its result is made gives the result all the same.
  transform.named_sequence private @if_reduces_up_to(%op: !transform.any_op {transform.readonly},
      %most: !transform.param<i64> {transform.readonly}, %width: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %few = transform.include @reduces_up_to failures(propagate) (%op, %most, %width)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> !transform.any_op
    transform.yield %few : !transform.any_op
  }
  transform.named_sequence private @if_reduces_pairs(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %few = transform.include @reduces_pairs failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    transform.yield %few : !transform.any_op
  }
  transform.named_sequence private @if_reduces_products_of_bytes(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %few = transform.include @reduces_products_of_bytes failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    transform.yield %few : !transform.any_op
  }
  transform.named_sequence private @reduces_products_of_bytes(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %size, %bits_0, %bits_1 = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>) {
    ^bb0(%linalg: !transform.any_op):
      transform.match.structured.body %linalg {contraction = ["arith.muli", "arith.addi"]} : !transform.any_op
      transform.match.structured.dim %linalg[-2] {parallel} : !transform.any_op
      %size_in = transform.match.structured.dim %linalg[-1] {reduction} : (!transform.any_op) -> !transform.param<i64>
      %read_0 = transform.match.structured.input %linalg[0] : (!transform.any_op) -> !transform.any_value
      %read_1 = transform.match.structured.input %linalg[1] : (!transform.any_op) -> !transform.any_value
      %bits_in_0 = transform.match.structured.elemental_bitwidth %read_0 : (!transform.any_value) -> !transform.param<i64>
      %bits_in_1 = transform.match.structured.elemental_bitwidth %read_1 : (!transform.any_value) -> !transform.param<i64>
      transform.match.structured.yield %size_in, %bits_in_0, %bits_in_1
        : !transform.param<i64>, !transform.param<i64>, !transform.param<i64>
    }
    %byte = transform.param.constant 8 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %bits_0, %byte : !transform.param<i64>
    transform.match.param.cmpi eq %bits_1, %byte : !transform.param<i64>
    // A row that is one vector has no partial sums.
    %vector = transform.param.constant 16 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ne %size, %vector : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @reduces_pairs(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %size = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %size_in = transform.match.structured.dim %linalg[-1] {reduction} : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %size_in : !transform.param<i64>
    }
    %two = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %size, %two : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @reduces_up_to(%op: !transform.any_op {transform.readonly},
      %most: !transform.param<i64> {transform.readonly}, %width: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %size, %bits = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>) {
    ^bb0(%linalg: !transform.any_op):
      transform.match.structured.dim %linalg[-2] {parallel} : !transform.any_op
      %size_in = transform.match.structured.dim %linalg[-1] {reduction} : (!transform.any_op) -> !transform.param<i64>
      %read = transform.match.structured.input %linalg[0] : (!transform.any_op) -> !transform.any_value
      %bits_in = transform.match.structured.elemental_bitwidth %read : (!transform.any_value) -> !transform.param<i64>
      transform.match.structured.yield %size_in, %bits_in : !transform.param<i64>, !transform.param<i64>
    }
    transform.match.param.cmpi le %size, %most : !transform.param<i64>
    transform.match.param.cmpi le %bits, %width : !transform.param<i64>
    // An extent that is not known is below 0.
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %size, %none : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // Put products of up to three rows, columns and steps aside: LLVM unrolls their loops, which takes less time than
  // copies of them as wide as a vector.
  transform.named_sequence @leave_small_product(%op: !transform.any_op {transform.readonly}) {
    transform.include @put_small_product_aside failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @put_small_product_aside(%op: !transform.any_op {transform.readonly}) {
    %loops, %m, %n, %k = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      %m_in = transform.match.structured.dim %linalg[0] : (!transform.any_op) -> !transform.param<i64>
      %n_in = transform.match.structured.dim %linalg[1] : (!transform.any_op) -> !transform.param<i64>
      %k_in = transform.match.structured.dim %linalg[2] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %loops_in, %m_in, %n_in, %k_in
        : !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>
    }
    %three = transform.param.constant 3 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %loops, %three : !transform.param<i64>
    %sizes = transform.merge_handles %m, %n, %k : !transform.param<i64>
    %few = transform.param.constant 3 : i64 -> !transform.param<i64>
    %most = transform.merge_handles %few, %few, %few : !transform.param<i64>
    transform.match.param.cmpi le %sizes, %most : !transform.param<i64>
    // Extents that are not known are below 0.
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    %least = transform.merge_handles %none, %none, %none : !transform.param<i64>
    transform.match.param.cmpi ge %sizes, %least : !transform.param<i64>
    transform.annotate %op "aside" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @has_result(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %result = transform.get_result %op[0] : (!transform.any_op) -> !transform.any_value
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @is_fill(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @leave_named(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "is_fill" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @is_linalg(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.structured failures(propagate) %op : !transform.any_op {
    ^bb0(%linalg: !transform.any_op):
      
      transform.match.structured.yield
    }
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_named(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "named" : !transform.any_op
    transform.yield
  }
  // Matchers of the operand that says in which order loops run, with its map.
  transform.named_sequence private @writes_elements(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.affine_map) {
    %map = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.affine_map {
    ^bb0(%linalg: !transform.any_op):
      transform.match.structured.dim %linalg[all] {parallel} : !transform.any_op
      %map_in = transform.match.structured.init %linalg[0] {permutation} : (!transform.any_op) -> !transform.affine_map
      transform.match.structured.yield %map_in : !transform.affine_map
    }
    transform.yield %op, %map : !transform.any_op, !transform.affine_map
  }
  transform.named_sequence private @reduces_input_0(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.affine_map) {
    %map = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.affine_map {
    ^bb0(%linalg: !transform.any_op):
      %map_in = transform.match.structured.input %linalg[0] {permutation} : (!transform.any_op) -> !transform.affine_map
      transform.match.structured.yield %map_in : !transform.affine_map
    }
    transform.yield %op, %map : !transform.any_op, !transform.affine_map
  }
  transform.named_sequence private @reduces_input_1(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.affine_map) {
    %map = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.affine_map {
    ^bb0(%linalg: !transform.any_op):
      %map_in = transform.match.structured.input %linalg[1] {permutation} : (!transform.any_op) -> !transform.affine_map
      transform.match.structured.yield %map_in : !transform.affine_map
    }
    transform.yield %op, %map : !transform.any_op, !transform.affine_map
  }
  transform.named_sequence private @reduces_input_2(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.affine_map) {
    %map = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.affine_map {
    ^bb0(%linalg: !transform.any_op):
      %map_in = transform.match.structured.input %linalg[2] {permutation} : (!transform.any_op) -> !transform.affine_map
      transform.match.structured.yield %map_in : !transform.affine_map
    }
    transform.yield %op, %map : !transform.any_op, !transform.affine_map
  }
  transform.named_sequence private @reduces_windows(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.affine_map) {
    %map = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.affine_map {
    ^bb0(%linalg: !transform.any_op):
      %map_in = transform.match.structured.init %linalg[0] {projected_permutation} : (!transform.any_op) -> !transform.affine_map
      transform.match.structured.yield %map_in : !transform.affine_map
    }
    transform.yield %op, %map : !transform.any_op, !transform.affine_map
  }
  transform.named_sequence private @mark_order(%op: !transform.any_op {transform.readonly},
      %map: !transform.affine_map {transform.readonly}) {
    transform.annotate %op "order" = %map : !transform.any_op, !transform.affine_map
    transform.yield
  }
  transform.named_sequence private @mark_windows(%op: !transform.any_op {transform.readonly},
      %map: !transform.affine_map {transform.readonly}) {
    transform.annotate %op "windows" = %map : !transform.any_op, !transform.affine_map
    transform.yield
  }

  // Mark the loop along which another operand than the result is contiguous, so that tiles span it too.
  transform.named_sequence @mark_crossings(%root: !transform.any_op {transform.readonly}) {
    %ops_0 = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen_0 = transform.foreach_match restrict_root in %ops_0 @reads_input_0 -> @mark_read : (!transform.any_op) -> !transform.any_op
    transform.include @mark_crossed_loop failures(propagate) (%root) : (!transform.any_op) -> ()
    %ops_1 = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen_1 = transform.foreach_match restrict_root in %ops_1 @reads_input_1 -> @mark_read : (!transform.any_op) -> !transform.any_op
    transform.include @mark_crossed_loop failures(propagate) (%root) : (!transform.any_op) -> ()
    %ops_2 = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen_2 = transform.foreach_match restrict_root in %ops_2 @reads_input_2 -> @mark_read : (!transform.any_op) -> !transform.any_op
    transform.include @mark_crossed_loop failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @reads_input_0(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.affine_map) {
    %map = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.affine_map {
    ^bb0(%linalg: !transform.any_op):
      transform.match.structured.dim %linalg[all] {parallel} : !transform.any_op
      transform.match.structured.input %linalg[all] {projected_permutation} : !transform.any_op
      %map_in = transform.match.structured.input %linalg[0] {projected_permutation} : (!transform.any_op) -> !transform.affine_map
      transform.match.structured.yield %map_in : !transform.affine_map
    }
    transform.yield %op, %map : !transform.any_op, !transform.affine_map
  }
  transform.named_sequence private @reads_input_1(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.affine_map) {
    %map = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.affine_map {
    ^bb0(%linalg: !transform.any_op):
      transform.match.structured.dim %linalg[all] {parallel} : !transform.any_op
      transform.match.structured.input %linalg[all] {projected_permutation} : !transform.any_op
      %map_in = transform.match.structured.input %linalg[1] {projected_permutation} : (!transform.any_op) -> !transform.affine_map
      transform.match.structured.yield %map_in : !transform.affine_map
    }
    transform.yield %op, %map : !transform.any_op, !transform.affine_map
  }
  transform.named_sequence private @reads_input_2(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.affine_map) {
    %map = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.affine_map {
    ^bb0(%linalg: !transform.any_op):
      transform.match.structured.dim %linalg[all] {parallel} : !transform.any_op
      transform.match.structured.input %linalg[all] {projected_permutation} : !transform.any_op
      %map_in = transform.match.structured.input %linalg[2] {projected_permutation} : (!transform.any_op) -> !transform.affine_map
      transform.match.structured.yield %map_in : !transform.affine_map
    }
    transform.yield %op, %map : !transform.any_op, !transform.affine_map
  }
  transform.named_sequence private @mark_read(%op: !transform.any_op {transform.readonly},
      %map: !transform.affine_map {transform.readonly}) {
    transform.annotate %op "read" = %map : !transform.any_op, !transform.affine_map
    transform.yield
  }
  transform.named_sequence private @mark_crossed_loop(%root: !transform.any_op {transform.readonly}) {
    %crossed = transform.param.constant "crossed" -> !transform.any_param
    %m0 = transform.structured.match attributes {read = affine_map<(d0, d1) -> (d1, d0)>} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %m0 "loop_0" = %crossed : !transform.any_op, !transform.any_param
    %m1 = transform.structured.match attributes {read = affine_map<(d0, d1, d2) -> (d2, d0)>} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %m1 "loop_0" = %crossed : !transform.any_op, !transform.any_param
    %m2 = transform.structured.match attributes {read = affine_map<(d0, d1, d2) -> (d2, d1)>} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %m2 "loop_1" = %crossed : !transform.any_op, !transform.any_param
    %m3 = transform.structured.match attributes {read = affine_map<(d0, d1, d2) -> (d0, d2, d1)>} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %m3 "loop_1" = %crossed : !transform.any_op, !transform.any_param
    %m4 = transform.structured.match attributes {read = affine_map<(d0, d1, d2) -> (d1, d2, d0)>} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %m4 "loop_0" = %crossed : !transform.any_op, !transform.any_param
    %m5 = transform.structured.match attributes {read = affine_map<(d0, d1, d2) -> (d2, d0, d1)>} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %m5 "loop_1" = %crossed : !transform.any_op, !transform.any_param
    %m6 = transform.structured.match attributes {read = affine_map<(d0, d1, d2) -> (d2, d1, d0)>} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %m6 "loop_0" = %crossed : !transform.any_op, !transform.any_param
    %m7 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %m7 "loop_2" = %crossed : !transform.any_op, !transform.any_param
    %m8 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %m8 "loop_1" = %crossed : !transform.any_op, !transform.any_param
    %m9 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %m9 "loop_2" = %crossed : !transform.any_op, !transform.any_param
    %m10 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2, d1)>} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %m10 "loop_1" = %crossed : !transform.any_op, !transform.any_param
    %m11 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d1, d0, d3, d2)>} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %m11 "loop_2" = %crossed : !transform.any_op, !transform.any_param
    %m12 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d1, d2, d3, d0)>} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %m12 "loop_0" = %crossed : !transform.any_op, !transform.any_param
    %m13 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d1, d3, d0, d2)>} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %m13 "loop_2" = %crossed : !transform.any_op, !transform.any_param
    %m14 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d1, d3, d2, d0)>} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %m14 "loop_0" = %crossed : !transform.any_op, !transform.any_param
    %m15 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d2, d0, d3, d1)>} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %m15 "loop_1" = %crossed : !transform.any_op, !transform.any_param
    %m16 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d2, d1, d3, d0)>} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %m16 "loop_0" = %crossed : !transform.any_op, !transform.any_param
    %m17 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d2, d3, d0, d1)>} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %m17 "loop_1" = %crossed : !transform.any_op, !transform.any_param
    %m18 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d2, d3, d1, d0)>} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %m18 "loop_0" = %crossed : !transform.any_op, !transform.any_param
    %m19 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d3, d0, d1, d2)>} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %m19 "loop_2" = %crossed : !transform.any_op, !transform.any_param
    %m20 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d3, d0, d2, d1)>} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %m20 "loop_1" = %crossed : !transform.any_op, !transform.any_param
    %m21 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d3, d1, d0, d2)>} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %m21 "loop_2" = %crossed : !transform.any_op, !transform.any_param
    %m22 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d3, d1, d2, d0)>} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %m22 "loop_0" = %crossed : !transform.any_op, !transform.any_param
    %m23 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d3, d2, d0, d1)>} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %m23 "loop_1" = %crossed : !transform.any_op, !transform.any_param
    %m24 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d3, d2, d1, d0)>} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %m24 "loop_0" = %crossed : !transform.any_op, !transform.any_param
    transform.yield
  }
}
