// Adds the product of two tiles to a third. The types are lhkit's: a memref each, with its element type.
void matmul_tile(memref_2d_float32 *lhs, memref_2d_float32 *rhs, memref_2d_float32 *out) {
  const float *a = lhs->aligned + lhs->offset;
  const float *b = rhs->aligned + rhs->offset;
  float *c = out->aligned + out->offset;
  for (int64_t i = 0; i < out->sizes[0]; i++)
    for (int64_t k = 0; k < lhs->sizes[1]; k++)
      for (int64_t j = 0; j < out->sizes[1]; j++)
        c[i * out->strides[0] + j * out->strides[1]] +=
            a[i * lhs->strides[0] + k * lhs->strides[1]] * b[k * rhs->strides[0] + j * rhs->strides[1]];
}
