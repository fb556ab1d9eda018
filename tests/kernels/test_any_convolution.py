"""Convolutions and poolings in any layout by cpu.mlir: products of windows, unrolled windows, and what is refused."""

import math
import re

import pytest

import lhkit

ANY, PARAM = "!transform.any_op", "!transform.param<i64>"


def tensor(shape):
    return "tensor<" + "x".join(str(n) for n in shape) + "xf32>"


def payload(op, image, window, result, *, strides=(1, 1), dilations=(1, 1), pad=(), start="0.0"):
    """Return a payload with one named op of linalg, which starts from a fill; dynamic is what is "?"."""
    padded = [n if n == "?" else n + 2 * (pad[i] if pad else 0) for i, n in enumerate(image)]
    before = ""
    if pad:
        edges = ", ".join(str(n) for n in pad)
        places = ", ".join(f"%p{i}: index" for i in range(len(image)))
        before = f"""%padded = tensor.pad %image low[{edges}] high[{edges}] {{
  ^bb0({places}):
    tensor.yield %start : f32
  }} : {tensor(image)} to {tensor(padded)}"""
    size = "%count" if "?" in result else ""
    count = (
        f"%place = arith.constant {image.index('?')} : index\n"
        f"  %count = tensor.dim %image, %place : {tensor(image)}"
        if size
        else ""
    )
    lists = [
        f"{name} = dense<[{', '.join(map(str, values))}]> : tensor<{len(values)}xi64>"
        for name, values in (("dilations", dilations), ("strides", strides))
    ]
    source = "%padded" if pad else "%image"
    return f"""func.func @f(%image: {tensor(image)}, %window: {tensor(window)}) -> {tensor(result)} {{
  %start = arith.constant {start} : f32
  {count}
  %empty = tensor.empty({size}) : {tensor(result)}
  %from = linalg.fill ins(%start : f32) outs(%empty : {tensor(result)}) -> {tensor(result)}
  {before}
  %r = linalg.{op} {{{", ".join(lists)}}} ins({source}, %window : {tensor(padded)}, {tensor(window)})
    outs(%from : {tensor(result)}) -> {tensor(result)}
  return %r : {tensor(result)}
}}
"""


