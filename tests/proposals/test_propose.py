"""Proposals: plain steps that give the same payload, apply elsewhere, are verified, and say what they leave alone."""

import dataclasses
import re
import threading

import pytest

import lhkit
from lhkit.kernels.kernel import compile_kernel
from lhkit.load import target_choice
from lhkit.load.loader import load_payload, load_schedule
from lhkit.load.schedule_export import apply_portable
from lhkit.model.errors import UsageError
from lhkit.proposals import knob_tuning, verification_thread
from lhkit.proposals import proposal as proposals
from lhkit.proposals.knob_tuning import run_in_thread, tune_knobs
from lhkit.proposals.proposal import normal_text, propose
from lhkit.proposals.straight_line import marks_in
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.worker.client import own_worker

EINSUM = """
#a = affine_map<(b, i, j, k) -> (b, k, i)>
#b = affine_map<(b, i, j, k) -> (b, j, k)>
#c = affine_map<(b, i, j, k) -> (b, i, j)>
func.func @f(%a: tensor<3x40x33xf32>, %b: tensor<3x50x40xf32>) -> tensor<3x33x50xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<3x33x50xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<3x33x50xf32>) -> tensor<3x33x50xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%a, %b : tensor<3x40x33xf32>, tensor<3x50x40xf32>) outs(%fill : tensor<3x33x50xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %z, %p : f32
    linalg.yield %s : f32
  } -> tensor<3x33x50xf32>
  return %r : tensor<3x33x50xf32>
}
"""
TWO_LAYERS = """
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#i = affine_map<(m, n) -> (m, n)>
func.func @f(%x: tensor<24x32xf32>, %w: tensor<40x32xf32>, %v: tensor<40x16xf32>) -> tensor<24x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<24x40xf32>
  %e2 = tensor.empty() : tensor<24x16xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%e : tensor<24x40xf32>) -> tensor<24x40xf32>
  %fill2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<24x16xf32>) -> tensor<24x16xf32>
  %h = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x, %w : tensor<24x32xf32>, tensor<40x32xf32>) outs(%fill : tensor<24x40xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<24x40xf32>
  %g = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]}
    ins(%h : tensor<24x40xf32>) outs(%e : tensor<24x40xf32>) {
  ^bb0(%a: f32, %b: f32):
    %n = math.tanh %a : f32
    linalg.yield %n : f32
  } -> tensor<24x40xf32>
  %r = linalg.matmul ins(%g, %v : tensor<24x40xf32>, tensor<40x16xf32>) outs(%fill2 : tensor<24x16xf32>) -> tensor<24x16xf32>
  return %r : tensor<24x16xf32>
}
"""
QUANTIZED = """
func.func @quantized(%x: tensor<37x210xi8>, %w: tensor<210x150xi8>, %scale: tensor<150xf32>, %bias: tensor<150xf32>) -> tensor<37x150xf32> {
  %z = arith.constant 0 : i32
  %zf = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<37x150xi32>
  %i = linalg.fill ins(%z : i32) outs(%e : tensor<37x150xi32>) -> tensor<37x150xi32>
  %p = linalg.matmul ins(%x, %w : tensor<37x210xi8>, tensor<210x150xi8>) outs(%i : tensor<37x150xi32>) -> tensor<37x150xi32>
  %o = tensor.empty() : tensor<37x150xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
    ins(%p, %scale, %bias : tensor<37x150xi32>, tensor<150xf32>, tensor<150xf32>) outs(%o : tensor<37x150xf32>) {
  ^bb0(%a: i32, %s: f32, %b: f32, %out: f32):
    %f = arith.sitofp %a : i32 to f32
    %m = arith.mulf %f, %s : f32
    %t = arith.addf %m, %b : f32
    %c = arith.maximumf %t, %zf : f32
    linalg.yield %c : f32
  } -> tensor<37x150xf32>
  return %r : tensor<37x150xf32>
}
"""
OF_UNKNOWN_EXTENTS = """
func.func @f(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %a, %0 : tensor<?x?xf32>
  %n = tensor.dim %b, %0 : tensor<?x?xf32>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
    affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%fill : tensor<?x?xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %z, %p : f32
    linalg.yield %s : f32
  } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
"""
SCALARS = """
func.func @f(%a: f32, %b: f32) -> f32 {
  %r = arith.addf %a, %b : f32
  return %r : f32
}
"""
MEMREFS = """
func.func @f(%a: memref<32x32xf32>, %b: memref<32x32xf32>, %c: memref<32x32xf32>) {
  linalg.matmul ins(%a, %b : memref<32x32xf32>, memref<32x32xf32>) outs(%c : memref<32x32xf32>)
  return
}
"""
MLP = pytest.param("mlp.mlir", marks=pytest.mark.heavy)  # fc_relu.mlir twice
WHOLE = ("matmul.mlir", "fc_relu.mlir", MLP, "elementwise_chain.mlir", "row_sum.mlir", "softmax.mlir")
_OUTSIDE = re.compile(r"transform\.(include|foreach_match|collect_matching|match\.|named_sequence private)")


