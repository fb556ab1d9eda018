// An image with a border of zeros around it.
func.func @pad_to_insert_slice(%image: tensor<5x7xf32>) -> tensor<8x10xf32> {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %image low[1, 2] high[2, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<5x7xf32> to tensor<8x10xf32>
  return %padded : tensor<8x10xf32>
}
