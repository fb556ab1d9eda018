"""Planted fusion failures: the cause, the step that is responsible, and repairs that fuse; names of ops; claims.

A planted file has the facts as comments, the payload, and behind ``// -----`` the schedule (none: the payload
alone is asked about). Those in ``planted/`` were written before the doctor, those in ``planted_later/``,
``planted_by_others/`` and ``planted_unseen/`` before it was mended for them.
"""

import re
from pathlib import Path

import pytest

import lhkit
from lhkit.fusion.fusion_case import FusionCase, find_op
from lhkit.fusion.fusion_causes import find_cause
from lhkit.fusion.fusion_queries import way_between
from lhkit.model.errors import UsageError
from lhkit.traces.record.placed_values import users_of

ANY = "!transform.any_op"
FILES = sorted(Path(__file__).parent.glob("planted*/*.mlir"))
PAYLOAD = """func.func @f(%x: tensor<8x8xf32>, %e: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = linalg.exp ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %wide = linalg.abs {tag, role = "wide"} ins(%0 : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = linalg.exp ins(%wide : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}"""
MATCH = f'    %abs = transform.structured.match ops{{["linalg.abs"]}} in %root : ({ANY}) -> {ANY}\n'
PRODUCER = f"    %exp = transform.get_producer_of_operand %abs[0] : ({ANY}) -> {ANY}\n"
TILE = (
    f"    %tile, %loop = transform.structured.tile_using_for %abs tile_sizes [4] : ({ANY}) -> ({ANY}, {ANY})\n"
)
FUSE = f"    %in, %new = transform.structured.fuse_into_containing_op %exp into %loop : ({ANY}, {ANY}) -> ({ANY}, {ANY})\n"


def schedule(*steps):
    head = f"module attributes {{transform.with_named_sequence}} {{\n  transform.named_sequence @__transform_main(%root: {ANY} {{transform.readonly}}) {{\n"
    return head + "".join(steps) + "    transform.yield\n  }\n}\n"


GENERIC = """func.func @g(%x: tensor<8xf32>, %e: tensor<8xf32>) -> tensor<8xf32> {
  %0 = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%0 : tensor<8xf32>)
      outs(%e : tensor<8xf32>) attrs = {tag = "late"} {
  ^bb0(%a: f32, %b: f32):
    %2 = arith.negf %a : f32
    linalg.yield %2 : f32
  } -> tensor<8xf32>
  return %1 : tensor<8xf32>
}"""


def traced(payload, text, worker):
    return lhkit.trace(
        lhkit.load_payload(payload, worker=worker), lhkit.load_schedule(text, worker=worker), worker=worker
    )


def read(path):
    text = path.read_text(encoding="utf-8")
    facts = dict(re.findall(r"^// (\w+): (.*)$", text, re.MULTILINE))
    payload, _, steps = text.partition("\n// -----\n")
    return facts, payload, steps.strip()


def loops_by_indent(text, name):
    """Return for each op of a name the headers of the loops around it, read from the indentation alone."""
    found, around = [], []
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        around = [(at, header) for at, header in around if at < indent]
        if re.search(r"= scf\.(for|forall|while)|^\s*scf\.(for|forall) ", line):
            around.append((indent, line.strip()))
        if re.search(rf"= {re.escape(name)}\b", line):
            found.append([header for _, header in around])
    return found


def share_a_loop(text, producer, consumer):
    """Return whether two ops have an innermost loop in common, or the consumer is no op any more."""
    inner, outer = loops_by_indent(text, producer), loops_by_indent(text, consumer)
    # A generalized producer is a linalg.generic by then.
    inner = inner if any(inner) else loops_by_indent(text, "linalg.generic")
    return any(a and b and (a[-1] in b or b[-1] in a) for a in inner for b in outer) or not outer


def ask(path, worker, **how):
    facts, payload, steps = read(path)
    asked = traced(payload, steps, worker) if steps else lhkit.load_payload(payload, worker=worker)
    answer = lhkit.why_not_fused(asked, facts["producer"], facts["consumer"], worker=worker, **how)
    return facts, payload, asked, answer


def named(paths):
    return [pytest.param(path, id=f"{path.parent.name}-{path.stem}") for path in paths]