def steps(text):
    return re.sub(r"//.*", "", text)


@pytest.fixture(scope="module")
def proposed(worker):
    """Proposals by payload and target, each made once."""
    made = {}
    texts = {"einsum": EINSUM, "two layers": TWO_LAYERS, "scalars": SCALARS, "memrefs": MEMREFS}

    def get(name, target=None):
        if (name, target) not in made:
            payload = load_payload(texts.get(name, name), worker=worker)
            made[name, target] = propose(payload, target, worker=worker)
        return made[name, target]

    return get


@pytest.mark.parametrize("name", [*WHOLE, "einsum"])
def test_a_proposal_is_plain_steps_that_give_what_the_general_schedule_gives(name, proposed, worker):
    made = proposed(name)
    assert made.verification.ok and made.verification.against == "the unscheduled payload"
    assert all("other programs cannot apply it" in note for note in made.notes)
    assert not _OUTSIDE.search(steps(made.text)), made.text
    general = trace_schedule(made.payload, load_schedule("cpu.mlir", worker=worker), worker=worker)
    straight = trace_schedule(made.payload, made.schedule, worker=worker)
    assert straight.outcome.status == "ok"
    marks = {
        "part",
        "layer",
        "end",
        "role",
        "strip",
        "is_strip",
        "named",
        "reads_matmul",
        "reads_matmuls",
        "way",
    }
    marks |= {"reduction", "row", "size", "rows", "filling", "panel"}
    marks |= {*re.findall(r'annotate %\w+ "(\w+)"', "".join(text for _, text in general.texts))} - {"fastmath"}
    assert normal_text(straight.last_snapshot_text(), marks) == normal_text(general.last_snapshot_text(), marks)


def test_a_matmul_is_a_short_schedule_for_any_tool(proposed, worker):
    made = proposed("matmul.mlir")
    assert len(made.text.splitlines()) < 80
    assert "lhkit." not in steps(made.text)
    assert not made.left_alone
    text = apply_portable(made.payload, made.schedule, worker=worker)
    assert "linalg." not in text and "vector.fma" in text
    assert 1 < made.applications < 100


def test_strips_of_two_widths_need_no_op_of_lhkit_either(worker):
    made = propose(load_payload("matmul.mlir", worker=worker), "avx2", worker=worker)
    assert made.verification.ok and not made.notes
    assert "lhkit." not in steps(made.text)
    blocks = re.findall(r"(?:^ +//.*\n)+", made.text, re.MULTILINE)
    assert blocks and len(blocks) == len({*blocks})


def test_requirements_name_only_knobs_that_are_there(worker):
    made = propose(load_payload("conv2d_nhwc.mlir", worker=worker), "avx2", worker=worker)
    assert made.verification.ok
    named = {n for r in re.findall(r"// lhkit: require (.*)", made.text) for n in re.findall(r"[a-z]\w+", r)}
    assert named <= {k.name for k in made.schedule.knobs}


@pytest.mark.parametrize("name", ["fc_relu.mlir", MLP, "row_sum.mlir"])
def test_what_needs_no_op_of_lhkit_has_none(name, proposed, worker):
    made = proposed(name)
    assert "lhkit." not in steps(made.text)
    assert apply_portable(made.payload, made.schedule, worker=worker) != made.payload.text


