"""Sizes in which every generator of payloads is quick to compile; small and odd: nothing is a multiple of a vector."""

SIZES = {
    "attention": (13, 6),
    "batch_matmul": (3, 5, 7, 9),
    "conv2d_nhwc": (2, 5, 7, 3, 4, 3),
    "depthwise_conv2d_nhwc": (2, 5, 7, 3, 3),
    "elementwise_chain": (33, 17),
    "fc_relu": (33, 17, 9),
    "layernorm": (9, 17),
    "matmul": (33, 17, 9),
    "matmul_bf16_f32": (33, 17, 9),
    "matmul_dynamic": (),
    "matmul_i8_i32": (33, 17, 9),
    "matvec": (33, 17),
    "mlp": (5, (7, 9, 11, 3)),
    "op_chain": (97,),
    "relu_dynamic": (),
    "row_sum": (33, 17),
    "softmax": (9, 17),
    "strided_window": (5, 7),
    "transpose": (33, 17),
    "transpose_pack": (9, 7, 13),
}
