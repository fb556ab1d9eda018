// Conversions to and from the short floats, in the LLVM dialect, for machines without instructions for them.
// `add_conversions` of legalization.py adds those of the types that a module has.

llvm.func @__truncsfbf2(%narrow: f32) -> bf16 {
  %bits = llvm.bitcast %narrow : f32 to i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %half = llvm.mlir.constant(0x7fff : i32) : i32
  %quiet = llvm.mlir.constant(0x40 : i32) : i32
  %no_sign = llvm.mlir.constant(0x7fffffff : i32) : i32
  %infinity = llvm.mlir.constant(0x7f800000 : i32) : i32
  %size = llvm.and %bits, %no_sign : i32
  %is_nan = llvm.icmp "ugt" %size, %infinity : i32
  %high = llvm.lshr %bits, %c16 : i32
  %nan = llvm.or %high, %quiet : i32
  %last = llvm.and %high, %c1 : i32
  %up = llvm.add %bits, %half : i32
  %tie = llvm.add %up, %last : i32
  %rounded = llvm.lshr %tie, %c16 : i32
  %chosen = llvm.select %is_nan, %nan, %rounded : i1, i32
  %short = llvm.trunc %chosen : i32 to i16
  %result = llvm.bitcast %short : i16 to bf16
  llvm.return %result : bf16
}

// Rounding f64 to f32 and then again would round twice. Rounding to odd in between keeps the lost bits
// sticky: toward zero, with the last bit set if anything was lost.
llvm.func @__truncdfbf2(%wide: f64) -> bf16 {
  %near = llvm.fptrunc %wide : f64 to f32
  %back = llvm.fpext %near : f32 to f64
  %near_size = llvm.intr.fabs(%back) : (f64) -> f64
  %wide_size = llvm.intr.fabs(%wide) : (f64) -> f64
  %is_larger = llvm.fcmp "ogt" %near_size, %wide_size : f64
  %is_inexact = llvm.fcmp "one" %back, %wide : f64
  %near_bits = llvm.bitcast %near : f32 to i32
  %step = llvm.zext %is_larger : i1 to i32
  %down = llvm.sub %near_bits, %step : i32
  %sticky = llvm.zext %is_inexact : i1 to i32
  %odd_bits = llvm.or %down, %sticky : i32

  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %half = llvm.mlir.constant(0x7fff : i32) : i32
  %quiet = llvm.mlir.constant(0x40 : i32) : i32
  %no_sign = llvm.mlir.constant(0x7fffffff : i32) : i32
  %infinity = llvm.mlir.constant(0x7f800000 : i32) : i32
  %size = llvm.and %odd_bits, %no_sign : i32
  %is_nan = llvm.icmp "ugt" %size, %infinity : i32
  %high = llvm.lshr %odd_bits, %c16 : i32
  %nan = llvm.or %high, %quiet : i32
  %last = llvm.and %high, %c1 : i32
  %up = llvm.add %odd_bits, %half : i32
  %tie = llvm.add %up, %last : i32
  %rounded = llvm.lshr %tie, %c16 : i32
  %chosen = llvm.select %is_nan, %nan, %rounded : i1, i32
  %short = llvm.trunc %chosen : i32 to i16
  %result = llvm.bitcast %short : i16 to bf16
  llvm.return %result : bf16
}

// Without F16C. Numbers below 2^-14 are multiples of 2^-24: converted as such, and made such by adding 0.5.
llvm.func @__extendhfsf2(%narrow: f16) -> f32 {
  %c13 = llvm.mlir.constant(13 : i32) : i32
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %sign_bit = llvm.mlir.constant(0x8000 : i32) : i32
  %no_sign = llvm.mlir.constant(0x7fff : i32) : i32
  %infinity = llvm.mlir.constant(0x7c00 : i32) : i32
  %least = llvm.mlir.constant(0x400 : i32) : i32
  %rebias = llvm.mlir.constant(0x38000000 : i32) : i32
  %quiet = llvm.mlir.constant(0x400000 : i32) : i32
  %zero = llvm.mlir.constant(0 : i32) : i32
  %unit = llvm.mlir.constant(0x33800000 : i32) : i32
  %short = llvm.bitcast %narrow : f16 to i16
  %bits = llvm.zext %short : i16 to i32
  %signed = llvm.and %bits, %sign_bit : i32
  %sign = llvm.shl %signed, %c16 : i32
  %size = llvm.and %bits, %no_sign : i32
  %wide = llvm.shl %size, %c13 : i32
  %normal = llvm.add %wide, %rebias : i32
  %special = llvm.add %normal, %rebias : i32
  %is_nan = llvm.icmp "ugt" %size, %infinity : i32
  %nan_bit = llvm.select %is_nan, %quiet, %zero : i1, i32
  %not_finite = llvm.or %special, %nan_bit : i32
  %count = llvm.uitofp %size : i32 to f32
  %step = llvm.bitcast %unit : i32 to f32
  %tiny = llvm.fmul %count, %step : f32
  %tiny_bits = llvm.bitcast %tiny : f32 to i32
  %is_tiny = llvm.icmp "ult" %size, %least : i32
  %is_special = llvm.icmp "uge" %size, %infinity : i32
  %finite = llvm.select %is_tiny, %tiny_bits, %normal : i1, i32
  %magnitude = llvm.select %is_special, %not_finite, %finite : i1, i32
  %all = llvm.or %sign, %magnitude : i32
  %result = llvm.bitcast %all : i32 to f32
  llvm.return %result : f32
}