@pytest.mark.parametrize("name", ["matmul.mlir", "fc_relu.mlir"])
def test_knobs_that_are_kept_can_be_swept(name, proposed, worker):
    made = proposed(name)
    assert made.schedule.knobs
    for knob in made.schedule.knobs:
        assert len(knob.options) > 1
        for value in (knob.options[0], knob.options[-1]):
            kernel = lhkit.compile(made.payload, made.schedule, {knob.name: value}, worker=worker)
            assert lhkit.verify(kernel).ok, (knob.name, value)


def test_each_step_says_why(proposed):
    text = proposed("matmul.mlir").text
    lines = [line.strip() for line in text.splitlines()]
    assert lines[0].startswith("// Payload:") and any(line.startswith("// Result:  verified") for line in lines)
    for step in ("transform.loop.unroll", "transform.loop.peel", "transform.structured.vectorize"):
        at = next(i for i, line in enumerate(lines) if step in line)
        block = lines[:at]
        assert any(line.startswith("//") for line in block[-8:]), step


def test_a_payload_without_structured_ops_is_told_op_by_op(proposed):
    made = proposed("scalars")
    assert made.verification.ok
    assert [(each.op, each.source.line) for each in made.left_alone] == [("arith.addf", 3)]
    assert "no op of linalg" in made.left_alone[0].why
    assert any("arith.addf" in line for line in made.lines)


def test_products_on_memrefs_are_taken_or_told(proposed, worker):
    made = proposed("memrefs")
    assert made.verification.ok and made.left_alone == ()
    loaded = "%zero = arith.constant 0 : index\n  %x = memref.load %c[%zero, %zero] : memref<32x32xf32>\n"
    stored = "  memref.store %x, %a[%zero, %zero] : memref<32x32xf32>\n  return"
    text = MEMREFS.replace("linalg.matmul", f"{loaded}  linalg.matmul").replace("return", stored)
    told = propose(load_payload(text, worker=worker), worker=worker)
    assert told.verification.ok
    assert [each.op for each in told.left_alone] == ["linalg.matmul"]
    assert "memrefs" in told.left_alone[0].why


def test_a_proposal_that_computes_something_else_is_not_returned(monkeypatch, worker):
    payload = load_payload(SCALARS, worker=worker)
    wrong = lhkit.model.measurement.Verification(False, 1.0, 0.0, "the unscheduled payload", "result 0 is 2")
    monkeypatch.setattr(verification_thread, "verify_against", lambda *_: wrong)
    with pytest.raises(lhkit.errors.DefectError, match="result 0 is 2"):
        propose(payload, worker=worker)


def test_it_falls_back_to_matchers_and_says_so(monkeypatch, worker):
    def refuse(_trace):
        raise proposals.NotStraight("for a test")

    monkeypatch.setattr(proposals, "StraightLine", refuse)
    made = propose(load_payload("row_sum.mlir", worker=worker), worker=worker)
    assert made.verification.ok
    assert any("for a test" in note for note in made.notes)
    assert trace_schedule(made.payload, made.schedule, worker=worker).outcome.status == "ok"


def test_a_proposal_is_a_value(proposed):
    made = proposed("scalars")
    assert made == dataclasses.replace(made)
    assert made.trace().outcome.status == "ok"
    assert str(made).startswith("// Payload:")


def test_the_command_writes_the_schedule(lhkit_here, tmp_path):
    (tmp_path / "p.mlir").write_text(SCALARS, encoding="utf-8")
    done = lhkit_here("propose", str(tmp_path / "p.mlir"), "-o", "out.mlir")
    assert done.returncode == 0, done.stderr
    assert "left alone" in done.stderr and "verified against the unscheduled payload" in done.stderr
    assert lhkit_here("trace", str(tmp_path / "p.mlir"), "out.mlir").returncode == 0
    assert lhkit_here("propose", "none.mlir").returncode == 2


