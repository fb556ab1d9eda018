"""Defaults of knobs that follow from the target."""

import math
import re
import subprocess
import sys

import pytest

import lhkit
from lhkit.cli.main import run_program
from lhkit.load.loader import parse_text
from lhkit.load.schedule_export import portable_text, tunable_text
from lhkit.load.target_choice import find_target
from lhkit.model.errors import UsageError
from lhkit.model.target import VECTORS, Target
from lhkit.sweeps.space import knob_axes
from lhkit.text.knob_text import knob_to_literal, without_default_rules
from lhkit.text.script import Script

SCHEDULE = """// lhkit: default lanes = vector_bits / 32
// lhkit: default rows = 8 if vector_registers >= 32 else 6
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %lanes = transform.tune.knob<"lanes"> = 2 : i64 from options = [2, 4, 8, 16] -> !transform.param<i64>
    %rows = transform.tune.knob<"rows"> = 1 : i64 from options = [1, 6, 8] -> !transform.param<i64>
    transform.yield
  }
}
"""
EXPECTED = {
    "avx512": {"lanes": 16, "rows": 8},
    "avx2": {"lanes": 8, "rows": 6},
    "neon": {"lanes": 4, "rows": 8},
    "sse": {"lanes": 4, "rows": 6},
}
# Small shapes of the families, with ends in all directions.
SHAPES = {
    "matmul": (40, 48, 24),
    "fc_relu": (20, 50, 24),
    "mlp": (20, (24, 50, 40, 30)),
    "softmax": (5, 150),
    "layernorm": (5, 150),
    "elementwise_chain": (5, 150),
}


def load(text, worker, **options):
    return lhkit.load_schedule(text, worker=worker, **options)


@pytest.mark.parametrize("target", sorted(VECTORS))
def test_defaults_are_those_of_the_target_and_settings_go_before_them(target, worker):
    schedule = load(SCHEDULE, worker, target=target)
    assert (schedule.values, schedule.target) == (EXPECTED[target], target)
    assert schedule.with_knobs({"lanes": 2}).values["lanes"] == 2
    assert [knob.default for knob in schedule.knobs] == list(EXPECTED[target].values())


def test_the_variable_names_a_target_and_the_argument_goes_before_it(worker, monkeypatch):
    monkeypatch.setenv("LHKIT_TARGET", "avx2")
    assert load(SCHEDULE, worker).values == EXPECTED["avx2"]
    assert load(SCHEDULE, worker, target="neon").values == EXPECTED["neon"]
    monkeypatch.setenv("LHKIT_TARGET", "avx10")
    with pytest.raises(UsageError, match=r"no target 'avx10' \(in LHKIT_TARGET\)"):
        find_target()


def test_this_cpu_is_the_default(monkeypatch):
    monkeypatch.delenv("LHKIT_TARGET", raising=False)
    host = find_target()
    assert host == find_target("host") and host.name in VECTORS
    numbers = {name: value for name, value in host.facts.items() if not name.endswith("_dots")}
    assert isinstance(host, Target) and min(numbers.values()) > 0


def test_a_sweep_begins_at_the_defaults_of_the_target(worker):
    axes = knob_axes(load(SCHEDULE, worker, target="avx2"), {})
    assert {axis.name: axis.default for axis in axes} == EXPECTED["avx2"]


def test_a_knob_that_becomes_a_literal_takes_its_rule_with_it(worker):
    schedule = load(SCHEDULE, worker, target="avx2")
    text = knob_to_literal(Script(SCHEDULE, "s.mlir"), "rows").text
    assert "default rows" not in text and "default lanes" in text
    assert parse_text(schedule, text, worker=worker)[0].values == {"lanes": 8}


def test_an_edit_keeps_the_target(worker):
    schedule = load(SCHEDULE, worker, target="avx2")
    edited, _ = parse_text(schedule, SCHEDULE + "// more\n", worker=worker)
    assert (edited.values, edited.target) == (EXPECTED["avx2"], "avx2")


