"""The memory of sweeps: keys by content, a store that survives, and who asks it."""

import dataclasses
import json
import re
import subprocess
import sys
from importlib.resources import files

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sweep_records import comparison

import lhkit
from lhkit.model.errors import UsageError
from lhkit.sweeps import live_sweep
from lhkit.sweeps.confirmation import Confirmation, SpeedUp, judge
from lhkit.tuned import best_known, tuned_store
from lhkit.tuned.best_known import best, exact_match
from lhkit.tuned.payload_content import Content, content_of, log_distance
from lhkit.tuned.tuned_store import TunedSchedule, all_tuned, import_tuned, keep_tuned, tuned_json, tuned_path

SCHEMA = json.loads(files("lhkit").joinpath("schemas/best-1.json").read_text(encoding="utf-8"))
LAYER = """// {comment}
#same = affine_map<(i, j) -> (i, j)>
func.func @{function}(%{a}: tensor<{m}x{k}x{type}>, %{b}: tensor<{k}x{n}x{type}>) -> tensor<{m}x{n}x{type}> {{
  %zero = arith.constant 0.0 : {type}
  %empty = tensor.empty() : tensor<{m}x{n}x{type}>
  %fill = linalg.fill ins(%zero : {type}) outs(%empty : tensor<{m}x{n}x{type}>) -> tensor<{m}x{n}x{type}>
  %r = linalg.matmul ins(%{a}, %{b} : tensor<{m}x{k}x{type}>, tensor<{k}x{n}x{type}>)
    outs(%fill : tensor<{m}x{n}x{type}>) -> tensor<{m}x{n}x{type}>
  return %r : tensor<{m}x{n}x{type}>
}}
"""
PLAIN = {"comment": "", "function": "f", "a": "a", "b": "b", "m": 8, "k": 16, "n": 24, "type": "f32"}
TILED = """// {comment}
module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: !transform.any_op {{transform.readonly}}) {{
    %m = transform.structured.match ops{{["linalg.matmul"]}} in %root : (!transform.any_op) -> !transform.any_op
    %tile = transform.tune.knob<"tile"> = 4 : i64 from options = [4, 8] -> !transform.param<i64>
    %t, %l = transform.structured.tile_using_for %m tile_sizes [%tile]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }}
}}
"""
WRITES = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %x = transform.apply_registered_pass "snapshot-op-locations" with options = {"filename" = "FILE"} to %root
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
"""
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True)


def layer(worker, **changes):
    return lhkit.load_payload(LAYER.format(**PLAIN | changes), worker=worker)


def tuned_for(payload, worker, /, **changes):
    """Return what a sweep would have kept for a payload."""
    content = content_of(payload, worker)
    made = TunedSchedule(
        content=content.digest,
        structure=content.structure,
        extents=content.extents,
        target=best_known.find_target("host").name,
        cpu=best_known._cpu(),
        schedule=TILED.format(comment="kept"),
        knobs=(("tile", 4),),
        time_ns=1000.0,
        speed_ups=(("default knobs", 1.5),),
        payload=payload.source,
        machine="here",
        date="2026-01-01T00:00:00+00:00",
        lhkit="0.1.0",
    )
    return dataclasses.replace(made, **changes)


# Keys.


@settings(max_examples=20)
@given(
    names=st.lists(NAMES.filter(lambda name: name != "r"), min_size=3, max_size=3, unique=True), comment=NAMES
)
def test_names_and_comments_are_no_part_of_the_key(worker, names, comment):
    function, a, b = names
    changed = layer(worker, function=function, a=a, b="e" + b, comment=comment)
    assert content_of(changed, worker) == content_of(layer(worker), worker)


@settings(max_examples=20)
@given(m=st.integers(1, 99), k=st.integers(1, 99), n=st.integers(1, 99), type_=st.sampled_from(["f32", "f64"]))
def test_extents_and_types_are(worker, m, k, n, type_):
    plain, changed = (
        content_of(layer(worker), worker),
        content_of(layer(worker, m=m, k=k, n=n, type=type_), worker),
    )
    assert (changed == plain) == ((m, k, n, type_) == (8, 16, 24, "f32"))
    assert (changed.structure == plain.structure) == (type_ == "f32")
    assert set(changed.extents) == {m, k, n}


def test_bytecode_and_text_of_one_payload_have_one_key(worker):
    text = layer(worker)
    printed = text.text.replace("\n", "\n\n").replace("%r", "%other").replace("#same", "#map7")
    assert content_of(lhkit.load_payload(printed, worker=worker), worker) == content_of(text, worker)


def test_names_of_constants_that_became_arguments_are_no_part_of_the_key(worker):
    named = LAYER.format(**PLAIN).replace("f32>,", 'f32> {lhkit.name = "w, \\"x\\"", lhkit.resource = "r"},', 1)
    assert content_of(lhkit.load_payload(named, worker=worker), worker) == content_of(layer(worker), worker)


def test_a_body_is_part_of_the_key_also_of_the_structure(worker):
    text = LAYER.format(**PLAIN)
    other = lhkit.load_payload(text.replace("constant 0.0", "constant 1.0"), worker=worker)
    assert content_of(other, worker).structure != content_of(layer(worker), worker).structure


def test_twice_is_as_far_as_half():
    assert log_distance((8, 16), (8, 32)) == pytest.approx(log_distance((8, 16), (8, 8)))
    assert (
        log_distance((8, 16), (8, 16)) == 0 < log_distance((8, 16), (9, 16)) < log_distance((8, 16), (10, 16))
    )
    assert log_distance((0,), (1,)) == 0


# What is known.


def test_the_same_payload_is_known_and_another_target_is_not(worker):
    payload = layer(worker)
    assert not best(payload, worker=worker) and best(payload, worker=worker).text == ""
    keep_tuned(tuned_for(payload, worker))
    found = best(layer(worker, function="other"), worker=worker)
    assert found and found.is_exact and found.text == TILED.format(comment="kept")
    assert ": 1 µs, 1.5× the speed of default knobs" in str(found)
    other = "sse" if found.target != "sse" else "avx2"
    assert not best(payload, other, worker=worker)


def test_the_nearest_shape_is_offered_and_said_and_never_used(worker):
    for m in (64, 16, 1):
        keep_tuned(tuned_for(layer(worker, m=m), worker, payload=f"m{m}.mlir"))
    payload = layer(worker, m=10)
    found = best(payload, worker=worker)
    assert found.tuned.payload == "m16.mlir" and not found.is_exact
    assert found.note == "not known; the nearest known shape has 16 for 10"
    assert exact_match(payload, None, worker) is None
    assert lhkit.assemble(payload, use_kept=True, worker=worker).kept == ()
    assert not best(layer(worker, type="f64"), worker=worker)


def test_another_cpu_is_offered_and_never_used(worker):
    payload = layer(worker)
    keep_tuned(tuned_for(payload, worker, cpu="another one"))
    found = best(payload, worker=worker)
    assert found.tuned.cpu == "another one" and not found.is_exact and found.note == "not known on this CPU"
    assert exact_match(payload, None, worker) is None


# Winners of sweeps.


def swept(monkeypatch, payload, worker, tmp_path, times, end="decided"):
    """Run a sweep of two tiles whose confirmation has these times; process by process the same."""

    async def confirmed(confirming, _stop):
        names = list(confirming._records)
        runs = [comparison(dict(zip(names, ([t + i / 1000] for t in times), strict=True))) for i in range(4)]
        verdict = judge(runs, names, is_over=True)
        confirming._log.close()
        return Confirmation(
            verdict=verdict,
            knobs=tuple((n, r.knobs) for n, r in confirming._records.items()),
            keys=tuple((n, r.key) for n, r in confirming._records.items()),
            speed_ups=(SpeedUp("default knobs", verdict.standings[-1].lead),),
            gflops=None,
            of_peak=None,
            hot_loops=None,
            end=end,
            seconds=1.0,
            runs=tuple(runs),
        )

    monkeypatch.setattr(live_sweep, "confirm", confirmed)
    schedule = lhkit.load_schedule(TILED.format(comment="swept"), worker=worker)
    # Neither is given up, however busy the machine is.
    found = lhkit.sweep(payload, schedule, store=tmp_path / "s.jsonl", worker=worker, pin=False, cut=1e9)
    (confirmation,) = found.confirmations.values()
    return dict(confirmation.knobs)[confirmation.verdict.leader.name][0][1]


def test_a_declared_winner_is_kept_with_its_knobs(worker, tmp_path, monkeypatch):
    payload = layer(worker, m=32)
    tile = swept(monkeypatch, payload, worker, tmp_path, [1000.0, 2000.0])
    (kept,) = all_tuned()
    assert kept.knobs == (("tile", tile),) and f'knob<"tile"> = {tile} : i64' in kept.schedule
    assert kept.time_ns == pytest.approx(1000, rel=0.01) and dict(kept.speed_ups)["default knobs"] > 1.9
    jsonschema.validate(json.loads(tuned_json([kept])), SCHEMA)
    assert best(payload, worker=worker).is_exact


@pytest.mark.parametrize(
    ("times", "end"), [([1000.0, 1000.0], "out of processes"), ([1.0, 2.0], "out of time")]
)
def test_a_sweep_that_is_not_decided_keeps_nothing(worker, tmp_path, monkeypatch, times, end):
    payload = layer(worker, m=32)
    swept(monkeypatch, payload, worker, tmp_path, times, end)
    assert all_tuned() == [] and not best(payload, worker=worker)


def test_a_winner_that_cannot_be_kept_is_said_and_the_sweep_is_whole(worker, tmp_path, monkeypatch):
    def full(*_, **_options):
        raise OSError(28, "No space left on device")

    known = tuned_for(layer(worker), worker)
    keep_tuned(known)
    monkeypatch.setattr(tuned_store, "write_whole", full)
    with pytest.warns(UserWarning, match="not kept.*No space left on device"):
        swept(monkeypatch, layer(worker, m=32), worker, tmp_path, [1000.0, 2000.0])
    with pytest.raises(UsageError, match="No space left on device"):
        keep_tuned(dataclasses.replace(known, time_ns=1.0))
    assert all_tuned() == [known]


# Who asks.

MODEL = """
func.func @{name}(%x: tensor<8x16xf32>, %w: tensor<16x24xf32>, %v: tensor<24x{n}xf32>) -> tensor<8x{n}xf32> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x24xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<8x24xf32>) -> tensor<8x24xf32>
  %h = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x24xf32>) outs(%i : tensor<8x24xf32>) -> tensor<8x24xf32>
  %e2 = tensor.empty() : tensor<8x{n}xf32>
  %i2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8x{n}xf32>) -> tensor<8x{n}xf32>
  %r = linalg.matmul ins(%h, %v : tensor<8x24xf32>, tensor<24x{n}xf32>) outs(%i2 : tensor<8x{n}xf32>) -> tensor<8x{n}xf32>
  return %r : tensor<8x{n}xf32>
}}
"""


def model(worker, **names):
    return lhkit.load_payload(MODEL.format(**{"name": "model", "n": 40} | names), worker=worker)


def test_a_second_model_with_the_same_layer_gets_its_schedule(worker):
    first, second = model(worker), model(worker, name="another", n=56)
    part = first.parts()[0]
    keep_tuned(tuned_for(part.payload, worker))
    kernel = lhkit.assemble(second, use_kept=True, worker=worker)
    assert kernel.kept == ("part_0",) and kernel.verification.ok
    assert kernel.schedules["part_0"].text == TILED.format(comment="kept")
    assert kernel.schedules["part_1"].source.endswith("cpu.mlir")
    profile = lhkit.profile(kernel, seconds=0.01)
    assert {t.part.name: t.schedule for t in profile.times}["part_0"].startswith("the best known for ")
    assert "the best known for" in str(profile)
    plain = lhkit.assemble(second, worker=worker)
    assert plain.kept == () and plain.schedules["part_0"].source.endswith("cpu.mlir")
    own = lhkit.assemble(second, {"part_0": "matmul_tile.mlir"}, use_kept=True, worker=worker)
    assert own.kept == () and own.schedules["part_0"].source.endswith("matmul_tile.mlir")


@pytest.mark.parametrize(
    "schedule",
    [WRITES, TILED.format(comment="").replace("linalg.matmul", "linalg.conv_2d"), "{ no IR"],
    ids=["writes", "does not apply", "does not parse"],
)
def test_what_is_kept_and_not_fit_is_said_and_not_used(worker, tmp_path, schedule):
    payload = model(worker)
    file = tmp_path / "written.mlir"
    keep_tuned(tuned_for(payload.parts()[0].payload, worker, schedule=schedule.replace("FILE", str(file))))
    with pytest.warns(UserWarning, match="kept"):
        kernel = lhkit.assemble(payload, use_kept=True, worker=worker)
    assert kernel.kept == () and kernel.verification.ok and not file.exists()
    proposal = lhkit.propose(payload.parts()[0].payload, use_kept=True, worker=worker)
    assert "is not proposed" in proposal.lines[1] and proposal.verification.ok and not file.exists()


# Sums begin with one in place of zero.
CHANGES = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %m = transform.structured.match ops{["arith.constant"]} in %root : (!transform.any_op) -> !transform.any_op
    %one = transform.param.constant 1.0 : f32 -> !transform.any_param
    transform.annotate %m "value" = %one : !transform.any_op, !transform.any_param
    transform.yield
  }
}
"""


