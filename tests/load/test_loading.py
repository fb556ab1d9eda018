"""Payloads and schedules from files, bytecode and strings; errors with places."""

from pathlib import Path

import pytest

import lhkit
from lhkit.load.shipped_files import shipped_folder
from lhkit.model.errors import PayloadError, ScheduleError, UsageError

DATA, SCHEDULES = shipped_folder("data"), shipped_folder("schedules")
BOTH = """module attributes {transform.with_named_sequence} {
  func.func @f(%a: tensor<8xf32>) -> tensor<8xf32> { return %a : tensor<8xf32> }
  transform.named_sequence @main(%root: !transform.any_op {transform.readonly}) { transform.yield }
}"""


@pytest.mark.parametrize("path", sorted(DATA.glob("*.mlir")), ids=lambda p: p.stem)
def test_every_shipped_payload_loads_and_has_a_reference(path, worker):
    payload = lhkit.load_payload(path, worker=worker)
    assert payload.reference == f"{DATA / 'references.py'}:{path.stem}"
    assert payload.text == path.read_text()


@pytest.mark.parametrize("path", sorted(SCHEDULES.glob("*.mlir")), ids=lambda p: p.stem)
def test_every_shipped_schedule_loads_and_tells_its_knobs(path, worker):
    schedule = lhkit.load_schedule(path, worker=worker)
    assert schedule.entry == "__transform_main"
    assert all(k.default in k.options for k in schedule.knobs)
    header = path.read_text().split("\n\n")[0]
    knobs = [k.name for k in schedule.knobs] or ["none"]
    assert all(word in header for word in ("Payload: data/", "Idea:", "Knobs:", *knobs))


def test_signatures_tell_shapes_and_dtypes(host_worker):
    text = """
    func.func private @ext(f32)
    func.func @f(%a: tensor<4x?xf64>, %b: memref<2xi1>, %c: index, %d: bf16) -> (tensor<3xi8>, ui8) {
      %0 = tensor.empty() : tensor<3xi8>
      %1 = builtin.unrealized_conversion_cast %c : index to ui8
      return %0, %1 : tensor<3xi8>, ui8
    }"""
    external, function = lhkit.load_payload(text, worker=host_worker).functions
    assert external.is_declaration
    kinds = [(t.kind, t.shape, t.dtype) for t in (*function.arguments, *function.results)]
    assert kinds == [
        ("tensor", (4, None), "float64"),
        ("memref", (2,), "bool"),
        ("scalar", (), "int64"),
        ("scalar", (), "bfloat16"),
        ("tensor", (3,), "int8"),
        ("scalar", (), "uint8"),
    ]
    assert function.line == 3
    assert function.describe().startswith("@f(tensor<4x?xf64>, memref<2xi1>")


def test_bytecode_loads_like_text(tmp_path, worker):
    path = tmp_path / "payload.mlirbc"
    path.write_bytes(bytecode_of(DATA / "matmul.mlir"))
    payload = lhkit.load_payload(path, worker=worker)
    assert payload.function().name == "matmul" and "linalg.matmul" in payload.text
    assert payload.content == path.read_bytes()
    kernel = lhkit.compile(payload, worker=worker)
    assert "linalg.matmul" in kernel.ir("scheduled")


def bytecode_of(path):
    import io

    from lhkit.compiler.ir.bindings import ir, new_context

    with new_context():
        out = io.BytesIO()
        ir.Module.parse(path.read_text()).operation.write_bytecode(out)
        return out.getvalue()


def test_damaged_bytecode_is_a_clear_error(tmp_path, worker):
    path = tmp_path / "payload.mlirbc"
    path.write_bytes(bytecode_of(DATA / "matmul.mlir")[:200])
    with pytest.raises(PayloadError) as error:
        lhkit.load_payload(path, worker=worker)
    assert error.value.failure.kind == "payload-parse" and str(path) in str(error.value)


def test_one_module_can_hold_both(worker):
    payload = lhkit.load_payload(BOTH, worker=worker)
    schedule = lhkit.load_schedule(BOTH, worker=worker)
    assert payload.function().name == "f" and schedule.entry == "main"
    kernel = lhkit.compile(payload, schedule, worker=worker)
    assert "transform" not in kernel.ir("scheduled")


def test_a_text_that_does_not_parse_shows_the_place(host_worker):
    with pytest.raises(PayloadError) as error:
        lhkit.load_payload("func.func @f() {\n  %0 = foo.bar\n  return\n}", worker=host_worker)
    failure = error.value.failure
    assert failure.kind == "payload-parse" and failure.exit_code == 2
    assert str(failure.span) == "<payload>:2:8"
    lines = str(error.value).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("     2 | "))
    assert lines[at + 1].index("^") == lines[at].index("foo.bar")