NHWC, NCHW = "conv_2d_nhwc_hwcf", "conv_2d_nchw_fchw"
MAXIMUM = {"start": "0xFF800000"}
PAYLOADS = {
    "NHWC": payload(NHWC, (1, 12, 12, 8), (3, 3, 8, 16), (1, 10, 10, 16)),
    "NHWC of odd sizes": payload(NHWC, (2, 9, 11, 3), (3, 2, 3, 5), (2, 7, 10, 5)),
    "NHWC with the filter's channels first": payload(
        "conv_2d_nhwc_fhwc", (1, 9, 9, 4), (6, 3, 3, 4), (1, 7, 7, 6)
    ),
    "NHWC with strides": payload(NHWC, (1, 13, 15, 4), (3, 3, 4, 20), (1, 6, 7, 20), strides=(2, 2)),
    "NHWC with dilations": payload(NHWC, (1, 13, 15, 4), (3, 3, 4, 8), (1, 9, 9, 8), dilations=(2, 3)),
    "NHWC padded": payload(NHWC, (1, 8, 8, 4), (3, 3, 4, 8), (1, 8, 8, 8), pad=(0, 1, 1, 0)),
    "NHWC with a window of 1": payload(NHWC, (2, 5, 7, 6), (1, 1, 6, 8), (2, 5, 7, 8)),
    "NHWC of unknown number": payload(NHWC, ("?", 9, 9, 4), (3, 3, 4, 8), ("?", 7, 7, 8)),
    "NCHW": payload(NCHW, (1, 8, 12, 12), (16, 8, 3, 3), (1, 16, 10, 10)),
    "NCHW of two images": payload(NCHW, (2, 3, 9, 23), (5, 3, 3, 2), (2, 5, 7, 22)),
    "NCHW with strides": payload(NCHW, (2, 3, 13, 41), (8, 3, 3, 3), (2, 8, 6, 20), strides=(2, 2)),
    "NCHW with dilations": payload(NCHW, (1, 3, 13, 15), (8, 3, 3, 3), (1, 8, 9, 9), dilations=(2, 3)),
    "NCHW padded": payload(NCHW, (1, 4, 8, 8), (8, 4, 3, 3), (1, 8, 8, 8), pad=(0, 0, 1, 1)),
    "NCHW with a window of 1": payload(NCHW, (2, 6, 5, 7), (8, 6, 1, 1), (2, 8, 5, 7)),
    "NCHW with a window of 1 and strides": payload(
        NCHW, (1, 6, 9, 9), (8, 6, 1, 1), (1, 8, 5, 5), strides=(2, 2)
    ),
    "NCHW of unknown number": payload(NCHW, ("?", 4, 9, 9), (8, 4, 3, 3), ("?", 8, 7, 7)),
    "groups": payload("conv_2d_ngchw_gfchw", (2, 3, 4, 9, 9), (3, 5, 4, 3, 3), (2, 3, 5, 7, 7)),
    "groups of whole vectors": payload(
        "conv_2d_ngchw_gfchw", (1, 2, 16, 14, 14), (2, 16, 16, 3, 3), (1, 2, 16, 12, 12)
    ),
    "groups, channels last": payload(
        "conv_2d_nhwgc_gfhwc", (2, 15, 14, 3, 8), (3, 8, 3, 3, 8), (2, 13, 12, 3, 8)
    ),
    "groups of whole vectors, channels last": payload(
        "conv_2d_nhwgc_gfhwc", (1, 16, 14, 2, 8), (2, 32, 3, 3, 8), (1, 7, 6, 2, 32), strides=(2, 2)
    ),
    "NHWC with the filter's channels first, large": payload(
        "conv_2d_nhwc_fhwc", (1, 4, 4, 32), (32, 3, 3, 32), (1, 2, 2, 32)
    ),
    "one dimension": payload(
        "conv_1d_nwc_wcf", (2, 40, 3), (3, 3, 8), (2, 38, 8), strides=(1,), dilations=(1,)
    ),
    "three dimensions": payload(
        "conv_3d_ndhwc_dhwcf",
        (1, 6, 7, 8, 3),
        (3, 3, 3, 3, 8),
        (1, 4, 5, 6, 8),
        strides=(1, 1, 1),
        dilations=(1, 1, 1),
    ),
    "depthwise NHWC": payload("depthwise_conv_2d_nhwc_hwc", (1, 9, 12, 32), (3, 3, 32), (1, 7, 10, 32)),
    "depthwise NHWC of odd sizes": payload(
        "depthwise_conv_2d_nhwc_hwc", (2, 9, 8, 21), (3, 2, 21), (2, 7, 7, 21)
    ),
    "depthwise NHWC with strides": payload(
        "depthwise_conv_2d_nhwc_hwc", (1, 9, 13, 16), (3, 3, 16), (1, 4, 6, 16), strides=(2, 2)
    ),
    "depthwise NCHW": payload("depthwise_conv_2d_nchw_chw", (2, 3, 9, 23), (3, 3, 3), (2, 3, 7, 21)),
    "depthwise NCHW with strides, padded": payload(
        "depthwise_conv_2d_nchw_chw", (1, 3, 8, 39), (3, 3, 3), (1, 3, 4, 20), strides=(2, 2), pad=(0, 0, 1, 1)
    ),
    "depthwise NHWC, padded, in blocks of rows": payload(
        "depthwise_conv_2d_nhwc_hwc",
        (2, 41, 8, 16),
        (3, 3, 16),
        (2, 21, 4, 16),
        strides=(2, 2),
        pad=(0, 1, 1, 0),
    ),
    "depthwise NHWC, padded by 2": payload(
        "depthwise_conv_2d_nhwc_hwc", (1, 27, 6, 5), (5, 5, 5), (1, 27, 6, 5), pad=(0, 2, 2, 0)
    ),
    "depthwise with a multiplier": payload(
        "depthwise_conv_2d_nhwc_hwcm", (1, 9, 9, 4), (3, 3, 4, 2), (1, 7, 7, 4, 2)
    ),
    "maxima NHWC": payload("pooling_nhwc_max", (1, 9, 9, 21), (3, 3), (1, 4, 4, 21), strides=(2, 2), **MAXIMUM),
    "maxima NCHW, padded": payload(
        "pooling_nchw_max", (2, 3, 9, 33), (3, 3), (2, 3, 9, 33), pad=(0, 0, 1, 1), **MAXIMUM
    ),
    "sums NCHW": payload("pooling_nchw_sum", (1, 3, 9, 33), (2, 2), (1, 3, 4, 16), strides=(2, 2)),
    "minima NHWC of unknown number": payload(
        "pooling_nhwc_min", ("?", 9, 9, 16), (3, 3), ("?", 7, 7, 16), start="0x7F800000"
    ),
}


@pytest.fixture(scope="module")
def schedule():
    return lhkit.load_schedule("cpu.mlir")