def test_what_computes_something_else_is_neither_assembled_nor_proposed(worker):
    payload = layer(worker)
    keep_tuned(tuned_for(payload, worker, schedule=CHANGES))
    with pytest.warns(UserWarning, match="compute something else"):
        assert lhkit.assemble(payload, use_kept=True, worker=worker).kept == ()
    assert "is not proposed" in lhkit.propose(payload, use_kept=True, worker=worker).lines[1]


def test_a_kept_schedule_is_proposed_after_it_is_verified_again(worker):
    payload = layer(worker)
    keep_tuned(tuned_for(payload, worker, schedule=TILED.format(comment="Result: not verified yet.")))
    proposal = lhkit.propose(payload, use_kept=True, worker=worker)
    assert "// Result: verified against the unscheduled payload" in proposal.text
    assert proposal.lines[1].startswith("kept: won a sweep of") and proposal.verification.ok
    assert proposal.trace().outcome.status == "ok"
    fresh = lhkit.propose(payload, worker=worker)
    assert "cpu.mlir" in fresh.text and not any(line.startswith("kept") for line in fresh.lines)


# The store.


def test_the_faster_of_two_stays_and_what_was_timed_here_replaces_what_was_imported(worker):
    first = tuned_for(layer(worker), worker)
    slower, faster = (
        dataclasses.replace(first, time_ns=t, schedule=TILED.format(comment=t)) for t in (2e3, 5e2)
    )
    assert keep_tuned(first) and not keep_tuned(slower) and all_tuned() == [first]
    assert keep_tuned(faster) and all_tuned() == [faster]
    imported = dataclasses.replace(first, time_ns=1.0, is_imported=True)
    assert not keep_tuned(imported) and all_tuned() == [faster]
    tuned_path(first.content, first.target, first.cpu).unlink()
    assert keep_tuned(imported) and keep_tuned(slower) and all_tuned() == [slower]


