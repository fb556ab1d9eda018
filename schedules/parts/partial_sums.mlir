// Payload: a linalg op of one loop, a reduction, with one to three results.
// Idea:    as many partial results as a tile has elements, so that no step waits for the one before; they are combined
//          at the end. The number has to be written out, as has the number of results: hence a sequence for each. What
//          cannot be split, such as the position of a maximum, stays as it is.
// Knobs:   none.
// Result:  those of reductions.mlir.
// lhkit: allow zero-match, no-effect, tile-size-too-large, tile-size-whole, unused-handle

module attributes {transform.with_named_sequence} {
  transform.named_sequence @try_partial_sums_1_64(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_1_64 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_1_64(%op: !transform.any_op {transform.consumed}) {
    %all:4 = transform.structured.tile_reduction_using_for %op by tile_sizes = [64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#2 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#1, %all#3) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence @try_partial_sums_1_32(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_1_32 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_1_32(%op: !transform.any_op {transform.consumed}) {
    %all:4 = transform.structured.tile_reduction_using_for %op by tile_sizes = [32]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#2 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#1, %all#3) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence @try_partial_sums_1_16(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_1_16 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_1_16(%op: !transform.any_op {transform.consumed}) {
    %all:4 = transform.structured.tile_reduction_using_for %op by tile_sizes = [16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#2 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#1, %all#3) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence @try_partial_sums_1_8(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_1_8 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_1_8(%op: !transform.any_op {transform.consumed}) {
    %all:4 = transform.structured.tile_reduction_using_for %op by tile_sizes = [8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#2 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#1, %all#3) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence @try_partial_sums_1_4(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_1_4 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_1_4(%op: !transform.any_op {transform.consumed}) {
    %all:4 = transform.structured.tile_reduction_using_for %op by tile_sizes = [4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#2 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#1, %all#3) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence @try_partial_sums_2_64(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_2_64 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_2_64(%op: !transform.any_op {transform.consumed}) {
    %all:6 = transform.structured.tile_reduction_using_for %op by tile_sizes = [64]
     
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#1, %all#3, %all#4 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#2, %all#5) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence @try_partial_sums_2_32(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_2_32 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_2_32(%op: !transform.any_op {transform.consumed}) {
    %all:6 = transform.structured.tile_reduction_using_for %op by tile_sizes = [32]
     
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#1, %all#3, %all#4 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#2, %all#5) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence @try_partial_sums_2_16(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_2_16 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_2_16(%op: !transform.any_op {transform.consumed}) {
    %all:6 = transform.structured.tile_reduction_using_for %op by tile_sizes = [16]
     
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#1, %all#3, %all#4 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#2, %all#5) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence @try_partial_sums_2_8(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_2_8 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_2_8(%op: !transform.any_op {transform.consumed}) {
    %all:6 = transform.structured.tile_reduction_using_for %op by tile_sizes = [8]
     
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#1, %all#3, %all#4 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#2, %all#5) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence @try_partial_sums_2_4(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_2_4 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_2_4(%op: !transform.any_op {transform.consumed}) {
    %all:6 = transform.structured.tile_reduction_using_for %op by tile_sizes = [4]
     
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#1, %all#3, %all#4 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#2, %all#5) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence @try_partial_sums_3_64(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_3_64 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_3_64(%op: !transform.any_op {transform.consumed}) {
    %all:8 = transform.structured.tile_reduction_using_for %op by tile_sizes = [64]
     
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#1, %all#2, %all#4, %all#5, %all#6 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#3, %all#7) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence @try_partial_sums_3_32(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_3_32 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_3_32(%op: !transform.any_op {transform.consumed}) {
    %all:8 = transform.structured.tile_reduction_using_for %op by tile_sizes = [32]
     
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#1, %all#2, %all#4, %all#5, %all#6 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#3, %all#7) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence @try_partial_sums_3_16(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_3_16 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_3_16(%op: !transform.any_op {transform.consumed}) {
    %all:8 = transform.structured.tile_reduction_using_for %op by tile_sizes = [16]
     
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#1, %all#2, %all#4, %all#5, %all#6 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#3, %all#7) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence @try_partial_sums_3_8(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_3_8 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_3_8(%op: !transform.any_op {transform.consumed}) {
    %all:8 = transform.structured.tile_reduction_using_for %op by tile_sizes = [8]
     
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#1, %all#2, %all#4, %all#5, %all#6 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#3, %all#7) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence @try_partial_sums_3_4(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_3_4 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_3_4(%op: !transform.any_op {transform.consumed}) {
    %all:8 = transform.structured.tile_reduction_using_for %op by tile_sizes = [4]
     
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#1, %all#2, %all#4, %all#5, %all#6 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#3, %all#7) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }

  // In parts/inner.mlir:
  transform.named_sequence private @split_off_end(!transform.any_op {transform.readonly}, !transform.any_op {transform.consumed})
}