@pytest.mark.parametrize("name", PAYLOADS)
def test_every_convolution_is_right_and_in_vectors(name, schedule):
    kernel = lhkit.compile(lhkit.load_payload(PAYLOADS[name]), schedule)
    assert lhkit.verify(kernel).ok
    scheduled = kernel.ir("scheduled")
    left = re.findall(r"linalg\.(?:generic|matmul|conv\w*|depthwise\w*|pooling\w*)", scheduled)
    assert not left and "windows" not in scheduled
    assert re.search(r"vector\.(fma|outerproduct|contract|transfer_read|maskedload|load)", scheduled)


TURNED = """func.func @f(%image: tensor<2x5x12x16xf32>) -> tensor<2x5x12x16xf32> {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %image low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%n: index, %c: index, %h: index, %w: index):
    tensor.yield %zero : f32
  } : tensor<2x5x12x16xf32> to tensor<2x5x14x18xf32>
  %last = tensor.empty() : tensor<2x14x18x5xf32>
  %turned = linalg.transpose ins(%padded : tensor<2x5x14x18xf32>) outs(%last : tensor<2x14x18x5xf32>)
    permutation = [0, 2, 3, 1]
  %window = tensor.empty() : tensor<3x3xf32>
  %empty = tensor.empty() : tensor<2x12x16x5xf32>
  %from = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x12x16x5xf32>) -> tensor<2x12x16x5xf32>
  %sums = linalg.pooling_nhwc_sum {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%turned, %window : tensor<2x14x18x5xf32>, tensor<3x3xf32>)
    outs(%from : tensor<2x12x16x5xf32>) -> tensor<2x12x16x5xf32>
  %first = tensor.empty() : tensor<2x5x12x16xf32>
  %back = linalg.transpose ins(%sums : tensor<2x12x16x5xf32>) outs(%first : tensor<2x5x12x16xf32>)
    permutation = [0, 3, 1, 2]
  return %back : tensor<2x5x12x16xf32>
}
"""


def test_a_pooling_between_transposes_reads_and_writes_what_is_contiguous(schedule):
    """As models have it whose images have their channels first: neither the image nor the result is moved."""
    kernel = lhkit.compile(lhkit.load_payload(TURNED), schedule)
    assert lhkit.verify(kernel).ok
    scheduled = kernel.ir("scheduled")
    assert not re.search(r"vector\.(transpose|shuffle)|tensor<2x(14x18|12x16)x5xf32>", scheduled)
    assert "vector.transfer_read" in scheduled


def test_a_pooling_along_one_dimension_computes_its_result_in_place(schedule):
    """A row is padded in a buffer of its own; its maxima are written where they stay, not copied there."""
    text = payload("pooling_nchw_max", (4, 6, 1, 64), (1, 8), (4, 6, 1, 61), pad=(0, 0, 0, 2), **MAXIMUM)
    kernel = lhkit.compile(lhkit.load_payload(text), schedule)
    assert lhkit.verify(kernel).ok
    buffers = re.findall(r"memref\.alloca?\(\).*: (memref<.*>)$", kernel.ir("bufferized"), re.MULTILINE)
    assert buffers == ["memref<68xf32>"]


def test_a_pooling_of_32_channels_reads_each_place_whole(schedule):
    """Four places of eight channels would read eight of the next 32 numbers of memory at a time."""
    text = payload("pooling_nhwc_max", (1, 9, 9, 32), (3, 3), (1, 4, 4, 32), strides=(2, 2), **MAXIMUM)
    kernel = lhkit.compile(lhkit.load_payload(text), schedule)
    assert lhkit.verify(kernel).ok
    shapes = {tuple(map(int, found.split("x"))) for found in re.findall(r"vector<([\dx]+)xf32>", kernel.ir())}
    assert all(math.prod(shape) == shape[-1] for shape in shapes)


@pytest.mark.parametrize("count", [300, 512])
def test_a_filter_of_one_row_is_read_for_four_vectors(count, schedule):
    text = f"""func.func @f(%a: tensor<{count}xf32>, %w: tensor<15xf32>, %o: tensor<{count - 14}xf32>) -> tensor<{count - 14}xf32> {{
  %r = linalg.conv_1d ins(%a, %w : tensor<{count}xf32>, tensor<15xf32>) outs(%o : tensor<{count - 14}xf32>)
    -> tensor<{count - 14}xf32>
  return %r : tensor<{count - 14}xf32>
}}"""
    kernel = lhkit.compile(lhkit.load_payload(text), schedule)
    assert lhkit.verify(kernel).ok
    assert f": vector<{4 * schedule.values['lanes']}xf32>" in kernel.ir()