@pytest.mark.parametrize("path", named(FILES))
def test_the_cause_of_a_planted_failure(path, worker):
    facts, _, asked, answer = ask(path, worker, limit=0)
    assert answer.cause == facts["cause"], answer.sentence
    if "step" in facts:
        assert asked.step_records[answer.step].op == facts["step"]
        assert any(
            p.severity == "error" and p.span == asked.step_records[answer.step].source for p in answer.places
        )


def check_repairs(path, worker):
    facts, payload, _, answer = ask(path, worker, seconds=300)
    assert bool(answer.repairs) == (facts["repair"] == "yes"), answer
    loaded = lhkit.load_payload(payload, worker=worker)
    for repair in answer.repairs:
        repaired = lhkit.trace(loaded, lhkit.load_schedule(repair.text, worker=worker), worker=worker)
        assert repaired.outcome.status == "ok" and repair.diff.count("\n+") + repair.diff.count("\n-") > 1
        names = facts["producer"].partition("#")[0], facts["consumer"].partition("#")[0]
        if names[0] != names[1] and not names[0].startswith("%") and not "".join(names).isdecimal():
            texts = [repaired.snapshot_text(s.step) for s in repaired.snapshots]
            # Later steps may outline, vectorize or fold one of them.
            kept = [t for t in texts if all(f"= {n} " in t for n in names) and "func.call" not in t]
            assert any(share_a_loop(text, *names) for text in (texts[-1], *kept)), texts[-1]


OTHERS = Path(__file__).parent / "planted_by_others"
OWN = [path for path in FILES if path.parent.name in ("planted", "planted_later")]


@pytest.mark.parametrize("path", named(OWN))
def test_repairs_of_a_planted_failure(path, worker):
    check_repairs(path, worker)


@pytest.mark.heavy
@pytest.mark.parametrize("path", named([path for path in FILES if path not in OWN]))
def test_repairs_of_what_others_planted(path, worker):
    check_repairs(path, worker)


def test_there_are_sixteen_of_eight_kinds_and_more():
    kinds = [read(path)[0]["cause"] for path in FILES if path.parent.name == "planted"]
    joined = [k.replace("dead-", "").replace("empty-", "") for k in kinds]
    assert len(kinds) == 16 and sorted(joined.count(k) for k in set(joined)) == [2] * 8
    assert len(FILES) == 210


def test_an_attribute_names_an_op_lines_above_it(worker):
    trace = traced(GENERIC, schedule(), worker)
    assert trace.op(find_op(trace, '{tag = "late"}')).name == "linalg.generic"


@pytest.mark.parametrize(
    ("asked", "line"),
    [("linalg.abs", 3), ("abs", 3), ("linalg.exp#1", 4), ("exp#0", 2), ("line 4", 4), ("2", 2), ("%wide", 3),
     ("%abs", 3), ("%exp", 2), ("{tag}", 3), ('{role = "wide"}', 3), ("{ role }", 3)],
)  # fmt: skip
def test_an_op_is_named_as_users_name_it(asked, line, worker):
    trace = traced(PAYLOAD, schedule(MATCH, PRODUCER), worker)
    assert trace.op(find_op(trace, asked)).source.line == line


@pytest.mark.parametrize(
    ("asked", "said"),
    [("linalg.exp", "means 2 ops"), ("linalg.sub", "no op of the payload"), ("linalg.exp#2", "no op"), ("%q", "no op"),
     ("99", "no op"), ("", "no op"), ("{nothing}", "no op"), ('{role = "wid"}', "no op"), ("{tag = 1}", "no op"), ("linalg.exp#x", "means 2 ops"), ("(", "no op")],
)  # fmt: skip
def test_a_name_of_no_op_or_of_several_lists_the_candidates(asked, said, worker):
    with pytest.raises(UsageError, match=said) as refused:
        lhkit.why_not_fused(lhkit.load_payload(PAYLOAD, worker=worker), asked, "linalg.abs", worker=worker)
    assert "linalg.exp#1 at <payload>:4:8" in str(refused.value)


def test_one_op_is_not_two(worker):
    with pytest.raises(UsageError, match="mean the same op"):
        lhkit.why_not_fused(lhkit.load_payload(PAYLOAD, worker=worker), "abs", "%wide", worker=worker)