def test_two_processes_that_write_at_once_leave_the_fastest_whole(worker):
    first = tuned_for(layer(worker), worker)
    keep_tuned(first)
    path = tuned_path(first.content, first.target, first.cpu)
    code = """
import dataclasses, sys
from pathlib import Path
from lhkit.tuned.tuned_store import keep_tuned, read_tuned
path, parity = Path(sys.argv[1]), int(sys.argv[2])
first = read_tuned(path)
print("ready", flush=True)
sys.stdin.readline()
for number in range(parity, 200, 2):
    text = first.schedule + "//" + "x" * 20_000 + str(number)
    keep_tuned(dataclasses.replace(first, time_ns=1000.0 - (number * 77) % 200, schedule=text))
    assert read_tuned(path) is not None
"""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", code, str(path), n], **pipes) for n in "01"
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    assert [(process.communicate()[0], process.returncode) for process in processes] == [("", 0)] * 2
    (kept,) = all_tuned()
    assert kept.time_ns == 1000.0 - 199
    assert {p.name for p in path.parent.iterdir()} == {path.name, "lock"}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "\0" * 100,
        lambda text: text.replace('"schema"', '"scheme"'),
        lambda text: text.replace("lhkit.best/1", "lhkit.best/2"),
        lambda text: text.replace('"here"', "7"),
        lambda text: text.replace("avx", "neon").replace("sse", "neon"),
        lambda text: re.sub(r'"time_ns": [\d.]+', '"time_ns": NaN', text),
    ],
)
def test_a_file_that_cannot_be_read_is_said_and_set_aside(worker, spoil):
    payload = layer(worker)
    known = tuned_for(payload, worker)
    keep_tuned(known)
    path = tuned_path(known.content, known.target, known.cpu)
    spoiled = spoil(path.read_text())
    assert spoiled != path.read_text()
    path.write_text(spoiled)
    with pytest.warns(UserWarning, match="no tuned schedule is read from"):
        assert not best(payload, worker=worker)
    aside = path.with_name(f"{path.name}.damaged")
    assert aside.read_text() == spoiled and not path.exists()
    assert keep_tuned(known) and all_tuned() == [known]