def applying(op, match, elements=100):
    operand, types = ("%conv, %elements", f"{ANY}, {PARAM}") if "contraction" in op else ("%conv", ANY)
    results, gives = ("%r:2", f"({ANY}, {ANY})") if "contraction" in op else ("%r", ANY)
    return lhkit.load_schedule(f"""module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: {ANY} {{transform.consumed}}) {{
    %conv = transform.structured.match {match} in %root : ({ANY}) -> {ANY}
    %elements = transform.param.constant {elements} : i64 -> {PARAM}
    {results} = "lhkit.{op}"({operand}) : ({types}) -> {gives}
    transform.yield
  }}
}}""")


def generalized(script):
    return lhkit.load_schedule(
        script.text.replace(
            "    %elements",
            f"    %generic = transform.structured.generalize %conv : ({ANY}) -> {ANY}\n    %elements",
        ).replace('unroll_window"(%conv)', 'unroll_window"(%generic)')
    )


# The windows of one row of pixels, which is the least that is copied at once.
ROWS = {
    "NHWC": 720,
    "NHWC of odd sizes": 180,
    "NCHW of two images": 396,
    "NCHW with strides": 540,
    "groups": 756,
}


@pytest.mark.parametrize("elements", [1, 400, 1000, 5000])
@pytest.mark.parametrize("name", ROWS)
def test_blocks_of_rows_have_as_many_elements_as_asked_for(name, elements):
    op = re.search(r"linalg\.(conv\w+)", PAYLOADS[name]).group()
    script = applying("convolution_to_contraction", f'ops{{["{op}"]}}', elements)
    kernel = lhkit.compile(lhkit.load_payload(PAYLOADS[name]), script)
    assert lhkit.verify(kernel).ok
    found = re.findall(r"linalg\.generic .*?ins\(%\S+, %\S+ : tensor<([\dx]+)xf32>", kernel.ir("scheduled"))
    sizes = [math.prod(map(int, block.split("x"))) for block in found]
    assert sizes and max(sizes) <= max(elements, ROWS[name])
    assert elements > 1 or sizes == [ROWS[name]]


IMAGES = {
    "NHWC": (1, 0),
    "NHWC padded": (1, 0),
    "NHWC with strides": (1, 0),
    "NHWC with dilations": (1, 0),
    "NHWC with the filter's channels first": (1, 1),
    "NCHW": (1, 3),
    "NCHW with a window of 1 and strides": (1, 3),
    "groups": (1, 3),
    "groups of whole vectors, channels last": (1, 1),
    "groups, channels last": (1, 2),
}


@pytest.mark.parametrize("name", IMAGES)
def test_convolutions_of_images_get_one_layout(name):
    """What lies in the right order is not moved: neither image nor filter nor result."""
    op = re.search(r"linalg\.(conv\w+)", PAYLOADS[name]).group()
    kernel = lhkit.compile(
        lhkit.load_payload(PAYLOADS[name]), applying("convolution_to_nhwc", f'ops{{["{op}"]}}')
    )
    assert lhkit.verify(kernel).ok
    scheduled = kernel.ir("scheduled")
    found = tuple(scheduled.count(f"linalg.{each}") for each in ("conv_2d_nhwc_hwcf", "transpose"))
    assert found == IMAGES[name]


def test_a_sum_that_goes_on_and_several_functions_are_right(schedule):
    """The result starts from an argument, and the same convolution is called in two functions."""
    text = payload("conv_2d_nhwgc_gfhwc", (1, 6, 7, 2, 3), (2, 5, 3, 3, 3), (1, 4, 5, 2, 5))
    text = text.replace("ins(%start : f32) outs(%empty", "ins(%start : f32) outs(%given").replace(
        "func.func @f(", "func.func @f(%given: tensor<1x4x5x2x5xf32>, "
    )
    added = re.sub(r"\n +%from = .*", "", text).replace("outs(%from", "outs(%given")
    both = text + added.replace("@f(", "@g(")
    for function in ("f", "g"):
        kernel = lhkit.compile(lhkit.load_payload(both), schedule, function=function)
        assert lhkit.verify(kernel).ok


