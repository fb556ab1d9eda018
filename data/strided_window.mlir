// Every second row and column, read with strides, and doubled.
func.func @strided_window(%source: tensor<1024x1024xf32>) -> tensor<512x512xf32> {
  %window = tensor.extract_slice %source[1, 0] [512, 512] [2, 2] : tensor<1024x1024xf32> to tensor<512x512xf32>
  %doubled_empty = tensor.empty() : tensor<512x512xf32>
  %doubled = linalg.add ins(%window, %window : tensor<512x512xf32>, tensor<512x512xf32>) outs(%doubled_empty : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %doubled : tensor<512x512xf32>
}
