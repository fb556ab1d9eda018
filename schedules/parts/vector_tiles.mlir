// Payload: linalg ops that parts/inner.mlir has marked as tiles.
// Idea:    vectors of tiles, one op after the other, so that one that cannot be a vector stays a loop and keeps none of
//          the others from being one. Tiles of known size are vectors of that size; where it is not known, or LLVM has
//          no code for it, vectors of the size of a tile are masked.
// Knobs:   none.
// Result:  those of reductions.mlir and elementwise.mlir.
// lhkit: allow zero-match, no-effect, unused-handle

module attributes {transform.with_named_sequence} {
  // Make vectors of what is marked as a tile: of those of known size at once, of others under a mask, which is that of
  // one vector where an end is cut into these.
  transform.named_sequence @vectorize_parts(%root: !transform.any_op {transform.readonly},
      %tile: !transform.param<i64> {transform.readonly}, %lanes: !transform.param<i64> {transform.readonly}) {
    %parts = transform.structured.match attributes {any_part} in %root : (!transform.any_op) -> !transform.any_op
    %seen = transform.foreach_match restrict_root in %parts, %lanes @is_uneven_of_16_bits -> @mark_masked,
      @adds_uneven_row -> @mark_masked : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %tiles_of_any = transform.structured.match attributes {any_part} in %root : (!transform.any_op) -> !transform.any_op
    %ends_of_any = transform.structured.match attributes {any_part = "end"} in %root : (!transform.any_op) -> !transform.any_op
    %some = transform.merge_handles %tiles_of_any, %ends_of_any : !transform.any_op
    transform.foreach %some : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @mark_if_gathers_16_bits failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %tiles = transform.structured.match attributes {any_part} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %tiles : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_vectorize failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %left = transform.structured.match attributes {any_part} in %root : (!transform.any_op) -> !transform.any_op
    %masked = transform.structured.match attributes {any_part = "masked"} in %root : (!transform.any_op) -> !transform.any_op
    %uneven = transform.merge_handles %left, %masked : !transform.any_op
    transform.foreach %uneven : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_vectorize_masked failures(suppress) (%op, %tile) : (!transform.any_op, !transform.param<i64>) -> ()
    }
    %ends = transform.structured.match attributes {any_part = "end"} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %ends : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_vectorize_masked failures(suppress) (%op, %lanes) : (!transform.any_op, !transform.param<i64>) -> ()
    }
    transform.yield
  }
  // LLVM has no code for some ops on bf16 in vectors of other lengths than powers of two.
  transform.named_sequence private @is_uneven_of_16_bits(%op: !transform.any_op {transform.readonly},
      %lanes: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %bits = transform.include @bits_of_uneven failures(propagate) (%op) : (!transform.any_op) -> !transform.param<i64>
    %sixteen = transform.param.constant 16 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %bits, %sixteen : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // And where rows are added up to one it takes such vectors apart, element by element; AVX-512 has masks.
  transform.named_sequence private @adds_uneven_row(%op: !transform.any_op {transform.readonly},
      %lanes: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %bits = transform.include @bits_of_uneven failures(propagate) (%op) : (!transform.any_op) -> !transform.param<i64>
    transform.match.structured failures(propagate) %op : !transform.any_op {
    ^bb0(%linalg: !transform.any_op):
      transform.match.structured.body %linalg {reduction_position = 0} : !transform.any_op
    }
    %narrow = transform.param.constant 32 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %bits, %narrow : !transform.param<i64>
    %sixteen = transform.param.constant 16 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %lanes, %sixteen : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @bits_of_uneven(%op: !transform.any_op {transform.readonly}) -> !transform.param<i64> {
    %bits, %size = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>) {
    ^bb0(%linalg: !transform.any_op):
      %size_in = transform.match.structured.dim %linalg[0] : (!transform.any_op) -> !transform.param<i64>
      %result = transform.match.structured.init %linalg[0] : (!transform.any_op) -> !transform.any_value
      %bits_in = transform.match.structured.elemental_bitwidth %result : (!transform.any_value) -> !transform.param<i64>
      transform.match.structured.yield %bits_in, %size_in : !transform.param<i64>, !transform.param<i64>
    }
    %power_4 = transform.param.constant 4 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ne %size, %power_4 : !transform.param<i64>
    %power_8 = transform.param.constant 8 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ne %size, %power_8 : !transform.param<i64>
    %power_16 = transform.param.constant 16 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ne %size, %power_16 : !transform.param<i64>
    %power_32 = transform.param.constant 32 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ne %size, %power_32 : !transform.param<i64>
    %power_64 = transform.param.constant 64 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ne %size, %power_64 : !transform.param<i64>
    transform.yield %bits : !transform.param<i64>
  }
  // No CPU gathers elements of 16 bits: a vector of them would be put together from as many registers.
  transform.named_sequence private @mark_if_gathers_16_bits(%op: !transform.any_op {transform.readonly}) {
    transform.include @mark_gather_of_16_bits failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @mark_gather_of_16_bits(%op: !transform.any_op {transform.readonly}) {
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    %extracted = transform.structured.match ops{["tensor.extract"]} in %op : (!transform.any_op) -> !transform.any_op
    %reads = transform.num_associations %extracted : (!transform.any_op) -> !transform.param<i64>
    transform.match.param.cmpi ne %reads, %none : !transform.param<i64>
    %given = transform.structured.match ops{["arith.index_cast"]} in %op : (!transform.any_op) -> !transform.any_op
    %places = transform.num_associations %given : (!transform.any_op) -> !transform.param<i64>
    transform.match.param.cmpi ne %places, %none : !transform.param<i64>
    %bits = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %result = transform.match.structured.init %linalg[0] : (!transform.any_op) -> !transform.any_value
      %bits_in = transform.match.structured.elemental_bitwidth %result : (!transform.any_value) -> !transform.param<i64>
      transform.match.structured.yield %bits_in : !transform.param<i64>
    }
    %sixteen = transform.param.constant 16 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %bits, %sixteen : !transform.param<i64>
    %mark = transform.param.constant "gather" -> !transform.any_param
    transform.annotate %op "any_part" = %mark : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @mark_masked(%op: !transform.any_op {transform.readonly}) {
    %mark = transform.param.constant "masked" -> !transform.any_param
    transform.annotate %op "any_part" = %mark : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @try_vectorize(%op: !transform.any_op {transform.consumed}) {
    transform.include @vectorize_part failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @vectorize_part(%op: !transform.any_op {transform.consumed}) {
    transform.structured.vectorize %op {vectorize_nd_extract} : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @try_vectorize_masked(%op: !transform.any_op {transform.consumed},
      %tile: !transform.param<i64> {transform.readonly}) {
    transform.include @vectorize_masked failures(propagate) (%op, %tile) : (!transform.any_op, !transform.param<i64>) -> ()
    transform.yield
  }
  transform.named_sequence private @vectorize_masked(%op: !transform.any_op {transform.consumed},
      %tile: !transform.param<i64> {transform.readonly}) {
    transform.structured.vectorize %op vector_sizes [%tile] {vectorize_nd_extract} : !transform.any_op, !transform.param<i64>
    transform.yield
  }
  transform.named_sequence @vectorize_squares(%root: !transform.any_op {transform.readonly}) {
    %tiles = transform.structured.match attributes {square_part} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %tiles : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_vectorize failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    transform.yield
  }

  // Keep partial sums in registers, and write out what is left of masks and reductions of vectors.
  transform.named_sequence @settle_vectors(%root: !transform.any_op {transform.readonly}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.vector.lower_masked_transfers
    } : !transform.any_op
    // Reads of columns are of rows, which are transposed in registers.
    transform.apply_patterns to %function {
      transform.apply_patterns.vector.transfer_permutation_patterns
    } : !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.vector.lower_masks
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    %loops = transform.structured.match ops{["scf.for"]} in %function : (!transform.any_op) -> !transform.any_op
    transform.apply_licm to %loops : !transform.any_op
    transform.foreach %loops : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.loop.hoist_loop_invariant_subsets %each : !transform.any_op
    }
    transform.apply_patterns to %function {
      transform.apply_patterns.vector.reorder_multi_reduction_dims lowering_strategy = "innerreduction"
      transform.apply_patterns.vector.multi_reduction_flattening lowering_strategy = "innerreduction"
      transform.apply_patterns.vector.multi_reduction_unrolling lowering_strategy = "innerreduction"
      transform.apply_patterns.vector.lower_broadcast
      transform.apply_patterns.vector.drop_unit_dims_with_shape_cast
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.vector.lower_transpose lowering_strategy = "shuffle_16x16" avx2_lowering_strategy = true
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    // The parts of a sum were added in another order already.
    %in_any_order = transform.param.constant #arith.fastmath<reassoc> -> !transform.any_param
    %totals = transform.structured.match ops{["vector.reduction"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %totals "fastmath" = %in_any_order : !transform.any_op, !transform.any_param
    transform.yield
  }
}
