"""Constants whose data is a resource: loading, converting to arguments, running, saving."""

import io
import json
import struct

import numpy as np
import pytest

import lhkit
from lhkit.compiler.ir.bindings import ir, new_context
from lhkit.load.resource_data import split_bytecode, split_resources
from lhkit.model.errors import PayloadError, ScheduleError, UsageError
from lhkit.traces.opt.opt_trace import load_for_opt
from lhkit.worker.shared_arrays import dtype_named
from tests.weight_payloads import (
    CASES,
    CONSTANT_A,
    FUNCTIONS,
    MLP,
    constant,
    elementwise,
    filled,
    hexed,
    main,
    resources,
)

SCHEDULE = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %f = "lhkit.convert_const_resources_to_args"(%root) : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
"""


def with_data(text, seed=0):
    """Return a payload with drawn data for all its resources, and the data."""
    bare = lhkit.load_payload(text)
    generator = np.random.default_rng(seed)
    used = [line.split("dense_resource<")[1] for line in text.splitlines() if "dense_resource<" in line]
    arrays = {}
    for rest in used:
        name, _, type_ = rest.partition("> : tensor<")
        *extents, element = type_.rstrip(">").split("x")
        dtype = {"f32": np.float32, "f16": np.float16}[element]
        arrays.setdefault(name, generator.standard_normal([int(n) for n in extents]).astype(dtype))
    assert not bare.blobs
    return lhkit.load_payload(text + resources(arrays)), arrays


def inputs_of(payload, seed=1):
    """Return an input for the function @main."""
    (type_,) = [a for f in payload.functions if f.name == "main" for a in f.arguments[:1]]
    return np.random.default_rng(seed).standard_normal(type_.shape).astype(np.float32)


@pytest.fixture(scope="module")
def mlp():
    """The document's payload with data, and the data."""
    return with_data(MLP.text)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_constants_become_arguments_by_their_roles_and_results_stay(case):
    payload, arrays = with_data(case.text)
    converted = payload.constants_to_arguments()
    function = converted.function("main")
    assert {w.name: w.resource for w in function.weights} == case.roles
    assert [w.name for w in function.weights] == list(case.roles)
    assert [w.argument for w in function.weights] == list(range(1, len(case.roles) + 1))
    assert "dense_resource" not in converted.text and "llvm.emit_c_interface" in converted.text
    assert {b.name for b in converted.blobs} == set(arrays)
    x = inputs_of(payload)
    expected = lhkit.compile(payload, function="main")(x)
    kernel = lhkit.compile(converted, function="main")
    weights = converted.weights("main")
    assert np.array_equal(kernel(x), expected)
    assert np.array_equal(kernel(x, *weights.values()), expected)
    doubled = [2 * w for w in weights.values()]
    assert not np.array_equal(kernel(x, *doubled), expected)


def test_a_second_application_changes_nothing(mlp):
    converted = mlp[0].constants_to_arguments()
    assert converted.constants_to_arguments() is converted
    assert lhkit.load_payload("func.func @f() { return }").constants_to_arguments().blobs == ()


def test_the_numbers_are_those_of_numpy(mlp):
    payload, arrays = mlp
    x = inputs_of(payload)
    hidden = np.maximum(x @ arrays["w0"].T + arrays["b0"], 0)
    expected = hidden @ arrays["w1"].T + arrays["b1"]
    for each in (payload, payload.constants_to_arguments()):
        assert np.allclose(lhkit.compile(each)(x), expected, atol=1e-5)


def test_a_schedule_converts_and_its_kernel_takes_what_the_payload_takes(mlp):
    payload, _ = mlp
    schedule = lhkit.load_schedule(SCHEDULE)
    kernel = lhkit.compile(payload, schedule)
    assert "dense_resource" not in kernel.ir()
    x = inputs_of(payload)
    assert np.array_equal(kernel(x), lhkit.compile(payload)(x))
    assert lhkit.verify(kernel).ok
    measured = lhkit.measure({"scheduled": kernel}, rounds=2, seconds=0.1).measurements
    assert [m.verification.ok for m in measured] == [True]