llvm.func @__truncsfhf2(%narrow: f32) -> f16 {
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c13 = llvm.mlir.constant(13 : i32) : i32
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %sign_bit = llvm.mlir.constant(0x8000 : i32) : i32
  %no_sign = llvm.mlir.constant(0x7fffffff : i32) : i32
  %wide_infinity = llvm.mlir.constant(0x7f800000 : i32) : i32
  %infinity = llvm.mlir.constant(0x7c00 : i32) : i32
  %quiet = llvm.mlir.constant(0x7e00 : i32) : i32
  %payload = llvm.mlir.constant(0x3ff : i32) : i32
  %too_large = llvm.mlir.constant(0x477ff000 : i32) : i32
  %least = llvm.mlir.constant(0x38800000 : i32) : i32
  %rebias = llvm.mlir.constant(0x38000000 : i32) : i32
  %below_half = llvm.mlir.constant(0xfff : i32) : i32
  %half_bits = llvm.mlir.constant(0x3f000000 : i32) : i32
  %bits = llvm.bitcast %narrow : f32 to i32
  %high = llvm.lshr %bits, %c16 : i32
  %sign = llvm.and %high, %sign_bit : i32
  %size = llvm.and %bits, %no_sign : i32
  %kept = llvm.lshr %size, %c13 : i32
  %last = llvm.and %kept, %c1 : i32
  %based = llvm.sub %size, %rebias : i32
  %up = llvm.add %based, %below_half : i32
  %tie = llvm.add %up, %last : i32
  %normal = llvm.lshr %tie, %c13 : i32
  %number = llvm.bitcast %size : i32 to f32
  %half = llvm.bitcast %half_bits : i32 to f32
  %sum = llvm.fadd %number, %half : f32
  %sum_bits = llvm.bitcast %sum : f32 to i32
  %tiny = llvm.sub %sum_bits, %half_bits : i32
  %is_tiny = llvm.icmp "ult" %size, %least : i32
  %finite = llvm.select %is_tiny, %tiny, %normal : i1, i32
  %is_large = llvm.icmp "uge" %size, %too_large : i32
  %limited = llvm.select %is_large, %infinity, %finite : i1, i32
  %tail = llvm.and %kept, %payload : i32
  %nan = llvm.or %quiet, %tail : i32
  %is_nan = llvm.icmp "ugt" %size, %wide_infinity : i32
  %magnitude = llvm.select %is_nan, %nan, %limited : i1, i32
  %all = llvm.or %sign, %magnitude : i32
  %short = llvm.trunc %all : i32 to i16
  %result = llvm.bitcast %short : i16 to f16
  llvm.return %result : f16
}

// Rounds to odd in between, as __truncdfbf2 does.
llvm.func @__truncdfhf2(%wide: f64) -> f16 {
  %near = llvm.fptrunc %wide : f64 to f32
  %back = llvm.fpext %near : f32 to f64
  %near_size = llvm.intr.fabs(%back) : (f64) -> f64
  %wide_size = llvm.intr.fabs(%wide) : (f64) -> f64
  %is_larger = llvm.fcmp "ogt" %near_size, %wide_size : f64
  %is_inexact = llvm.fcmp "one" %back, %wide : f64
  %near_bits = llvm.bitcast %near : f32 to i32
  %step = llvm.zext %is_larger : i1 to i32
  %down = llvm.sub %near_bits, %step : i32
  %sticky = llvm.zext %is_inexact : i1 to i32
  %odd_bits = llvm.or %down, %sticky : i32
  %odd = llvm.bitcast %odd_bits : i32 to f32
  %result = llvm.fptrunc %odd : f32 to f16
  llvm.return %result : f16
}