def test_a_link_is_not_followed(worker, tmp_path):
    known = tuned_for(layer(worker), worker)
    path = tuned_path(known.content, known.target, known.cpu)
    (tmp_path / "elsewhere.json").write_text(tuned_json([known]))
    path.symlink_to(tmp_path / "elsewhere.json")
    with pytest.warns(UserWarning, match="cannot be read"):
        assert all_tuned() == []


# Files.


def test_what_is_exported_can_be_imported(worker, tmp_path):
    known = [tuned_for(layer(worker, m=m), worker, payload=f"m{m}.mlir") for m in (8, 16)]
    for each in known:
        keep_tuned(each)
    file = tmp_path / "best.json"
    file.write_text(tuned_json(all_tuned()))
    jsonschema.validate(json.loads(file.read_text()), SCHEMA)
    assert import_tuned(file, worker) == (0, 2)
    for each in known:
        tuned_path(each.content, each.target, each.cpu).unlink()
    assert import_tuned(file, worker) == (2, 2)
    assert {dataclasses.replace(t, is_imported=False) for t in all_tuned()} == {*known}
    assert all(t.is_imported for t in all_tuned())
    payload = layer(worker)
    assert lhkit.assemble(payload, use_kept=True, worker=worker).kept == ("part_0",)
    assert lhkit.assemble(payload, use_kept=True, check=False, worker=worker).kept == (), (
        "nothing would verify it"
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schedule": WRITES}, "snapshot-op-locations is refused: it writes files"),
        ({"schedule": "/etc/hostname"}, "its schedule is not text"),
        ({"schedule": "// lhkit: library secrets.mlir\n" + TILED.format(comment="")}, "names libraries"),
        ({"content": "../../../etc/x"}, "hash"),
        ({"time_ns": -1.0}, "time"),
        ({"unknown": 1}, "unknown field"),
        ({"extents": [1.5]}, "does not fit"),
    ],
)
def test_a_hostile_file_is_refused_whole(worker, tmp_path, changes, message):
    good = tuned_for(layer(worker), worker)
    data = json.loads(tuned_json([good, good]))
    data["entries"][1] |= changes
    file = tmp_path / "hostile.json"
    file.write_text(json.dumps(data))
    with pytest.raises(UsageError, match=re.escape(message)):
        import_tuned(file, worker)
    assert all_tuned() == []


