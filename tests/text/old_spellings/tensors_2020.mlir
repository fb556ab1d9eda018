// Linalg on tensors as it was first proposed.
func @product(%a: tensor<16x64xf32>, %b: tensor<64x33xf32>, %c: tensor<16x33xf32>)
-> tensor<16x33xf32> {
%c0 = constant 0 : index
%c2 = constant 2 : index
%c16 = constant 16 : index
%0 = scf.for %i = %c0 to %c16 step %c2 iter_args(%acc = %c) -> (tensor<16x33xf32>) {
%1 = subtensor %a[%i, 0] [2, 64] [1, 1] : tensor<16x64xf32> to tensor<2x64xf32>
%2 = subtensor %acc[%i, 0] [2, 33] [1, 1] : tensor<16x33xf32> to tensor<2x33xf32>
%3 = linalg.matmul ins(%1, %b : tensor<2x64xf32>, tensor<64x33xf32>) init(%2 : tensor<2x33xf32>) -> tensor<2x33xf32>
%4 = subtensor_insert %3 into %acc[%i, 0] [2, 33] [1, 1] : tensor<2x33xf32> into tensor<16x33xf32>
scf.yield %4 : tensor<16x33xf32>
}
return %0 : tensor<16x33xf32>
}