SLOW = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %n = transform.tune.knob<"n"> = 1 : i64 from options = [1, 16] -> !transform.param<i64>
    %op = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loops:3 = transform.structured.tile_using_for %op tile_sizes [4, %n, 1]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.structured.vectorize %tile : !transform.any_op
    transform.yield
  }
}
"""


def test_the_fastest_values_become_the_defaults(worker, tmp_path, monkeypatch):
    monkeypatch.setenv("LHKIT_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(knob_tuning, "_FOR_VARIANTS", 1)  # it ends when both variants were timed, in seconds
    schedule = load_schedule(SLOW, worker=worker)
    tuned, note = tune_knobs(load_payload("matmul.mlir", worker=worker), schedule, 120.0, worker=worker)
    assert tuned.values == {"n": 16} and 'knob<"n"> = 16' in tuned.text
    assert re.search(r"fastest of 2 of 2 variants in 120 s, \d+\.\d\d times as fast as before", note)


def test_a_proposal_with_tuned_knobs_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("LHKIT_STATE_DIR", str(tmp_path))
    found = propose("matmul.mlir", sweep=1.0)
    assert found.verification.ok
    (note,) = [each for each in found.notes if "variants" in each]
    assert f"//          {note}\n" in found.text
    assert all(found.schedule.values[k.name] in k.options for k in found.schedule.knobs)


def test_an_interrupted_sweep_keeps_the_best_so_far(worker, tmp_path, monkeypatch):
    monkeypatch.setenv("LHKIT_STATE_DIR", str(tmp_path))

    def interrupted(found):
        found.subscribe(lambda event: found.stop() if len(found.records) == 2 else None)
        run_in_thread(found)
        raise KeyboardInterrupt

    schedule = load_schedule(SLOW, worker=worker)
    payload = load_payload("matmul.mlir", worker=worker)
    tuned, note = tune_knobs(payload, schedule, 60.0, worker=worker, run=interrupted)
    assert tuned.values == {"n": 16}
    assert note.endswith(", measured once.")


def test_nothing_is_swept_without_knobs_or_time(worker):
    schedule = load_schedule(re.sub(r"options = \[1, 16\]", "options = [1]", SLOW), worker=worker)
    payload = load_payload("matmul.mlir", worker=worker)
    assert tune_knobs(payload, schedule, 1.0, worker=worker)[1] == "There is no knob to tune."
    with pytest.raises(UsageError, match="no time"):
        propose(SCALARS, sweep=0)


def test_the_header_names_the_knobs_that_are_left(proposed):
    made = proposed("einsum", "avx2")
    left = [knob.name for knob in made.schedule.knobs]
    assert re.search(r"^// Knobs: +(.*); see cpu\.mlir\.$", made.text, re.MULTILINE)[1] == ", ".join(left)
    assert "tile_n" not in left, "a knob that is a number now"


@pytest.mark.parametrize("way", ["0", "1", "2"])
def test_a_product_by_dot_products_is_plain_steps_and_not_left_alone(way, worker, monkeypatch):
    monkeypatch.setattr(target_choice, "dot_products", lambda *_: int(way))
    made = propose(load_payload("matmul_i8_i32.mlir", worker=worker), worker=worker)
    assert made.verification.ok and made.left_alone == ()
    assert "foreach_match" not in made.text
    assert ("dot_products" in made.text) == (way != "0")


@pytest.mark.parametrize("name", ["einsum", "two layers", "softmax.mlir"])
def test_ops_of_lhkit_are_called_optional_only_if_the_steps_apply_without_them(name, proposed, worker):
    made = proposed(name, "avx2")
    own = set(re.findall(r'"(lhkit\.\w+)"', made.text))
    assert own and made.verification.ok
    if "// lhkit: optional" in made.text:
        apply_portable(made.payload, made.schedule, worker=worker)
    else:
        assert any("other programs cannot apply it" in note for note in made.notes)
        with pytest.raises(UsageError, match="cannot be exported"):
            made.schedule.portable_text()


@pytest.mark.parametrize("way", ["0", "1", "3"])
def test_a_quantized_layer_with_its_end_is_plain_steps(way, worker, monkeypatch):
    # Its end is found by two marks at once; the panel is filled up by a pad that stays.
    monkeypatch.setattr(target_choice, "dot_products", lambda kind, _: int(way) * (kind == "i8"))
    made = propose(load_payload(QUANTIZED, worker=worker), worker=worker)
    assert made.verification.ok and made.left_alone == ()
    assert not _OUTSIDE.search(steps(made.text)), made.notes


def test_a_part_that_stays_a_loop_is_not_said_to_be_the_whole(worker):
    made = propose(load_payload(OF_UNKNOWN_EXTENTS, worker=worker), worker=worker)
    (left,) = made.left_alone
    assert left.op == "linalg.generic" and left.why.startswith("a part of it")
    assert "vector.fma" in made.trace().last_snapshot_text()


def test_marks_are_all_that_a_match_names():
    text = 'match ops{["x.y"]} attributes {a, b = "c, {d}", e = 1 : i64, f = affine_map<(i, j) -> (j, i)>, g} in %root'
    map_ = "affine_map<(i, j) -> (j, i)>"
    assert marks_in(text) == [("a", ""), ("b", '"c, {d}"'), ("e", "1 : i64"), ("f", map_), ("g", "")]


def test_progress_goes_from_applying_to_verifying(worker):
    stages = []
    propose(load_payload("row_sum.mlir", worker=worker), progress=stages.append, worker=worker)
    assert stages[0] == "applying cpu.mlir" and stages[-1].startswith("verifying")


# The verification beside the search.

NOTHING = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) { transform.yield }
}"""
ENDS = """
llvm.func @abort()
func.func @f(%a: f32) -> f32 {
  llvm.call @abort() : () -> ()
  return %a : f32
}
"""


