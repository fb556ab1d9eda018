// producer: 12
// consumer: 15
// cause: outside-the-loop
// repair: yes
// A recurrent cell over a sequence that was exported with a length of 1; the state starts as a projection of the context.
#id = affine_map<(b, h) -> (b, h)>
func.func @decoder(%ctx: tensor<48x64xf32>, %w: tensor<64x128xf32>, %bias: tensor<48x128xf32>, %xs: tensor<1x48x128xf32>) -> tensor<48x128xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<48x128xf32>
  %h0 = linalg.matmul {tag = "project"} ins(%ctx, %w : tensor<48x64xf32>, tensor<64x128xf32>) outs(%bias : tensor<48x128xf32>) -> tensor<48x128xf32>
  %h = scf.for %t = %c0 to %c1 step %c1 iter_args(%s = %h0) -> (tensor<48x128xf32>) {
    %x = tensor.extract_slice %xs[%t, 0, 0] [1, 48, 128] [1, 1, 1] : tensor<1x48x128xf32> to tensor<48x128xf32>
    %n = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%s, %x : tensor<48x128xf32>, tensor<48x128xf32>) outs(%e : tensor<48x128xf32>) attrs = {tag = "cell"} {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.addf %a, %b : f32
      %q = math.tanh %p : f32
      linalg.yield %q : f32
    } -> tensor<48x128xf32>
    scf.yield %n : tensor<48x128xf32>
  } {tag = "time"}
  return %h : tensor<48x128xf32>
}

// -----

// Tiles of the new state; the state that a step starts from is to be computed there too.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %project = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %cell = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %grid = transform.structured.tile_using_forall %cell num_threads [6, 4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %project_in, %grid_1 = transform.structured.fuse_into_containing_op %project into %grid
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
