// producer: 8
// consumer: 24
// cause: outside-the-loop
// repair: yes
// The preprocessing is a function of its own, as the library has it.
func.func private @normalize(%pixels: tensor<3x224x224xi8>, %mean: tensor<3xf32>) -> tensor<3x224x224xf32> {
  %room = tensor.empty() : tensor<3x224x224xf32>
  %wide = linalg.generic {indexing_maps = [affine_map<(c, h, w) -> (c, h, w)>, affine_map<(c, h, w) -> (c)>, affine_map<(c, h, w) -> (c, h, w)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%pixels, %mean : tensor<3x224x224xi8>, tensor<3xf32>) outs(%room : tensor<3x224x224xf32>) {
  ^bb0(%p: i8, %m: f32, %out: f32):
    %f = arith.uitofp %p : i8 to f32
    %d = arith.subf %f, %m : f32
    linalg.yield %d : f32
  } -> tensor<3x224x224xf32>
  return %wide : tensor<3x224x224xf32>
}

func.func @first_pool(%pixels: tensor<3x224x224xi8>, %mean: tensor<3xf32>) -> tensor<3x112x112xf32> {
  %low = arith.constant 0xFF800000 : f32
  %input = call @normalize(%pixels, %mean) : (tensor<3x224x224xi8>, tensor<3xf32>) -> tensor<3x224x224xf32>
  %room = tensor.empty() : tensor<3x112x112xf32>
  %window = tensor.empty() : tensor<2x2xf32>
  %init = linalg.fill ins(%low : f32) outs(%room : tensor<3x112x112xf32>) -> tensor<3x112x112xf32>
  %pooled = linalg.generic {indexing_maps = [affine_map<(c, h, w, y, x) -> (c, 2 * h + y, 2 * w + x)>, affine_map<(c, h, w, y, x) -> (y, x)>, affine_map<(c, h, w, y, x) -> (c, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%input, %window : tensor<3x224x224xf32>, tensor<2x2xf32>) outs(%init : tensor<3x112x112xf32>) {
  ^bb0(%v: f32, %unused: f32, %acc: f32):
    %max = arith.maximumf %v, %acc : f32
    linalg.yield %max : f32
  } -> tensor<3x112x112xf32>
  return %pooled : tensor<3x112x112xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %generics = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %normalize, %pool = transform.split_handle %generics : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %tile, %forall = transform.structured.tile_using_forall %pool num_threads [3, 7]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %normalized, %both = transform.structured.fuse_into_containing_op %normalize into %forall
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
