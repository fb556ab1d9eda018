// Payload: any function on tensors: a model imported from PyTorch, data/mlp.mlir, data/softmax.mlir, ...
// Idea:    a model goes in, and functions that each run as one piece of work (dispatches) come out, with calls of them
//          in the order of the model; equal pieces are one function. After IREE's Flow pipeline, whose passes are the
//          entries of schedules/flow; the rows below are theirs. Left out are those that have nothing to do here or
//          would keep cpu.mlir from its own work: demote_f64 (1) changes types; img2col (3), mmt4d (6) and
//          pad_to_multiple (7) choose a layout, pads become insert_slice (15), split_reduction (24) needs a
//          factor; globals (9 to 14) are the module's, not the function's.
// Before:  func @main { linalg.transpose, linalg.matmul, linalg.generic, linalg.matmul, linalg.generic }
// After:   func @main { call @dispatch_0, call @dispatch_1, call @dispatch_0 } and two functions
// Next:    parts = lhkit.apply(payload, "pipelines/flow.mlir"); kernel = lhkit.assemble(parts) gives each dispatch
//          cpu.mlir, and lhkit.profile(kernel) its time.
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @is_product(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.match.structured %op : !transform.any_op {
    ^bb0(%generic: !transform.any_op):
      transform.match.structured.body %generic {contraction = ["arith.mulf", "arith.addf"]} : !transform.any_op
    }
    transform.yield %op : !transform.any_op
  }

  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    // 2: a convolution with a window of 1x1 is a product.
    %convolutions = transform.structured.match ops{["linalg.conv_2d_nhwc_hwcf", "linalg.conv_2d_nchw_fchw"]} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.foreach %convolutions : !transform.any_op {
    ^bb0(%convolution: !transform.any_op):
      transform.sequence %convolution : !transform.any_op failures(suppress) {
      ^bb1(%each: !transform.any_op):
        %product = "lhkit.convert_conv_1x1_to_matmul"(%each) : (!transform.any_op) -> !transform.any_op
      }
    }
    // 4: a product that adds to what was computed before it starts from zeros; the sum joins what follows.
    %products = transform.structured.match ops{[
        "linalg.matmul", "linalg.batch_matmul", "linalg.matvec", "linalg.vecmat", "linalg.dot", "linalg.batch_matvec",
        "linalg.batch_vecmat", "linalg.conv_2d_nhwc_hwcf", "linalg.conv_2d_nhwc_fhwc", "linalg.conv_2d_nchw_fchw",
        "linalg.conv_1d_nwc_wcf", "linalg.conv_1d_ncw_fcw", "linalg.depthwise_conv_2d_nhwc_hwc",
        "linalg.depthwise_conv_2d_nchw_chw"]} in %root : (!transform.any_op) -> !transform.any_op
    %detached, %sums = "lhkit.detach_elementwise"(%products)
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    // 8: depthwise convolutions with one filter a channel have one dimension less.
    %depthwise = transform.apply_registered_pass "simplify-depthwise-conv" to %function
      : (!transform.any_op) -> !transform.any_op
    // 16: arithmetic on whole tensors becomes loops over elements.
    %loops = transform.apply_registered_pass "convert-elementwise-to-linalg" to %depthwise
      : (!transform.any_op) -> !transform.any_op
    // 12, 17, 20, 21: dimensions of extent 1 go, and what is computed twice.
    transform.apply_patterns to %loops {
      transform.apply_patterns.linalg.fold_unit_extent_dims_via_reshapes
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %loops : !transform.any_op
    // 19: sizes of results are computed from sizes of arguments, so that nothing waits for a result to know a size.
    %sized = transform.apply_registered_pass "resolve-shaped-type-result-dims" to %loops
      : (!transform.any_op) -> !transform.any_op
    // 22: elementwise work becomes one loop. Products are put aside meanwhile: what is fused into one is computed again for
    // each column.
    %named = transform.structured.match ops{[
        "linalg.abs", "linalg.add", "linalg.broadcast", "linalg.ceil", "linalg.copy", "linalg.div",
        "linalg.div_unsigned", "linalg.elementwise", "linalg.erf", "linalg.exp", "linalg.floor", "linalg.log",
        "linalg.map", "linalg.max", "linalg.min", "linalg.mul", "linalg.negf", "linalg.powf", "linalg.reciprocal",
        "linalg.reduce", "linalg.round", "linalg.rsqrt", "linalg.select", "linalg.sqrt", "linalg.square",
        "linalg.sub", "linalg.tanh", "linalg.transpose"]} in %sized
      : (!transform.any_op) -> !transform.any_op
    %generic = transform.structured.generalize %named : (!transform.any_op) -> !transform.any_op
    %generic_products = transform.collect_matching @is_product in %root : (!transform.any_op) -> !transform.any_op
    %named_products = transform.structured.match ops{[
        "linalg.matmul", "linalg.batch_matmul", "linalg.matvec", "linalg.vecmat", "linalg.dot", "linalg.batch_matvec",
        "linalg.batch_vecmat", "linalg.conv_2d_nhwc_hwcf", "linalg.conv_2d_nhwc_fhwc", "linalg.conv_2d_nchw_fchw",
        "linalg.conv_1d_nwc_wcf", "linalg.conv_1d_ncw_fcw", "linalg.depthwise_conv_2d_nhwc_hwc",
        "linalg.depthwise_conv_2d_nchw_chw"]} in %root : (!transform.any_op) -> !transform.any_op
    %contractions = transform.merge_handles %generic_products, %named_products : !transform.any_op
    %aside = "lhkit.outline_ops"(%contractions) {name = "contraction"} : (!transform.any_op) -> !transform.any_op
    %others = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %merged = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %others
      : (!transform.any_op) -> !transform.any_op
    %model = transform.apply_registered_pass "inline" to %root : (!transform.any_op) -> !transform.any_op
    %fused = transform.structured.match ops{["func.func"]} in %model : (!transform.any_op) -> !transform.any_op
    // 18: loops of reductions go inside.
    %generics = transform.structured.match ops{["linalg.generic"]} in %fused : (!transform.any_op) -> !transform.any_op
    %ordered = "lhkit.interchange_reductions"(%generics) : (!transform.any_op) -> !transform.any_op
    // 23: tensors without dimensions become scalars.
    "lhkit.detensorize"(%fused) : (!transform.any_op) -> ()
    transform.apply_patterns to %fused {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %fused : !transform.any_op
    // 27, 28, 31, 33: each reduction, with what ends it, becomes a function of its own, which also reads transposed what
    // it alone reads so; equal ones are one.
    %regions = "lhkit.form_dispatch_regions"(%fused) {no_inline = false} : (!transform.any_op) -> !transform.any_op
    %calls = "lhkit.outline_ops"(%regions) {name = "dispatch"} : (!transform.any_op) -> !transform.any_op
    %functions = transform.structured.match ops{["func.func"]} in %model : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %functions {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    // 36: functions that nothing calls go.
    %cleaned = transform.apply_registered_pass "symbol-dce" to %model : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