REFUSED = {
    "large filter": (
        "convolution_to_nhwc",
        "NHWC with the filter's channels first, large",
        "more elements than",
    ),
    "one dimension": ("convolution_to_nhwc", "one dimension", "images in two dimensions"),
    "unknown extents": ("convolution_to_nhwc", "NHWC of unknown number", "known extents"),
    "product": ("convolution_to_nhwc", "NHWC with a window of 1", "a product of matrices already"),
    "depthwise": ("convolution_to_contraction", "depthwise NHWC", "each channel is for itself"),
    "pooling": ("convolution_to_contraction", "maxima NHWC", "each channel is for itself"),
    "fill": ("convolution_to_contraction", "NHWC", "no convolution"),
    "named": ("unroll_window", "depthwise NHWC", "as linalg.generic"),
    "channels": ("unroll_window", "NHWC", "sums over channels"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_says_why(case):
    op, name, said = REFUSED[case]
    found = re.search(r"linalg\.((?:conv|depthwise|pooling)\w+)", PAYLOADS[name]).group()
    script = applying(op, 'ops{["linalg.fill"]}' if case == "fill" else f'ops{{["{found}"]}}')
    if case == "channels":
        script = generalized(script)
    with pytest.raises(lhkit.LhkitError, match=said):
        lhkit.compile(lhkit.load_payload(PAYLOADS[name]), script)


def test_a_window_of_more_than_64_places_is_refused():
    text = payload("pooling_nhwc_sum", (1, 9, 9, 4), (9, 9), (1, 1, 1, 4))
    script = generalized(applying("unroll_window", 'ops{["linalg.pooling_nhwc_sum"]}'))
    with pytest.raises(lhkit.LhkitError, match="more than 64 places"):
        lhkit.compile(lhkit.load_payload(text), script)


def test_the_number_of_elements_is_at_least_1():
    script = applying("convolution_to_contraction", f'ops{{["linalg.{NHWC}"]}}', 0)
    with pytest.raises(lhkit.LhkitError, match="at least 1"):
        lhkit.compile(lhkit.load_payload(PAYLOADS["NHWC"]), script)


@pytest.mark.parametrize("op", ["depthwise_conv_2d_nhwc_hwc", "depthwise_conv_2d_nchw_chw"])
def test_products_of_a_window_are_added_by_fused_multiply_adds(op):
    """A product and a sum apart take twice the instructions, and the result goes where it belongs at once."""
    channels_last = op.endswith("hwc")
    image, window, result = (
        ((1, 12, 12, 16), (3, 3, 16), (1, 10, 10, 16))
        if channels_last
        else ((1, 4, 34, 34), (4, 3, 3), (1, 4, 32, 32))
    )
    kernel = lhkit.compile(lhkit.load_payload(payload(op, image, window, result)), "schedules/cpu.mlir")
    assert lhkit.verify(kernel).ok
    bufferized = kernel.ir("bufferized")
    assert "math.fma" in bufferized and "arith.mulf" not in bufferized
    assert "memref.alloc" not in bufferized and "memref.copy" not in bufferized


def test_a_product_that_is_read_by_pairs_is_no_convolution():
    text = """#image = affine_map<(b, m, n, k, pair) -> (b, m, k * 2 + pair)>
#filter = affine_map<(b, m, n, k, pair) -> (b, k, n, pair)>
#result = affine_map<(b, m, n, k, pair) -> (m, n)>
func.func private @f(%a: tensor<2x5x8xf32>, %b: tensor<2x4x6x2xf32>, %c: tensor<5x6xf32>) -> tensor<5x6xf32> {
  %r = linalg.generic {indexing_maps = [#image, #filter, #result], iterator_types = ["reduction", "parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %b : tensor<2x5x8xf32>, tensor<2x4x6x2xf32>) outs(%c : tensor<5x6xf32>) {
  ^bb0(%x: f32, %y: f32, %so_far: f32):
    %product = arith.mulf %x, %y : f32
    %sum = arith.addf %so_far, %product : f32
    linalg.yield %sum : f32
  } -> tensor<5x6xf32>
  return %r : tensor<5x6xf32>
}"""
    # A private function is kept as the one to be called.
    assert lhkit.verify(lhkit.compile(lhkit.load_payload(text), "schedules/cpu.mlir")).ok


def test_blocks_of_rows_start_from_zero_in_registers(schedule):
    volume = ("conv_3d_ncdhw_fcdhw", (1, 3, 9, 17, 17), (16, 3, 2, 2, 2), (1, 16, 8, 16, 16))
    text = payload(*volume, strides=(1, 1, 1), dilations=(1, 1, 1))
    kernel = lhkit.compile(lhkit.load_payload(text), schedule, knobs={"window_elements": 32768})
    bufferized = str(kernel.ir("bufferized"))
    # Zeros in memory for all blocks would be copied to each of them.
    assert "memref.copy" not in bufferized
    assert lhkit.verify(kernel).ok
