// producer: 10
// consumer: 22
// cause: side-effects
// repair: no
// A layer with a probe: the hidden activations are put into a buffer that a debugger may look at and change, and read back.
func.func private @probe(%hidden: memref<32x640xf32>)
func.func @probed(%x: tensor<32x640xf32>, %gain: tensor<640xf32>, %w: tensor<640x128xf32>, %acc: tensor<32x128xf32>) -> tensor<32x128xf32> {
  %buffer = memref.alloc() : memref<32x640xf32>
  %empty = tensor.empty() : tensor<32x640xf32>
  %hidden = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %gain : tensor<32x640xf32>, tensor<640xf32>) outs(%empty : tensor<32x640xf32>) {
  ^bb0(%a: f32, %g: f32, %o: f32):
    %scaled = arith.mulf %a, %g : f32
    %act = math.absf %scaled : f32
    linalg.yield %act : f32
  } -> tensor<32x640xf32>
  bufferization.materialize_in_destination %hidden in restrict writable %buffer : (tensor<32x640xf32>, memref<32x640xf32>) -> ()
  call @probe(%buffer) : (memref<32x640xf32>) -> ()
  %seen = bufferization.to_tensor %buffer restrict : memref<32x640xf32> to tensor<32x640xf32>
  %y = linalg.matmul ins(%seen, %w : tensor<32x640xf32>, tensor<640x128xf32>) outs(%acc : tensor<32x128xf32>) -> tensor<32x128xf32>
  return %y : tensor<32x128xf32>
}

// -----

// Rows in parallel, then the depth of the product in steps; the hidden activations of a step are computed in it.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %hidden = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %y = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %rows, %threads = transform.structured.tile_using_forall %y tile_sizes [8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %hidden_in, %threads_1 = transform.structured.fuse_into_containing_op %hidden into %threads
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %deep, %steps = transform.structured.tile_using_for %rows tile_sizes [0, 0, 64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