def test_a_file_that_is_none_is_refused(tmp_path, worker):
    with pytest.raises(UsageError, match="cannot be read"):
        import_tuned(tmp_path / "none.json", worker)
    for text in ("", "[]", '{"schema": "lhkit.bench/1", "entries": []}', "[" * 5000):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(UsageError, match=r"is not a file of lhkit\.best/1"):
            import_tuned(tmp_path / "x.json", worker)


# The command.


def test_the_command_shows_lists_exports_and_imports(lhkit_here, worker, tmp_path):
    assert lhkit_here("best", "--list").stdout == "Nothing is known yet: sweeps fill it.\n"
    (tmp_path / "layer.mlir").write_text(LAYER.format(**PLAIN))
    shown = lhkit_here("best", "layer.mlir")
    assert shown.returncode == 0 and "nothing is known" in shown.stdout
    nothing = lhkit_here("best", "layer.mlir", "-o", "x.mlir")
    assert nothing.returncode == 2 and "no schedule to write" in nothing.stderr
    keep_tuned(tuned_for(layer(worker), worker))
    shown = lhkit_here("best", "layer.mlir", "-o", "-")
    assert shown.stdout == TILED.format(comment="kept") and ": known" in shown.stderr
    assert lhkit_here("best", "--export", "all.json").returncode == 0
    (known,) = all_tuned()
    tuned_path(known.content, known.target, known.cpu).unlink()
    imported = lhkit_here("best", "--import", "all.json")
    assert imported.returncode == 0 and imported.stdout.startswith("1 of 1 schedules kept")
    assert "imported" in lhkit_here("best", "--list").stdout
    for wrong in (
        [],
        ["layer.mlir", "--list"],
        ["--list", "-o", "x.mlir"],
        ["--import", "layer.mlir"],
        ["no.mlir"],
    ):
        refused = lhkit_here("best", *wrong)
        assert refused.returncode == 2 and refused.stderr.startswith("lhkit: "), wrong


def test_it_can_be_asked_by_its_public_names(worker):
    assert isinstance(lhkit.best(layer(worker), worker=worker), lhkit.Best)
    assert Content("a", "b", ()) == Content("a", "b", ())