def test_a_converted_payload_is_verified_and_measured_on_its_weights(mlp):
    kernel = lhkit.compile(mlp[0].constants_to_arguments())
    assert lhkit.verify(kernel).ok
    (measured,) = lhkit.measure({"converted": kernel}, rounds=2, seconds=0.1).measurements
    assert measured.verification.ok


def test_a_schedule_in_the_same_file_shows_no_data(mlp):
    payload, arrays = mlp
    inner = MLP.text.removeprefix("module {").rpartition("}")[0]
    both = SCHEDULE.rpartition("}")[0] + inner + "}" + resources(arrays)
    assert "dialect_resources" not in lhkit.load_schedule(both).text
    assert lhkit.trace(lhkit.load_payload(both), lhkit.load_schedule(both)).outcome.status == "ok"
    assert lhkit.load_payload(both).blobs == payload.blobs


def test_what_a_loop_carries_is_not_combined():
    t = "tensor<4x4xf32>"
    text = f"""func.func @f(%x: {t}) -> {t} {{
  %w = arith.constant dense_resource<w> : {t}
  %from = arith.constant 0 : index
  %to = arith.constant 3 : index
  %by = arith.constant 1 : index
  %first = linalg.matmul ins(%x, %x : {t}, {t}) outs(%x : {t}) -> {t}
  %end, %same = scf.for %i = %from to %to step %by iter_args(%a = %first, %v = %w) -> ({t}, {t}) {{
    %p = linalg.matmul ins(%a, %v : {t}, {t}) outs(%x : {t}) -> {t}
    scf.yield %p, %v : {t}, {t}
  }}
  return %end : {t}
}}
"""
    converted = lhkit.load_payload(text).constants_to_arguments()
    assert [w.name for w in converted.function().weights] == ["matmul_1_B"]


def test_texts_for_a_compiler_binary_have_no_data_either(mlp):
    text = MLP.text + resources(mlp[1])
    payload, _ = load_for_opt(text, SCHEDULE)
    assert payload.text == mlp[0].text


def test_branches_pass_constants_on():
    text = """func.func @f(%x: tensor<4x4xf32>, %c: i1) -> tensor<4x4xf32> {
  %w = arith.constant dense_resource<w> : tensor<4x4xf32>
  cf.cond_br %c, ^one(%w : tensor<4x4xf32>), ^two
^one(%v: tensor<4x4xf32>):
  %p = linalg.matmul ins(%x, %v : tensor<4x4xf32>, tensor<4x4xf32>) outs(%x : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %p : tensor<4x4xf32>
^two:
  return %x : tensor<4x4xf32>
}
"""
    converted = lhkit.load_payload(text).constants_to_arguments()
    assert [w.name for w in converted.function().weights] == ["matmul_0_B"]


def test_the_trace_shows_the_step_and_what_it_did(mlp):
    trace = lhkit.trace(mlp[0], lhkit.load_schedule(SCHEDULE))
    assert trace.outcome.status == "ok"
    (step,) = trace.step_records
    assert step.op == "lhkit.convert_const_resources_to_args"
    assert len(step.payload_delta.erased) == 4
    assert 'lhkit.name = "matmul_1_epilogue"' in trace.snapshot_text(0)


def test_the_op_is_in_the_catalogue_with_its_documentation():
    op = lhkit.ops.find("lhkit.convert_const_resources_to_args")
    assert "matmul_0_epilogue" in op.documentation
    assert [a.name for a in op.attributes] == ["append_untied"]
    assert not op.operands[0].is_consumed


def test_nothing_that_is_shown_or_hashed_holds_data(mlp):
    payload, arrays = mlp
    data = arrays["w0"].tobytes().hex().upper()
    trace = lhkit.trace(payload, lhkit.load_schedule(SCHEDULE))
    kernel = lhkit.compile(payload)
    shown = [
        str(payload),
        repr(payload),
        payload.content.decode(),
        str(trace),
        trace.to_markdown(),
        kernel.ir(),
    ]
    for text in shown:
        assert data not in text.upper() and "dialect_resources" not in text
    other = lhkit.load_payload(payload.text, weights={**payload.weights(), "b0": -arrays["b0"]})
    assert other.text == payload.text and other.sha256 != payload.sha256
    again = lhkit.load_payload(payload.text, weights=payload.weights())
    assert again.sha256 == payload.sha256