def test_fused_ops_are_said_to_be_with_loop_line_and_step(worker):
    trace = traced(PAYLOAD, schedule(MATCH, PRODUCER, TILE, FUSE), worker)
    answer = trace.why_not_fused("%exp", "%abs")
    line = int(re.search(r"at line (\d+)", answer.sentence)[1])
    assert answer.cause == "fused" and "scf.for" in trace.last_snapshot_text().splitlines()[line - 1]
    assert trace.step_records[answer.step].op == "transform.structured.tile_using_for" and not answer.tried
    assert "[fused]" in str(answer) and "<schedule>:5:" in str(answer)


def test_what_no_step_asks_for_is_fused_by_steps_at_the_end(worker):
    payload = lhkit.load_payload(PAYLOAD, worker=worker)
    answer = lhkit.why_not_fused(payload, "%0", "linalg.exp#1", limit=4, seconds=300, worker=worker)
    assert answer.cause == "not-asked" and len(answer.repairs) >= 3
    assert {"scf.for", "scf.forall"} <= {w for r in answer.repairs for w in re.findall(r"scf\.\w+", r.title)}
    assert all("linalg.abs" in r.text or "structured.fuse" in r.title for r in answer.repairs)
    quick = lhkit.why_not_fused(payload, "%0", "linalg.exp#1", limit=0, worker=worker)
    assert (quick.cause, quick.sentence, quick.repairs.found, quick.tried) == (
        answer.cause,
        answer.sentence,
        (),
        0,
    )


def test_a_schedule_that_fails_for_another_reason_says_that(worker):
    wrong = f"    %t, %l = transform.structured.tile_using_for %abs tile_sizes [4, 4, 4] : ({ANY}) -> ({ANY}, {ANY}, {ANY}, {ANY})\n"
    trace = traced(
        PAYLOAD, schedule(MATCH, PRODUCER, wrong.replace("%t, %l =", "%t, %l:3 ="), TILE, FUSE), worker
    )
    answer = trace.why_not_fused("%0", "%wide", limit=0)
    assert trace.outcome.status == "failed" and answer.cause == "failed-before" and answer.step == 2


def test_an_initial_value_that_a_loop_carries_is_not_fused_into_it(worker):
    payload = lhkit.payloads.fc_relu(16, 16, 16).text
    match = MATCH.replace("linalg.abs", "linalg.matmul")
    steps = (match, PRODUCER.replace("[0]", "[2]"), TILE.replace("[4]", "[0, 0, 4]"), FUSE)
    answer = traced(payload, schedule(*steps), worker).why_not_fused("%exp", "%abs", limit=0)
    assert answer.cause == "outside-the-loop" and "carries its result" in answer.sentence and answer.step == 3


def test_a_crash_of_the_fusion_is_explained_and_repaired(worker):
    generic = """linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>"""
    payload = PAYLOAD.replace(PAYLOAD.splitlines()[1].split(" = ")[1], generic).replace("ins(%wide", "ins(%0")
    payload = payload.replace(
        "return %2 : tensor<8x8xf32>", "return %wide, %2 : tensor<8x8xf32>, tensor<8x8xf32>"
    )
    payload = payload.replace("-> tensor<8x8xf32> {\n", "-> (tensor<8x8xf32>, tensor<8x8xf32>) {\n", 1)
    trace = traced(payload, schedule(MATCH, PRODUCER, TILE, FUSE), worker)
    answer = lhkit.why_not_fused(trace, "linalg.generic", "linalg.abs", seconds=300, worker=worker)
    assert (
        trace.outcome.status == "crashed" and answer.cause == "several-uses" and "linalg.exp" in answer.sentence
    )
    assert "scf.forall" in answer.repairs[0].title


