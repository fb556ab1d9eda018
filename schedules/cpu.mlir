// Payload: data/matmul.mlir, or any other. Whatever linalg has in it on tensors is matched by structure (which loops are parallel, how operands are
//          read, what the body computes), never by name: products in any order of dimensions, reductions, what works
//          by elements. What is not known is left as it is, and is correct.
// Idea:    one first draft for every payload. Ops that work by elements are merged with their readers; contractions
//          become products of matrices, which are cut into tiles that stay in registers, over packed panels, as in
//          fc_relu.mlir, and end with what follows them by elements; all other ops become vectors along the dimension
//          in which memory is contiguous.
// Knobs:   tile_m, tile_n: rows and columns of a product's tile; lanes: elements of 32 bits in a vector;
//          narrow_tile_m: rows of a tile one vector wide. As in fc_relu.mlir.
// Result:  to be measured.
// lhkit: library parts/cpu.mlir
// lhkit: library parts/layers.mlir
// lhkit: library parts/packed.mlir
// lhkit: library parts/rows.mlir
// lhkit: library parts/loop_order.mlir
// lhkit: library parts/partial_sums.mlir
// lhkit: library parts/inner.mlir
// lhkit: library parts/reductions.mlir
// lhkit: library parts/elementwise.mlir
// Exports to other programs go without these: then products of other orders of dimensions than a matmul's stay loops.
// lhkit: optional lhkit.contraction_to_matmul, lhkit.outline_ops, lhkit.expand_math
// lhkit: require tile_n % lanes == 0
// lhkit: default lanes = vector_bits / 32
// lhkit: default tile_n = 64 if vector_bits == 512 else 24 if vector_bits == 256 else vector_bits / 16
// lhkit: default tile_m = 6 if vector_bits == 512 else 8 if vector_registers == 32 else 4
// lhkit: default narrow_tile_m = 12 if vector_registers == 32 else 8
// A payload has little of what is looked for:
// lhkit: allow zero-match, no-effect, tile-size-too-large

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %tile_m = transform.tune.knob<"tile_m"> = 6 : i64 from options = [2, 4, 6, 8, 12] -> !transform.param<i64>
    %tile_n = transform.tune.knob<"tile_n"> = 64 : i64 from options = [8, 12, 16, 24, 32, 48, 64] -> !transform.param<i64>
    %narrow_tile_m = transform.tune.knob<"narrow_tile_m"> = 12 : i64 from options = [4, 6, 8, 12, 16] -> !transform.param<i64>
    %lanes = transform.tune.knob<"lanes"> = 16 : i64 from options = [4, 8, 16] -> !transform.param<i64>

    // What works by elements becomes one op with what reads it, and reads through transposes and broadcasts.
    // Contractions are put aside meanwhile: they would take in what computes their operands, once for every use.
    transform.include @generalize_named_ops failures(propagate) (%root) : (!transform.any_op) -> ()
    %found = transform.include @find_contractions failures(propagate) (%root) : (!transform.any_op) -> !transform.any_op
    %put_aside = "lhkit.outline_ops"(%found) {name = "contraction"} : (!transform.any_op) -> !transform.any_op
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %merged = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function
      : (!transform.any_op) -> !transform.any_op
    %payload = transform.apply_registered_pass "inline" to %root : (!transform.any_op) -> !transform.any_op

    // Contractions become products of matrices; where that cannot be, those that are such products are called so.
    %contractions = transform.include @find_contractions failures(propagate) (%payload) : (!transform.any_op) -> !transform.any_op
    transform.foreach %contractions : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @multiply_matrices failures(suppress) (%each) : (!transform.any_op) -> ()
    }
    %plain = transform.collect_matching @is_plain_product in %payload : (!transform.any_op) -> !transform.any_op
    transform.foreach %plain : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @call_matmul failures(suppress) (%each) : (!transform.any_op) -> ()
    }
    transform.include @mark_ends failures(propagate) (%payload) : (!transform.any_op) -> ()

    // All other ops, while products, what they start from and what ends them are put aside.
    %others = transform.structured.match ops{["func.func"]} in %payload : (!transform.any_op) -> !transform.any_op
    %products = transform.structured.match ops{["linalg.matmul"]} in %payload : (!transform.any_op) -> !transform.any_op
    %before = transform.foreach %products : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %start = transform.include @start_of failures(suppress) (%each) : (!transform.any_op) -> !transform.any_op
      transform.yield %start : !transform.any_op
    }
    %fills = transform.foreach %before : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %fill = transform.structured.match ops{["linalg.fill"]} in %each : (!transform.any_op) -> !transform.any_op
      transform.yield %fill : !transform.any_op
    }
    %starts = transform.merge_handles deduplicate %fills : !transform.any_op
    %ends = transform.structured.match attributes {role = "epilogue"} in %payload : (!transform.any_op) -> !transform.any_op
    %layers = transform.merge_handles %starts, %products, %ends : !transform.any_op
    transform.annotate %layers "aside" : !transform.any_op
    %calls = "lhkit.outline_ops"(%layers) {name = "layer"} : (!transform.any_op) -> !transform.any_op
    transform.foreach %others : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @schedule_reductions failures(propagate) (%each, %lanes) : (!transform.any_op, !transform.param<i64>) -> ()
      transform.include @schedule_elementwise failures(propagate) (%each, %lanes) : (!transform.any_op, !transform.param<i64>) -> ()
    }
    %payload_1 = transform.apply_registered_pass "inline" to %payload : (!transform.any_op) -> !transform.any_op

    // Tiles of products in registers.
    transform.include @tile_layers failures(propagate) (%payload_1, %tile_m, %tile_n, %narrow_tile_m, %lanes)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> ()
    transform.include @vectorize_layer_tiles failures(propagate) (%payload_1) : (!transform.any_op) -> ()
    transform.include @lower_contractions failures(propagate) (%payload_1) : (!transform.any_op) -> ()
    %done = transform.structured.match ops{["func.func"]} in %payload_1 : (!transform.any_op) -> !transform.any_op
    "lhkit.expand_math"(%done) : (!transform.any_op) -> ()
    transform.yield
  }

  // Write named ops as generic ones, which say what they do by maps and a body; not what is no faster for it.
  transform.named_sequence private @generalize_named_ops(%root: !transform.any_op {transform.readonly}) {
    %softmax = transform.structured.match ops{["linalg.softmax"]} in %root : (!transform.any_op) -> !transform.any_op
    %parts = transform.structured.decompose_interface %softmax : (!transform.any_op) -> !transform.any_op
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %all = transform.foreach_match in %function @stays_named -> @keep_named, @is_named -> @mark_to_generalize : (!transform.any_op) -> !transform.any_op
    %named = transform.foreach %all : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %in_one = transform.structured.match attributes {named} in %each : (!transform.any_op) -> !transform.any_op
      transform.yield %in_one : !transform.any_op
    }
    %generic = transform.structured.generalize %named : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence private @stays_named(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic", "linalg.fill", "linalg.pack", "linalg.unpack"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @is_named(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.structured failures(propagate) %op : !transform.any_op {
    ^bb0(%structured: !transform.any_op):
      transform.match.structured.yield
    }
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @keep_named(%op: !transform.any_op {transform.readonly}) {
    transform.yield
  }
  transform.named_sequence private @mark_to_generalize(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "named" : !transform.any_op
    transform.yield
  }

  // One product of two operands is added to the result, over any dimensions. Operands may be extended before that.
  transform.named_sequence private @find_contractions(%root: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %of_floats = transform.collect_matching @is_contraction in %root : (!transform.any_op) -> !transform.any_op
    %of_integers = transform.collect_matching @is_integer_contraction in %root : (!transform.any_op) -> !transform.any_op
    %all = transform.merge_handles %of_floats, %of_integers : !transform.any_op
    transform.yield %all : !transform.any_op
  }
  transform.named_sequence private @is_contraction(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.match.structured failures(propagate) %op : !transform.any_op {
    ^bb0(%generic: !transform.any_op):
      transform.match.structured.body %generic {contraction = ["arith.mulf", "arith.addf"]} : !transform.any_op
      transform.match.structured.yield
    }
    transform.include @has_32_bit_result failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @is_integer_contraction(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.match.structured failures(propagate) %op : !transform.any_op {
    ^bb0(%generic: !transform.any_op):
      transform.match.structured.body %generic {contraction = ["arith.muli", "arith.addi"]} : !transform.any_op
      transform.match.structured.yield
    }
    transform.include @has_32_bit_result failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @has_32_bit_result(%op: !transform.any_op {transform.readonly}) {
    %bits = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%structured: !transform.any_op):
      %result = transform.match.structured.init %structured[0] : (!transform.any_op) -> !transform.any_value
      %width = transform.match.structured.elemental_bitwidth %result : (!transform.any_value) -> !transform.param<i64>
      transform.match.structured.yield %width : !transform.param<i64>
    }
    %wanted = transform.param.constant 32 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %bits, %wanted : !transform.param<i64>
    transform.yield
  }
  transform.named_sequence private @multiply_matrices(%contraction: !transform.any_op {transform.consumed}) {
    %product = "lhkit.contraction_to_matmul"(%contraction) : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  // A contraction of three loops, the last one over the steps, with several rows and columns.
  transform.named_sequence private @is_plain_product(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %contraction = transform.include @is_contraction failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    %loops, %rows, %columns = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>) {
    ^bb0(%generic: !transform.any_op):
      %rank = transform.match.structured.rank %generic : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %generic[-1] {reduction} : !transform.any_op
      %height = transform.match.structured.dim %generic[0] {parallel} : (!transform.any_op) -> !transform.param<i64>
      %width = transform.match.structured.dim %generic[1] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %rank, %height, %width
        : !transform.param<i64>, !transform.param<i64>, !transform.param<i64>
    }
    %three = transform.param.constant 3 : i64 -> !transform.param<i64>
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %loops, %three : !transform.param<i64>
    transform.match.param.cmpi ne %rows, %one : !transform.param<i64>
    transform.match.param.cmpi ne %columns, %one : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @call_matmul(%product: !transform.any_op {transform.consumed}) {
    transform.include @call_matmul_of_tensors failures(propagate) (%product) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @call_matmul_of_tensors(%product: !transform.any_op {transform.consumed}) {
    // One on memrefs has no result.
    // lhkit: allow unused-handle
    %result = transform.get_result %product[0] : (!transform.any_op) -> !transform.any_value
    %named = transform.structured.specialize %product : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  // The op that computes what a product is added to; nothing where that is an argument.
  transform.named_sequence private @start_of(%matmul: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %start = transform.get_producer_of_operand %matmul[2] : (!transform.any_op) -> !transform.any_op
    transform.yield %start : !transform.any_op
  }

  // In parts/layers.mlir:
  transform.named_sequence private @mark_ends(!transform.any_op {transform.readonly})
  transform.named_sequence private @vectorize_layer_tiles(!transform.any_op {transform.readonly})
  transform.named_sequence private @tile_layers(!transform.any_op {transform.readonly}, !transform.param<i64> {transform.readonly},
    !transform.param<i64> {transform.readonly}, !transform.param<i64> {transform.readonly}, !transform.param<i64> {transform.readonly})
  // In parts/reductions.mlir and parts/elementwise.mlir:
  transform.named_sequence private @schedule_reductions(!transform.any_op {transform.readonly}, !transform.param<i64> {transform.readonly})
  transform.named_sequence private @schedule_elementwise(!transform.any_op {transform.readonly}, !transform.param<i64> {transform.readonly})
  // In parts/cpu.mlir:
  transform.named_sequence private @lower_contractions(!transform.any_op {transform.readonly})
}