def test_arrays_of_the_payload_are_read_only_and_shared(mlp):
    converted = mlp[0].constants_to_arguments()
    before, after = mlp[0].weights()["w0"], converted.weights()["matmul_0_B"]
    assert np.shares_memory(before, after)
    with pytest.raises(ValueError, match="read-only"):
        after[0] = 1


UNTIED = main(
    "4x8xf32",
    "4x8xf32",
    constant("other", "4x8xf32")
    + constant("lost", "4x8xf32")
    + elementwise("s", "arith.addf", "x", "lost", "4x8xf32"),
    "s",
)


def test_a_constant_tied_to_no_anchor_is_refused_with_name_place_and_users():
    payload = lhkit.load_payload(UNTIED)
    line = 1 + UNTIED[: UNTIED.index("%lost =")].count("\n")
    user = 1 + UNTIED[: UNTIED.index("= linalg.generic")].count("\n")
    with pytest.raises(ScheduleError) as raised:
        payload.constants_to_arguments()
    text = str(raised.value)
    assert "the constant other of @main leads to no product" in text and "it is used by nothing" in text
    assert f"<payload>:{line}:" in text and "the constant lost leads to none either" in text
    alone = lhkit.load_payload(UNTIED.replace(constant("other", "4x8xf32"), "\n"))
    with pytest.raises(ScheduleError) as raised:
        alone.constants_to_arguments()
    text = str(raised.value)
    assert f"it is used by linalg.generic (line {user})" in text
    assert f"<payload>:{user}:" in text and "^" in text
    assert raised.value.failure.kind == "silenceable"


def test_what_is_tied_to_nothing_is_appended_if_asked_for():
    payload, _ = with_data(UNTIED)
    converted = payload.constants_to_arguments(append_untied=True)
    names = {w.name: w.resource for w in converted.function().weights}
    assert names == {"constant_0": "other", "constant_1": "lost"}
    x = inputs_of(payload)
    assert np.array_equal(lhkit.compile(converted)(x), lhkit.compile(payload)(x))


def test_recursive_functions_and_other_references_are_refused():
    recursive = FUNCTIONS.text.replace(
        "return %s", "%n = call @main(%s) : (tensor<4x8xf32>) -> tensor<4x8xf32>\n return %n"
    )
    with pytest.raises(ScheduleError, match="@main calls itself"):
        lhkit.load_payload(recursive).constants_to_arguments()
    referred = FUNCTIONS.text.replace(
        "%a = call",
        "%f = constant @layer : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>\n    %a = call",
    )
    with pytest.raises(ScheduleError, match="@layer is not only called"):
        lhkit.load_payload(referred).constants_to_arguments()


@pytest.mark.parametrize("is_converted", [False, True])
def test_saved_and_loaded_a_payload_is_the_same(mlp, tmp_path, is_converted):
    payload = mlp[0].constants_to_arguments() if is_converted else mlp[0]
    path = payload.save(tmp_path / "mlp.mlir")
    assert (tmp_path / "mlp.npz").is_file()
    loaded = lhkit.load_payload(path)
    assert loaded.blobs == payload.blobs and loaded.sha256 == payload.sha256
    x = inputs_of(payload)
    assert np.array_equal(lhkit.compile(loaded)(x), lhkit.compile(payload)(x))
    assert list(tmp_path.iterdir()) and len(list(tmp_path.iterdir())) == 2


def test_saving_somewhere_else_is_refused(mlp, tmp_path):
    with pytest.raises(UsageError, match=r"does not end in \.mlir"):
        mlp[0].save(tmp_path / "mlp.txt")
    with pytest.raises(UsageError, match="cannot be written"):
        mlp[0].save(tmp_path / "nowhere" / "mlp.mlir")


def safetensors(path, arrays):
    """Write a file with weights as others do."""
    head, offset = {}, 0
    for name, array in arrays.items():
        shape, end = list(array.shape), offset + array.nbytes
        head[name] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, end]}
        offset = end
    written = json.dumps(head).encode()
    data = b"".join(a.tobytes() for a in arrays.values())
    path.write_bytes(struct.pack("<Q", len(written)) + written + data)


