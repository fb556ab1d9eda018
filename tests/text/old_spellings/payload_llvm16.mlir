// Payload ops as LLVM 16 wrote them.
func.func @g(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %o: tensor<4x4xf32>, %m: memref<4x4xf32>, %i: index) -> tensor<4x4xf32> {
  %c = arith.constant 2 : index
  %f = arith.constant 1.0 : f32
  %1 = linalg.elemwise_unary {fun = #linalg.unary_fn<exp>} ins(%a : tensor<4x4xf32>) outs(%o : tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = linalg.elemwise_binary {fun = #linalg.binary_fn<mul>} ins(%a, %1 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%o : tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = linalg.matmul_transpose_b ins(%a, %2 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%o : tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = scf.foreach_thread (%x, %y) in (%c, %c) shared_outs(%s = %o) -> (tensor<4x4xf32>) {
    %t = tensor.extract_slice %3[%x, %y] [2, 2] [1, 1] : tensor<4x4xf32> to tensor<2x2xf32>
    scf.foreach_thread.perform_concurrently {
      tensor.parallel_insert_slice %t into %s[%x, %y] [2, 2] [1, 1] : tensor<2x2xf32> into tensor<4x4xf32>
    }
  } {mapping = [#gpu.thread<y>, #gpu.thread<x>]}
  %e = tensor.empty() : tensor<2x2x2x2xf32>
  %p = tensor.pack %4 inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %e : tensor<4x4xf32> -> tensor<2x2x2x2xf32>
  %u = tensor.unpack %p inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %o : tensor<2x2x2x2xf32> -> tensor<4x4xf32>
  %mb = bufferization.to_memref %u : memref<4x4xf32>
  %tt = bufferization.to_tensor %mb : memref<4x4xf32>
  %mx = arith.maxf %f, %f : f32
  %mn = arith.minf %f, %mx : f32
  %v = vector.splat %mn : vector<4xf32>
  %ve = vector.extractelement %v[%i : index] : vector<4xf32>
  %vi = vector.insertelement %ve, %v[%i : index] : vector<4xf32>
  %v2 = vector.broadcast %vi : vector<4xf32> to vector<2x4xf32>
  %v3 = vector.extract %v2[1] : vector<2x4xf32>
  memref.tensor_store %tt, %m : memref<4x4xf32>
  %xs = tensor.expand_shape %tt [[0, 1], [2]] : tensor<4x4xf32> into tensor<2x2x4xf32>
  return %tt : tensor<4x4xf32>
}