def test_a_second_fusion_and_dead_code_are_seen_for_what_they_are(worker):
    """The original that fusing leaves behind without users is no copy; elementwise fusion makes one op of two."""
    trace = traced(PAYLOAD, schedule(MATCH, PRODUCER, TILE, FUSE), worker)
    case = FusionCase(trace, find_op(trace, "%exp"), find_op(trace, "%abs"))
    outside = [n for n in case.instances(case.last, case.producer) if case.last.ir.ops[n].lines[0] < 4]
    assert all(not users_of(case.last, n) for n in outside) and find_cause(case).cause == "fused"
    run = f"""    %f = transform.structured.match ops{{["func.func"]}} in %root : ({ANY}) -> {ANY}
    %l = transform.structured.match interface{{LinalgOp}} in %f : ({ANY}) -> {ANY}
    %g = transform.structured.generalize %l : ({ANY}) -> {ANY}
    %r = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %f : ({ANY}) -> {ANY}\n"""
    answer = traced(PAYLOAD, schedule(run), worker).why_not_fused("%0", "%2", limit=0)
    assert answer.cause == "fused" and "computes both" in answer.sentence


def test_unknown_is_said_with_the_facts(worker):
    greedy = f"    %t, %l = transform.structured.fuse %abs tile_sizes [4] : ({ANY}) -> ({ANY}, {ANY})\n"
    answer = traced(PAYLOAD, schedule(MATCH, greedy), worker).why_not_fused(
        "linalg.abs", "linalg.exp#1", limit=0
    )
    assert answer.cause in ("wrong-order", "unknown") and any("producer: linalg.abs" in f for f in answer.facts)


def test_the_command_line(lhkit_here, tmp_path):
    (tmp_path / "p.mlir").write_text(PAYLOAD)
    (tmp_path / "s.mlir").write_text(schedule(MATCH, TILE))
    (tmp_path / "dead.mlir").write_text(
        schedule(MATCH, PRODUCER, TILE, FUSE, FUSE.replace("%in, %new", "%i, %n"))
    )
    asked = ("trace", "p.mlir", "s.mlir", "--why-not-fused")
    done = lhkit_here(*asked, "%0", "%abs")
    assert (
        done.returncode == 0
        and "[not-asked]" in done.stdout
        and "1. Tile by structured.fuse in place of transform.structured.tile_using_for (line" in done.stdout
    )
    assert done.stdout.startswith("No step fuses")  # in place of the trace
    assert "repaired" not in lhkit_here(*asked, "%0", "abs", "--no-repairs").stdout
    wrong = lhkit_here(*asked, "exp", "abs")
    assert wrong.returncode == 2 and "linalg.exp#0 at p.mlir:2:8" in wrong.stderr
    failed = lhkit_here("trace", "p.mlir", "dead.mlir", "--why-not-fused", "%exp", "%abs")
    assert failed.returncode == 1 and "[fused]" in failed.stdout and "%exp is invalidated" in failed.stderr


def test_a_handle_of_an_op_that_a_step_made_gives_the_same_cause(worker):
    _, payload, steps = read(OTHERS / "06.mlir")
    answers = [
        traced(payload, steps, worker).why_not_fused("linalg.transpose", c, limit=0)
        for c in ("%rhs", "linalg.matmul")
    ]
    assert {(a.cause, a.step) for a in answers} == {("folded-transpose", 3)}


def test_buffers_name_what_is_between_and_loops_that_a_pass_fused(worker):
    _, payload, steps = read(OTHERS / "15.mlir")
    answer = traced(payload, steps, worker).why_not_fused("linalg.exp", "linalg.add", limit=0)
    assert "memref.load" in answer.sentence and "func.call" in answer.sentence
    assert all("not an op any more" in fact for fact in answer.facts) and len(answer.facts) == 2
    alone = "\n".join(line for line in payload.splitlines() if "%first" not in line and "private" not in line)
    assert traced(alone, steps, worker).why_not_fused("linalg.exp", "linalg.add", limit=0).cause == "fused"


def test_repairs_keep_the_read_and_are_offered_once(worker):
    _, payload, steps = read(OTHERS / "05.mlir")
    answer = traced(payload, steps, worker).why_not_fused(
        "linalg.transpose", "linalg.pack", limit=6, seconds=300
    )
    titles, kept = [r.title for r in answer.repairs], []
    for repair in answer.repairs:
        trace = traced(payload, repair.text, worker)
        case = FusionCase(trace, find_op(trace, "linalg.transpose"), find_op(trace, "linalg.pack"))
        kept.append(way_between(case, case.last) is not None)
    assert len(titles) == len(set(titles)) and kept == sorted(kept, reverse=True) and sum(kept) > 1
    assert "tile sizes" not in answer.tried_kinds and "the order of steps" in answer.tried_kinds