def test_a_text_that_parses_and_does_not_verify_is_another_kind(host_worker):
    with pytest.raises(PayloadError) as error:
        lhkit.load_payload("func.func @f() -> i32 {\n  return\n}", worker=host_worker)
    failure = error.value.failure
    assert failure.kind == "payload-verify" and failure.exit_code == 1
    assert str(failure.span) == "<payload>:2:3"


def test_a_single_unknown_word_does_not_parse(tmp_path, worker):
    (tmp_path / "junk.mlir").write_text("nonsense")
    with pytest.raises(PayloadError) as error:
        lhkit.load_payload(tmp_path / "junk.mlir", worker=worker)
    assert error.value.failure.kind == "payload-parse"


def test_an_error_on_the_last_line_is_still_told_apart(worker):
    for text, kind in (
        ("func.func @f() {\n  return\n", "payload-parse"),
        ("func.func @f() -> i32 { return }", ""),
    ):
        with pytest.raises(PayloadError) as error:
            lhkit.load_payload(text, worker=worker)
        assert error.value.failure.kind == (kind or "payload-verify")


def test_schedules_have_their_own_kinds_of_errors(worker):
    with pytest.raises(ScheduleError) as error:
        lhkit.load_schedule("transform.nonsense {", worker=worker)
    assert error.value.failure.kind == "schedule-parse"
    unknown = BOTH.replace(
        "{ transform.yield }", "{ transform.include @none failures(propagate) () : () -> () }"
    )
    with pytest.raises(ScheduleError) as error:
        lhkit.load_schedule(unknown, worker=worker)
    assert error.value.failure.kind == "schedule-verify"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n\t", "is empty"),
        (b"func.func @f() {\n  \xff }", r":2:3: error: byte 0xff is not text"),
        (b"func.func @f() { }\0", "byte 0x00 is not text"),
    ],
)
def test_unusable_files_are_refused(content, message, tmp_path, worker):
    path = tmp_path / "payload.mlir"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=message):
        lhkit.load_payload(path, worker=worker)


def test_files_that_are_not_there(tmp_path):
    (tmp_path / "near.mlir").write_text("")
    with pytest.raises(UsageError, match=r"no such file.*\n.*near\.mlir"):
        lhkit.load_payload(tmp_path / "miss.mlir")
    with pytest.raises(UsageError, match="is a directory"):
        lhkit.load_payload(tmp_path)
    with pytest.raises(UsageError, match=r"come with lhkit.*matmul\.mlir"):
        lhkit.load_payload("no_such_payload")


def test_text_that_is_taken_for_a_path_is_not_repeated_whole(worker):
    for text in ("func.func private @f() " + "a" * 100_000, "\0 " + "a" * 1000):
        with pytest.raises(UsageError, match="A string with a line break or a brace is MLIR text") as error:
            lhkit.load_payload(text, worker=worker)
        assert len(str(error.value)) < 500 and "characters …" in str(error.value)
    with pytest.raises(UsageError, match=r"no such file: a\\nb\\x1b\.mlir"):
        lhkit.load_payload(Path("a\nb\x1b.mlir"), worker=worker)


def test_payload_and_schedule_are_told_apart(worker):
    with pytest.raises(UsageError, match="is a schedule"):
        lhkit.compile(lhkit.load_payload(SCHEDULES / "matmul_tile.mlir", worker=worker), worker=worker)
    with pytest.raises(UsageError, match="is a payload"):
        lhkit.load_schedule(DATA / "matmul.mlir", worker=worker)
    with pytest.raises(UsageError, match="no named sequence"):
        lhkit.load_schedule("module {}", worker=worker)


def test_a_bare_name_finds_what_is_shipped(tmp_path, monkeypatch, worker):
    monkeypatch.chdir(tmp_path)
    assert lhkit.load_payload("matmul", worker=worker).source == str(DATA / "matmul.mlir")
    Path("matmul.mlir").write_text("func.func @mine() { return }")
    assert lhkit.load_payload("matmul.mlir", worker=worker).function().name == "mine"


def test_paths_and_names_do_where_values_do(worker):
    trace = lhkit.trace("fc_relu.mlir", "fc_relu_handles.mlir", worker=worker)
    assert trace.outcome.status == "ok"
    assert lhkit.check(SCHEDULES / "fc_relu_handles.mlir", worker=worker).findings == ()
    kernel = lhkit.compile("matmul.mlir", str(SCHEDULES / "matmul_tile.mlir"), {"tile_m": 64}, worker=worker)
    assert kernel.schedule.source.endswith("matmul_tile.mlir")
    with pytest.raises(UsageError, match=r"nowhere\.mlir"):
        lhkit.trace("nowhere.mlir", "fc_relu_handles.mlir", worker=worker)
