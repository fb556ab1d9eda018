// producer: 14
// consumer: 22
// cause: outside-the-loop
// repair: no
// A recurrence of six steps: the state starts as a gated embedding, then decays and takes in the input at each step.
#id = affine_map<(b, d) -> (b, d)>
#row = affine_map<(b, d) -> (d)>
module {
  func.func @recur(%emb: tensor<96x320xf32>, %gate: tensor<320xf32>, %decay: tensor<320xf32>, %x: tensor<96x320xf32>) -> tensor<96x320xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c6 = arith.constant 6 : index
    %e = tensor.empty() : tensor<96x320xf32>
    %state = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
        ins(%emb, %gate : tensor<96x320xf32>, tensor<320xf32>) outs(%e : tensor<96x320xf32>) attrs = {start} {
    ^bb0(%v: f32, %g: f32, %out: f32):
      %m = arith.mulf %v, %g : f32
      linalg.yield %m : f32
    } -> tensor<96x320xf32>
    %last = scf.for %i = %c0 to %c6 step %c1 iter_args(%h = %state) -> (tensor<96x320xf32>) {
      %e1 = tensor.empty() : tensor<96x320xf32>
      %next = linalg.generic {indexing_maps = [#id, #row, #id, #id], iterator_types = ["parallel", "parallel"]}
          ins(%h, %decay, %x : tensor<96x320xf32>, tensor<320xf32>, tensor<96x320xf32>) outs(%e1 : tensor<96x320xf32>) attrs = {step} {
      ^bb0(%v: f32, %d: f32, %in: f32, %out: f32):
        %k = arith.mulf %v, %d : f32
        %s = arith.addf %k, %in : f32
        linalg.yield %s : f32
      } -> tensor<96x320xf32>
      scf.yield %next : tensor<96x320xf32>
    }
    return %last : tensor<96x320xf32>
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %state = transform.structured.match ops{["linalg.generic"]} attributes{start} in %root : (!transform.any_op) -> !transform.any_op
    %next = transform.structured.match ops{["linalg.generic"]} attributes{step} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %tiles = transform.structured.tile_using_forall %next num_threads [8, 2]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    // The first state need not be written as a whole.
    %state_tile, %tiles_1 = transform.structured.fuse_into_containing_op %state into %tiles
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