@pytest.fixture
def own_workers(monkeypatch):
    """The workers that are started for verification."""
    made = []

    def start():
        made.append(own_worker())
        return made[-1]

    monkeypatch.setattr(verification_thread, "own_worker", start)
    monkeypatch.setattr(verification_thread, "available_cores", lambda: 2)
    return made


def test_a_worker_for_the_verification_changes_nothing_and_ends_with_it(own_workers, proposed):
    made = propose("row_sum.mlir")
    assert made == proposed("row_sum.mlir")
    (own,) = own_workers
    assert own.generation == 1 and own.pid is None


def test_the_verdict_on_a_draft_is_not_taken_for_what_gives_another_payload(monkeypatch, worker):
    verified = []

    def verdict(self, schedule, ask=verification_thread.VerificationThread.verdict):
        verified.append(schedule)
        return ask(self, schedule)

    monkeypatch.setattr(verification_thread.VerificationThread, "verdict", verdict)
    payload = load_payload("row_sum.mlir", worker=worker)
    propose(payload, worker=worker)
    assert len(verified) == 1, "the draft gives the same payload as the schedule"
    other = load_schedule(NOTHING, worker=worker)
    monkeypatch.setattr(proposals._Search, "_with_knobs", lambda *_: other)
    made = propose(payload, worker=worker)
    assert made.verification.ok and verified[2:] == [other]


def test_a_payload_that_ends_its_process_is_a_note(own_workers):
    made = propose(ENDS)
    assert made.verification is None
    assert any(re.match("@f cannot be run: the compiler's worker died", note) for note in made.notes), (
        made.notes
    )
    assert made.lines[0] == "not verified"
    assert own_workers[0].pid is None


def test_an_interrupt_ends_the_verification_too(own_workers):
    def interrupt(stage):
        if stage.startswith("leaving out"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        propose("row_sum.mlir", progress=interrupt)
    assert own_workers[0].pid is None
    assert not [t for t in threading.enumerate() if t.name.startswith("lhkit-verification")]


LONG = """
func.func @f(%a: f64) -> f64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 1000000000000 : index
  %r = scf.for %i = %zero to %end step %one iter_args(%sum = %a) -> (f64) {
    %next = arith.addf %sum, %a : f64
    scf.yield %next : f64
  }
  return %r : f64
}
"""


def test_an_interrupt_ends_what_was_given_to_the_worker_beside(own_workers, worker):
    payload = load_payload(LONG, worker=worker)
    begun = threading.Event()

    def run(beside):
        kernel = compile_kernel(payload, worker=beside)
        begun.set()
        return kernel(1.0)

    def interrupted():
        with verification_thread.verification_thread(payload, None) as thread:
            found.append(thread.beside(run))
            begun.wait()
            raise KeyboardInterrupt

    found = []
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert found[0].exception().failure.kind == "cancelled"
    assert own_workers[0].pid is None