def test_weights_come_from_safetensors_too(mlp, tmp_path):
    payload, arrays = mlp
    (tmp_path / "m.mlir").write_text(payload.text)
    safetensors(tmp_path / "m.safetensors", {"unused": arrays["w0"], **arrays})
    assert lhkit.load_payload(tmp_path / "m.mlir").sha256 == payload.sha256
    safetensors(tmp_path / "given.safetensors", arrays)
    assert lhkit.load_payload(payload.text, weights=tmp_path / "given.safetensors").sha256 == payload.sha256


@pytest.mark.parametrize(
    ("name", "content"), [("w.npz", b"PK no"), ("w.safetensors", b"12345"), ("w.npz", None)]
)
def test_files_that_hold_no_weights_are_refused(mlp, tmp_path, name, content):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=r"is not a weight file|no such file"):
        lhkit.load_payload(mlp[0].text, weights=tmp_path / name)


def test_arrays_that_do_not_fit_are_refused(mlp):
    payload, arrays = mlp
    with pytest.raises(UsageError, match="uses no resource 'w9'"):
        lhkit.load_payload(payload.text, weights={"w9": arrays["w0"]})
    with pytest.raises(UsageError, match="the data for w0 is 8x6xfloat32"):
        lhkit.load_payload(payload.text, weights={"w0": arrays["w0"].T})
    with pytest.raises(UsageError, match="float64"):
        lhkit.load_payload(payload.text, weights={"w0": arrays["w0"].astype(float)})


def test_data_of_another_size_is_refused_with_its_place(mlp):
    _, arrays = mlp
    with pytest.raises(PayloadError) as raised:
        lhkit.load_payload(MLP.text + resources({**arrays, "b1": arrays["b1"][:3]}))
    line = 1 + MLP.text[: MLP.text.index("%b1 =")].count("\n")
    text = str(raised.value)
    assert "the resource b1 has 12 bytes, and tensor<5xf32> needs 20" in text
    assert f"<payload>:{line}:" in text and "^" in text


def test_a_kernel_without_data_says_what_is_missing():
    bare = lhkit.load_payload(CONSTANT_A.text)
    with pytest.raises(PayloadError, match="the data of the resource scale is not there"):
        lhkit.compile(bare)
    with pytest.raises(PayloadError, match="the data of the resource"):
        lhkit.compile(bare, lhkit.load_schedule(SCHEDULE))
    converted = bare.constants_to_arguments()
    kernel = lhkit.compile(converted)
    with pytest.raises(UsageError, match="the data of matmul_0_A"):
        kernel(inputs_of(bare))
    assert kernel(*[np.ones(a.shape, np.float32) for a in converted.function().arguments]).shape == (4, 5)


def test_numbers_and_vectors_are_written_out():
    lines = constant("number", "f32", "n").replace("tensor<f32>", "tensor<f32>") + filled("z", "4xf32")
    lines += """    %v = arith.constant dense_resource<v> : vector<4xf32>
    %at = arith.constant 0 : index
    %n = tensor.extract %number[] : tensor<f32>
    %full = linalg.fill ins(%n : f32) outs(%z : tensor<4xf32>) -> tensor<4xf32>
    %read = vector.transfer_read %full[%at], %zero : tensor<4xf32>, vector<4xf32>
    %sum = arith.addf %read, %v : vector<4xf32>
    %out = vector.transfer_write %sum, %z[%at] : vector<4xf32>, tensor<4xf32>
"""
    text = main("4xf32", "4xf32", lines, "out")
    data = {"n": np.float32(2.5), "v": np.arange(4, dtype=np.float32)}
    kernel = lhkit.compile(lhkit.load_payload(text + resources(data)))
    assert np.array_equal(kernel(np.zeros(4, np.float32)), [2.5, 3.5, 4.5, 5.5])


