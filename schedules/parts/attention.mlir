// Payload: attention on tensors, as parts of ops that work by elements, reductions and contractions: products of queries
//          and keys, scaled and masked or not, the softmax of each row of them, and its product with the values.
// Idea:    some rows of queries at a time go all the way, so that the scores of these rows stay in the second-level
//          cache and nothing of queries by keys is in memory: the last product is cut into rows, and all ops back to
//          the first product are fused into the loop. What computes queries, keys and values has to be out of reach.
//          To be included: a schedule names this file and parts/cpu.mlir in comments (lhkit: library
//          parts/attention.mlir) and declares the sequences that it includes.
// Knobs:   none; %rows is how many rows of queries go at a time.
// Result:  that of cpu.mlir.
// Most payloads have no attention.
// lhkit: allow zero-match, no-effect, tile-size-too-large, tile-size-whole

module attributes {transform.with_named_sequence} {
  // Mark the two products of each attention.
  transform.named_sequence @find_attention(%root: !transform.any_op {transform.readonly}) {
    %functions = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %all = transform.foreach_match in %functions @reads_softmax -> @mark_attention, @reads_softmax_of_scaled -> @mark_attention
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence private @mark_attention(%values: !transform.any_op {transform.readonly},
      %scores: !transform.any_op {transform.readonly}) {
    transform.annotate %values "attention_values" : !transform.any_op
    transform.annotate %scores "attention_scores" : !transform.any_op
    transform.yield
  }
  // A contraction with the softmax of a contraction.
  transform.named_sequence private @reads_softmax(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_op) {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %shares = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.any_op {
    ^bb0(%values: !transform.any_op):
      transform.match.structured.body %values {contraction = ["arith.mulf", "arith.addf"]} : !transform.any_op
      %values_from = transform.match.structured.input %values[0] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %values_from : !transform.any_op
    }
    transform.match.operation_name %shares ["linalg.generic"] : !transform.any_op
    %total = transform.match.structured failures(propagate) %shares : (!transform.any_op) -> !transform.any_op {
    ^bb0(%divided: !transform.any_op):
      transform.match.structured.dim %divided[all] {parallel} : !transform.any_op
      %divided_from = transform.match.structured.input %divided[1] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %divided_from : !transform.any_op
    }
    transform.match.operation_name %total ["linalg.generic"] : !transform.any_op
    transform.match.structured failures(propagate) %total : !transform.any_op {
    ^bb0(%sums: !transform.any_op):
      transform.match.structured.dim %sums[-1] {reduction} : !transform.any_op
      transform.match.structured.yield
    }
    %exponentials = transform.match.structured failures(propagate) %shares : (!transform.any_op) -> !transform.any_op {
    ^bb0(%dividend: !transform.any_op):
      transform.match.structured.dim %dividend[all] {parallel} : !transform.any_op
      %dividend_from = transform.match.structured.input %dividend[0] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %dividend_from : !transform.any_op
    }
    transform.match.operation_name %exponentials ["linalg.generic"] : !transform.any_op
    %scores = transform.match.structured failures(propagate) %exponentials : (!transform.any_op) -> !transform.any_op {
    ^bb0(%raised: !transform.any_op):
      transform.match.structured.dim %raised[all] {parallel} : !transform.any_op
      %raised_from = transform.match.structured.input %raised[0] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %raised_from : !transform.any_op
    }
    transform.match.operation_name %scores ["linalg.generic"] : !transform.any_op
    transform.match.structured failures(propagate) %scores : !transform.any_op {
    ^bb0(%sums_of_products: !transform.any_op):
      transform.match.structured.body %sums_of_products {contraction = ["arith.mulf", "arith.addf"]} : !transform.any_op
      transform.match.structured.yield
    }
    transform.yield %op, %scores : !transform.any_op, !transform.any_op
  }
  // The same, with scaled or masked scores.
  transform.named_sequence private @reads_softmax_of_scaled(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_op) {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %shares = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.any_op {
    ^bb0(%values: !transform.any_op):
      transform.match.structured.body %values {contraction = ["arith.mulf", "arith.addf"]} : !transform.any_op
      %values_from = transform.match.structured.input %values[0] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %values_from : !transform.any_op
    }
    transform.match.operation_name %shares ["linalg.generic"] : !transform.any_op
    %total = transform.match.structured failures(propagate) %shares : (!transform.any_op) -> !transform.any_op {
    ^bb0(%divided: !transform.any_op):
      transform.match.structured.dim %divided[all] {parallel} : !transform.any_op
      %divided_from = transform.match.structured.input %divided[1] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %divided_from : !transform.any_op
    }
    transform.match.operation_name %total ["linalg.generic"] : !transform.any_op
    transform.match.structured failures(propagate) %total : !transform.any_op {
    ^bb0(%sums: !transform.any_op):
      transform.match.structured.dim %sums[-1] {reduction} : !transform.any_op
      transform.match.structured.yield
    }
    %exponentials = transform.match.structured failures(propagate) %shares : (!transform.any_op) -> !transform.any_op {
    ^bb0(%dividend: !transform.any_op):
      transform.match.structured.dim %dividend[all] {parallel} : !transform.any_op
      %dividend_from = transform.match.structured.input %dividend[0] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %dividend_from : !transform.any_op
    }
    transform.match.operation_name %exponentials ["linalg.generic"] : !transform.any_op
    %scores = transform.match.structured failures(propagate) %exponentials : (!transform.any_op) -> !transform.any_op {
    ^bb0(%raised: !transform.any_op):
      transform.match.structured.dim %raised[all] {parallel} : !transform.any_op
      %raised_from = transform.match.structured.input %raised[0] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %raised_from : !transform.any_op
    }
    transform.match.operation_name %scores ["linalg.generic"] : !transform.any_op
    %products = transform.match.structured failures(propagate) %scores : (!transform.any_op) -> !transform.any_op {
    ^bb0(%scaled: !transform.any_op):
      transform.match.structured.dim %scaled[all] {parallel} : !transform.any_op
      %scaled_from = transform.match.structured.input %scaled[0] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %scaled_from : !transform.any_op
    }
    transform.match.operation_name %products ["linalg.generic"] : !transform.any_op
    transform.match.structured failures(propagate) %products : !transform.any_op {
    ^bb0(%sums_of_products: !transform.any_op):
      transform.match.structured.body %sums_of_products {contraction = ["arith.mulf", "arith.addf"]} : !transform.any_op
      transform.match.structured.yield
    }
    transform.yield %op, %products : !transform.any_op, !transform.any_op
  }

  // Compute attention in so many rows of queries at a time.
  transform.named_sequence @fuse_attention(%root: !transform.any_op {transform.readonly}, %rows: !transform.param<i64> {transform.readonly}) {
    %values = transform.structured.match attributes {attention_values} in %root : (!transform.any_op) -> !transform.any_op
    %seen = transform.foreach_match restrict_root in %values @has_3_loops -> @mark_3_loops, @has_4_loops -> @mark_4_loops,
      @has_5_loops -> @mark_5_loops : (!transform.any_op) -> !transform.any_op
    %values_3 = transform.structured.match attributes {attention_loops = 3} in %root : (!transform.any_op) -> !transform.any_op
    %tile_3, %loops_3 = transform.structured.fuse %values_3 tile_sizes [%rows]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    %whole_3, %rest_3 = transform.include @split_off_rest failures(propagate) (%root, %tile_3, %loops_3)
      : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %values_4 = transform.structured.match attributes {attention_loops = 4} in %root : (!transform.any_op) -> !transform.any_op
    %tile_4, %loops_4:2 = transform.structured.fuse %values_4 tile_sizes [1, %rows]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %whole_4, %rest_4 = transform.include @split_off_rest failures(propagate) (%root, %tile_4, %loops_4#1)
      : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %values_5 = transform.structured.match attributes {attention_loops = 5} in %root : (!transform.any_op) -> !transform.any_op
    %tile_5, %loops_5:3 = transform.structured.fuse %values_5 tile_sizes [1, 1, %rows]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %whole_5, %rest_5 = transform.include @split_off_rest failures(propagate) (%root, %tile_5, %loops_5#2)
      : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    // What scales or masks scores ends their product where both have the same loops.
    %functions = transform.include @functions_on_tensors failures(propagate) (%root) : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %functions {
      transform.apply_patterns.linalg.fold_unit_extent_dims_via_reshapes
    } : !transform.any_op
    // The scores were fused for every op that reads them.
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @has_3_loops(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %number = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%generic: !transform.any_op):
      transform.match.structured.dim %generic[-1] {reduction} : !transform.any_op
      %loops = transform.match.structured.rank %generic : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %loops : !transform.param<i64>
    }
    %wanted = transform.param.constant 3 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %number, %wanted : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_3_loops(%op: !transform.any_op {transform.readonly}) {
    %number = transform.param.constant 3 : i64 -> !transform.param<i64>
    transform.annotate %op "attention_loops" = %number : !transform.any_op, !transform.param<i64>
    transform.yield
  }
  transform.named_sequence private @has_4_loops(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %number = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%generic: !transform.any_op):
      transform.match.structured.dim %generic[-1] {reduction} : !transform.any_op
      %loops = transform.match.structured.rank %generic : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %loops : !transform.param<i64>
    }
    %wanted = transform.param.constant 4 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %number, %wanted : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_4_loops(%op: !transform.any_op {transform.readonly}) {
    %number = transform.param.constant 4 : i64 -> !transform.param<i64>
    transform.annotate %op "attention_loops" = %number : !transform.any_op, !transform.param<i64>
    transform.yield
  }
  transform.named_sequence private @has_5_loops(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %number = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%generic: !transform.any_op):
      transform.match.structured.dim %generic[-1] {reduction} : !transform.any_op
      %loops = transform.match.structured.rank %generic : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %loops : !transform.param<i64>
    }
    %wanted = transform.param.constant 5 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %number, %wanted : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_5_loops(%op: !transform.any_op {transform.readonly}) {
    %number = transform.param.constant 5 : i64 -> !transform.param<i64>
    transform.annotate %op "attention_loops" = %number : !transform.any_op, !transform.param<i64>
    transform.yield
  }

  // In parts/loop_order.mlir:
  transform.named_sequence private @functions_on_tensors(!transform.any_op {transform.readonly}) -> !transform.any_op
  // In parts/cpu.mlir:
  transform.named_sequence private @clean_up(!transform.any_op {transform.readonly})
  transform.named_sequence private @split_off_rest(!transform.any_op {transform.readonly},
    !transform.any_op {transform.readonly}, !transform.any_op {transform.consumed})
    -> (!transform.any_op, !transform.any_op)
}
