// Payload: data/conv2d_nhwc.mlir, or another function with linalg.conv_2d_nhwc_hwcf of f32, in any shape from 1
//          throughout on, static or dynamic, with any strides and dilations. Other ops of linalg, but for the fill
//          that it starts from, are for another schedule.
// Idea:    some pixels of a row times some filters stay in vector registers while all taps of the window and a
//          block of channels are added to them: of each channel a vector of filters is read once for all pixels.
//          What the filters of a strip say about a block of channels is copied into a panel without gaps, which
//          then stays in the second-level cache for all pixels of the image. Side by side, pixels, filters and
//          channels are a product of matrices, a contraction; where windows lie apart (strides), pixels are
//          multiplied one by one, which costs nothing. Ends are peeled; filters that fill no vector are filled up
//          with zeros.
//          Windows of 3x3 over at least 12x12 pixels, an even number in each direction, are computed by Winograd's
//          F(2x2, 3x3) instead (lhkit.winograd_conv2d), with 4 multiplications for a pixel instead of 9: a block of
//          tiles is transformed and multiplied while it is in the second-level cache. Without that op, or with
//          winograd = 0, they are computed like the others.
// Knobs:   tile_w, tile_f: pixels and filters of a tile; lanes: f32 in a vector. tile_w * tile_f / lanes
//          accumulators have to fit the vector registers with room for the operands, and 4 to 8 of them are needed
//          to hide the latency of an FMA: 7, 32, 16 for AVX-512, where 7 divides the widths of common networks;
//          6, 16, 8 for AVX2, where rows of 7 to 10 and 13 to 15 pixels get nearly equal tiles of 4 or 5; 8, 8, 4
//          for NEON; 4, 8, 4 for SSE. strip_f, block_c: filters and channels of a panel.
//          winograd: 1 where large maps may be transformed; tiles: rows of the products then, nearly.
//          threads: how many share the work: rows of the image, or filters where there are fewer than 28 rows.
// Result:  one core of an AMD EPYC with AVX-512 (32 KiB, 1 MiB, 32 MiB of cache; one 512-bit FMA a cycle), as
//          multiples of PyTorch 2.13 (conv2d, channels_last, eager, one thread) and per cent of the FMA peak, were all
//          multiplications of the direct sum made; medians of one run (lhkit bench --suite conv2d), windows of 3x3:
//          56x56x64: 2.1, 182; 28x28x128: 2.2, 181; 14x14x256: 2.1, 132; 7x7x512 (directly): 1.9, 73. In AVX2 code,
//          PyTorch held to AVX2: 2.2, 157; 2.3, 148; 1.9, 138; 1.2, 61. Directly (winograd = 0, another run, AVX-512):
//          1.06, 97; 1.07, 96; 1.17, 91. Two threads beside two of PyTorch: 2.1, 2.1, 1.3, 1.8.
//          With a stride of 2: 28x28x128: 1.15, 94; 14x14x256: 1.28, 91; 7x7x512: 1.94, 77. What limits the last of
//          each is that 9 MiB of filters are read from the third-level cache for 49 pixels only.
//          About 0.1 s to compile for whole tiles, 0.3 s with ends in all directions, 0.5 s with transforms.
// lhkit: library parts/cpu.mlir
// lhkit: library parts/images.mlir
// lhkit: library parts/image_tiles.mlir
// lhkit: optional lhkit.winograd_conv2d
// lhkit: require tile_f % lanes == 0
// lhkit: require strip_f % tile_f == 0
// lhkit: default lanes = vector_bits / 32
// lhkit: default tile_f = vector_bits / 16
// lhkit: default tile_w = 7 if vector_bits == 512 else 6 if vector_bits == 256 else 8 if vector_registers == 32 else 4
// What is done for ends that a payload does not have, and for threads that are not there, finds nothing:
// lhkit: allow zero-match, no-effect, tile-size-too-large, tile-size-whole

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %tile_w = transform.tune.knob<"tile_w"> = 7 : i64 from options = [1, 2, 3, 4, 5, 6, 7, 8, 14] -> !transform.param<i64>
    %tile_f = transform.tune.knob<"tile_f"> = 32 : i64 from options = [8, 16, 32, 64] -> !transform.param<i64>
    %strip_f = transform.tune.knob<"strip_f"> = 512 : i64 from options = [32, 64, 128, 256, 512] -> !transform.param<i64>
    %block_c = transform.tune.knob<"block_c"> = 64 : i64 from options = [8, 16, 32, 64, 128, 256] -> !transform.param<i64>
    %lanes = transform.tune.knob<"lanes"> = 16 : i64 from options = [4, 8, 16] -> !transform.param<i64>
    %threads = transform.tune.knob<"threads"> = 1 : i64 from options = [1, 2, 4, 8] -> !transform.param<i64>
    %winograd = transform.tune.knob<"winograd"> = 1 : i64 from options = [0, 1] -> !transform.param<i64>
    %tiles = transform.tune.knob<"tiles"> = 64 : i64 from options = [16, 32, 64, 128, 256] -> !transform.param<i64>

    transform.include @schedule_images failures(propagate) (%root, %tile_w, %tile_f, %strip_f, %block_c, %lanes, %threads, %winograd, %tiles)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>,
         !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> ()
    transform.yield
  }

  // In parts/image_tiles.mlir:
  transform.named_sequence private @schedule_images(!transform.any_op {transform.readonly},
    !transform.param<i64> {transform.readonly}, !transform.param<i64> {transform.readonly}, !transform.param<i64> {transform.readonly}, !transform.param<i64> {transform.readonly},
    !transform.param<i64> {transform.readonly}, !transform.param<i64> {transform.readonly}, !transform.param<i64> {transform.readonly}, !transform.param<i64> {transform.readonly})
}
