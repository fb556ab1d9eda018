// A sum whose operands have dimensions of extent 1: loops that run once.
#map = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#repeated = affine_map<(d0, d1, d2) -> (d0, 0, d2)>
func.func @fold_unit_dims(%a: tensor<1x6x5xf32>, %b: tensor<1x1x5xf32>) -> tensor<1x6x5xf32> {
  %empty = tensor.empty() : tensor<1x6x5xf32>
  %sum = linalg.generic {indexing_maps = [#map, #repeated, #map], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a, %b : tensor<1x6x5xf32>, tensor<1x1x5xf32>) outs(%empty : tensor<1x6x5xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %value = arith.addf %x, %y : f32
    linalg.yield %value : f32
  } -> tensor<1x6x5xf32>
  return %sum : tensor<1x6x5xf32>
}