@pytest.mark.parametrize(
    ("line", "message", "column"),
    [
        ("// lhkit: default lanes = vector_bits", "knob 'lanes' cannot be '256'", 27),
        ("// lhkit: default lanes = vector_bits / 3", "knob 'lanes' cannot be '85.3333", 27),
        ("// lhkit: default lanes = vector_bits > 3", "knob 'lanes' cannot be", 27),
        ("// lhkit: default lanes = bits", "a target has no fact 'bits'", 27),
        ("// lhkit: default lanes = 4 +", "is not an expression", 27),
        ("// lhkit: default lanes = 1 / 0", "division by zero", 27),
        ("// lhkit: default lanes = (1, 2)", "a comma outside of a function's arguments", 29),
        ("// lhkit: default lanes", "gives no knob a default", 19),
        ("// lhkit: default", "gives no knob a default", 18),
        ("// lhkit: default width = 4", "no knob 'width'", 19),
        (
            "// lhkit: default lanes = 4\n// lhkit: default lanes = 8",
            "a second default of the knob 'lanes'",
            19,
        ),
    ],
)
def test_a_wrong_rule_is_refused_at_its_place(line, message, column, worker):
    text = SCHEDULE.replace("// lhkit: default lanes = vector_bits / 32", line)
    with pytest.raises(UsageError) as caught:
        load(text, worker, target="avx2", name="s.mlir")
    assert message in str(caught.value) and "^" in str(caught.value)
    span = caught.value.failure.span
    assert (span.file, span.line) == ("s.mlir", line.count("\n") + 1) and span.column >= column


def test_a_portable_export_holds_the_values_and_says_of_which_target(worker):
    text = portable_text(load("matmul.mlir", worker, target="neon"), worker=worker)
    assert text.startswith("// Knobs are set as for the target neon.\n")
    assert "lhkit: default" not in text and "tune.knob" not in text
    assert "transform.param.constant 8 : i64" in text and "transform.param.constant 4 : i64" in text


def test_the_command_line_warns_of_sizes_of_another_target_in_a_sentence(tmp_path):
    (tmp_path / "s.mlir").write_text(
        "// Knobs are set as for the target avx512.\n" + without_default_rules(SCHEDULE)
    )
    (tmp_path / "p.mlir").write_text("func.func @f() {\n  return\n}\n")
    command = [sys.executable, "-m", "lhkit", "trace", "p.mlir", "s.mlir", "--target", "avx2"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ended.stderr.startswith("lhkit: warning: s.mlir has the sizes of avx512 in its text")
    assert ended.stderr.count("\n") == 1


def test_a_tunable_export_keeps_rules_but_not_of_knobs_that_were_set(worker):
    schedule = load(SCHEDULE, worker, target="avx2")
    assert tunable_text(schedule) == SCHEDULE
    again = load(tunable_text(schedule.with_knobs({"lanes": 2})), worker, target="neon")
    assert again.values == {"lanes": 2, "rows": 8}


def test_rules_can_be_taken_out():
    assert without_default_rules(SCHEDULE).count("lhkit:") == 0
    assert without_default_rules(SCHEDULE, ["rows"]).count("lhkit:") == 1


@pytest.mark.parametrize("target", sorted(VECTORS))
@pytest.mark.parametrize("family", ["matmul", "fc_relu", "mlp"])
def test_the_tile_of_a_product_fits_the_registers(family, target, worker):
    values = load(f"{family}.mlir", worker, target=target).values
    bits, registers = VECTORS[target]
    assert values["lanes"] * 32 == bits
    vectors = values["tile_n"] // values["lanes"]
    assert values["tile_m"] * vectors + vectors + 1 <= registers
    assert values["narrow_tile_m"] + 2 <= registers


@pytest.mark.parametrize("target", sorted(VECTORS))
@pytest.mark.parametrize("family", sorted(SHAPES))
def test_a_family_runs_here_with_the_vectors_of_another_target(family, target, worker):
    payload = getattr(lhkit.payloads, family)(*SHAPES[family])
    schedule = load(f"{family}.mlir", worker, target=target)
    bits, registers = VECTORS[target]
    assert schedule.values["lanes"] == bits // 32
    kernel = lhkit.compile(payload, schedule, worker=worker)
    assert lhkit.verify(kernel).ok
    shapes = re.findall(r"vector<([\dx]+)xf32>", kernel.ir("scheduled"))
    sizes = {32 * math.prod(map(int, shape.split("x"))) for shape in shapes}
    assert sizes and max(sizes) <= bits * registers, "what is held at once fits the registers"


def test_the_command_line_takes_a_target_and_doctor_names_it(tmp_path, capsys, monkeypatch):
    path = tmp_path / "s.mlir"
    path.write_text(SCHEDULE)
    payload = tmp_path / "p.mlir"
    payload.write_text("func.func @f(%a: tensor<8xf32>) -> tensor<8xf32> {\n  return %a : tensor<8xf32>\n}\n")
    assert run_program(["trace", str(payload), str(path), "--target", "neon", "--json", "-"]) == 0
    assert '"knobs":{"lanes":4,"rows":8}' in capsys.readouterr().out.replace(" ", "")
    assert run_program(["trace", str(payload), str(path), "--target", "avx9"]) == 2
    monkeypatch.setenv("LHKIT_TARGET", "avx2")
    run_program(["doctor"])
    assert "avx2, which LHKIT_TARGET names: 16 vector registers of 256 bits" in capsys.readouterr().out