@pytest.mark.parametrize(
    ("element", "dtype", "shape"),
    [
        ("bf16", "bfloat16", (2, 3)),
        ("bf16", "bfloat16", ()),
        ("f16", "float16", (0, 3)),
        ("f64", "float64", (3,)),
        ("i1", "bool", (2, 3)),
        ("i1", "bool", ()),
        ("i8", "int8", (2, 3)),
        ("complex<f32>", "complex64", (2, 3)),
    ],
)
def test_elements_of_any_type_pass_through_kernels_and_files(element, dtype, shape, tmp_path):
    array = (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2).astype(dtype_named(dtype))
    type_ = f"tensor<{'x'.join([*map(str, shape), element])}>"
    text = f"func.func @f() -> {type_} {{\n %w = arith.constant dense_resource<w> : {type_}\n return %w : {type_}\n}}\n"
    payload = lhkit.load_payload(text + resources({"w": array}))
    assert payload.weights()["w"].dtype == array.dtype
    converted = payload.constants_to_arguments(append_untied=True)
    loaded = lhkit.load_payload(converted.save(tmp_path / "w.mlir"))
    for each in (payload, loaded):
        assert np.array_equal(lhkit.compile(each, opt_level=0)(), array)


# The text of resources.


def split(text):
    left, found = split_resources(text.encode())
    return left.decode(), {f.name: bytes(f.data) for f in found}


def test_the_text_keeps_its_lines_and_other_resources():
    text = f"""module {{}}
{{-#
  dialect_resources: {{
    builtin: {{
      a: {hexed(np.arange(3, dtype=np.int32))}, // {{-#
      "b \\22c": {hexed(np.zeros(0))}
    }},
    other: {{ k: "v" }}
  }},
  external_resources: {{ tool: {{ flag: true, "text": "}} #-}}" }} }}
#-}}
module {{}}
"""
    left, found = split(text)
    assert found == {"a": np.arange(3, dtype=np.int32).tobytes(), 'b "c': b""}
    assert left.count("\n") == text.count("\n") and left.endswith("#-}\nmodule {}\n")
    assert "0x" not in left and 'other: { k: "v" }' in left and '"} #-}" } }' in left
    assert split(left)[1] == {}


def test_what_looks_like_resources_is_none():
    text = 'module attributes {a = "{-# dialect_resources: {"} {} // {-# dialect_resources: {\n'
    assert split(text) == (text, {})


@pytest.mark.parametrize(
    "wrong",
    [
        '{-# dialect_resources: { builtin: { a: "0x0400G000" } } #-}',
        '{-# dialect_resources: { builtin: { a: "0x03000000AB" } } #-}',
        "{-# dialect_resources: { builtin: { : 1 } } #-}",
    ],
)
def test_resources_that_are_not_well_formed_are_left_to_the_parser(wrong):
    assert split(f"module {{}}\n{wrong}") == (f"module {{}}\n{wrong}", {})
    with pytest.raises(PayloadError):
        lhkit.load_payload(f"module {{}}\n{wrong}")


def test_a_text_that_ends_within_data_is_refused(tmp_path):
    whole = MLP.text + resources({"w0": np.ones((6, 8), np.float32)})
    (tmp_path / "cut.mlir").write_text(whole[: whole.index("803F") + 3])
    with pytest.raises(PayloadError, match="it ends within the data of the resource w0"):
        lhkit.load_payload(tmp_path / "cut.mlir")


# Bytecode.


def bytecode_of(text):
    """Return a text as bytecode."""
    with new_context():
        module, out = ir.Module.parse(text), io.BytesIO()
        module.operation.write_bytecode(out)
        return out.getvalue()


def test_bytecode_gives_the_same_payload_as_text(mlp, tmp_path):
    payload, arrays = mlp
    path = tmp_path / "mlp.mlirbc"
    path.write_bytes(bytecode_of(MLP.text + resources(arrays)))
    loaded = lhkit.load_payload(path)
    assert loaded.blobs == payload.blobs
    assert loaded.bytecode is None and "dialect_resources" not in loaded.text
    x = inputs_of(payload)
    assert np.array_equal(lhkit.compile(loaded)(x), lhkit.compile(payload)(x))


def test_bytecode_that_is_cut_or_damaged_is_left_to_the_parser():
    whole = bytecode_of("module {}" + resources({}) + MLP.text)
    assert split_bytecode(whole) == (whole, ())
    whole = bytecode_of(CONSTANT_A.text + resources({"w": np.ones((4, 8), np.float32)}))
    split, found = split_bytecode(whole)
    assert [bytes(f.data) for f in found] == [np.ones(32, np.float32).tobytes()] and len(split) < len(whole)
    for end in range(5, len(whole) - 1, 7):
        assert split_bytecode(whole[:end]) == (whole[:end], ())
