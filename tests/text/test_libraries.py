"""Libraries that a schedule names in a comment: found beside it or among the shipped ones, and inlined."""

import os
import shutil

import pytest

import lhkit
from lhkit.compose.recipes import recipes_to_copy, recipes_to_declare
from lhkit.load.loader import load_schedule
from lhkit.load.schedule_export import portable_text
from lhkit.load.shipped_files import shipped_folder
from lhkit.model.errors import ScheduleError, UsageError
from lhkit.repairs.repair_trials import find_text_repairs
from lhkit.text.knob_text import declared_libraries, standalone
from lhkit.text.script import Script
from lhkit.traces.opt.opt_trace import load_for_opt
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.traces.report.markdown_report import save_reproducer

ANY = "!transform.any_op"
LIBRARY = f"""
module attributes {{transform.with_named_sequence}} {{
  // Remove what is computed twice.
  transform.named_sequence @tidy(%f: {ANY} {{transform.readonly}}) {{
    transform.include @inner failures(propagate) (%f) : ({ANY}) -> ()
    transform.yield
  }}
  transform.named_sequence private @inner(%f: {ANY} {{transform.readonly}}) {{
    transform.apply_cse to %f : {ANY}
    transform.yield
  }}
  transform.named_sequence @not_needed(%f: {ANY} {{transform.readonly}}) {{
    transform.yield
  }}
}}
"""
SCHEDULE = f"""// Idea: tidy.
// lhkit: library parts/mine.mlir
module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence private @tidy({ANY} {{transform.readonly}})

  transform.named_sequence @__transform_main(%root: {ANY} {{transform.readonly}}) {{
    %f = transform.structured.match ops{{["func.func"]}} in %root : ({ANY}) -> {ANY}
    transform.include @tidy failures(propagate) (%f) : ({ANY}) -> ()
    transform.yield
  }}
}}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "mine.mlir").write_text(LIBRARY)
    (tmp_path / "schedule.mlir").write_text(SCHEDULE)
    return tmp_path


def test_a_library_is_found_beside_its_schedule(folder, worker):
    schedule = load_schedule(folder / "schedule.mlir", worker=worker)
    (library,) = schedule.libraries
    assert library.declared == "parts/mine.mlir" and library.text == LIBRARY
    trace = trace_schedule(lhkit.payloads.matmul(4, 4, 4), schedule, worker=worker)
    assert trace.outcome.status == "ok"
    assert "transform.apply_cse" in [s.op for s in trace.step_records]
    given_twice = load_schedule(
        folder / "schedule.mlir", libraries=[folder / "parts" / "mine.mlir"], worker=worker
    )
    assert given_twice.libraries == schedule.libraries
    assert load_for_opt("func.func @f() {\n  return\n}", folder / "schedule.mlir")[1].libraries == (library,)


def test_a_string_has_the_shipped_libraries(worker, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = SCHEDULE.replace("parts/mine.mlir", "parts/cpu.mlir").replace("@tidy", "@clean_up")
    (library,) = load_schedule(text, worker=worker).libraries
    assert library.text == (shipped_folder("schedules") / "parts" / "cpu.mlir").read_text("utf-8")


def test_the_shipped_parts_are_recipes(worker):
    parts = Script((shipped_folder("schedules") / "parts" / "cpu.mlir").read_text("utf-8"))
    family = load_schedule("matmul.mlir", worker=worker)
    to_copy = {r.name: r for r in recipes_to_copy(Script("module {}"), parts)}
    assert {"@clean_up", "@keep_tile_in_registers", "@lower_contractions", "@vectorize_tiles"} <= set(to_copy)
    assert "@fills_a_tile" in to_copy["@vectorize_tiles"].sequences
    assert all(r.sentence for r in to_copy.values())
    # What the family declares already needs nothing more.
    declared = {r.name: r.sequences for r in recipes_to_declare(Script(family.text), parts)}
    assert declared["@clean_up"] == ""


def test_repairs_of_a_text_find_the_library_too(folder, worker):
    file = folder / "schedule.mlir"
    file.write_text(SCHEDULE.replace("failures(propagate)", "failures(propagat)"))
    payload = lhkit.payloads.matmul(4, 4, 4)
    with pytest.raises(ScheduleError) as caught:
        load_schedule(file, worker=worker)
    repairs = find_text_repairs(payload, caught.value, worker=worker)
    assert repairs[0].text == SCHEDULE and repairs[0].passes_whole


def test_what_is_not_there_or_outside_is_refused_with_its_place(folder, worker):
    shutil.rmtree(folder / "parts")
    with pytest.raises(UsageError, match=r"there is no library parts/mine\.mlir") as caught:
        load_schedule(folder / "schedule.mlir", worker=worker)
    (at,) = [d.span for d in caught.value.failure.diagnostics]
    assert (at.line, at.column) == (2, 19) and "Looked in" in caught.value.failure.describe()
    for path in ("../mine.mlir", "/mine.mlir"):
        with pytest.raises(UsageError, match="is not below the schedule's folder"):
            declared_libraries(SCHEDULE.replace("parts/mine.mlir", path), "s.mlir")


def test_a_comment_reads_no_file_outside_of_the_folder(folder, tmp_path_factory, worker):
    # Schedules come from strangers, as archives with links in them too; only --library names any file.
    secret = tmp_path_factory.mktemp("elsewhere") / "secret.mlir"
    secret.write_text((folder / "parts" / "mine.mlir").read_text())
    (folder / "parts" / "mine.mlir").unlink()
    (folder / "parts" / "mine.mlir").symlink_to(secret)
    with pytest.raises(UsageError, match=r"mine\.mlir is a link to a file outside") as caught:
        load_schedule(folder / "schedule.mlir", worker=worker)
    assert caught.value.failure.span.line == 2
    (folder / "parts" / "mine.mlir").unlink()
    os.mkfifo(folder / "parts" / "mine.mlir")
    with pytest.raises(UsageError, match="there is no library"):
        load_schedule(folder / "schedule.mlir", worker=worker)


def test_an_export_stands_alone(folder, worker):
    schedule = load_schedule(folder / "schedule.mlir", worker=worker)
    text = portable_text(schedule, worker=worker)
    assert "lhkit: library" not in text and "not_needed" not in text and "// Remove what is" in text
    payload = lhkit.payloads.matmul(4, 4, 4)
    alone = load_schedule(text, worker=worker)
    assert alone.libraries == () and not any(s.is_declaration for s in alone.sequences)
    last = [trace_schedule(payload, s, worker=worker).last_snapshot_text() for s in (schedule, alone)]
    assert last[0] == last[1]
    (folder / "schedule.mlir").write_text(SCHEDULE.replace("@__transform_main", "@inner"))
    with pytest.raises(UsageError, match="both have a sequence @inner"):
        standalone(load_schedule(folder / "schedule.mlir", entry="inner", worker=worker))


def test_an_export_holds_what_a_library_includes_from_another(folder, worker):
    inner = LIBRARY.index("  transform.named_sequence private @inner")
    behind = LIBRARY.index("  transform.named_sequence @not_needed")
    declaration = f"  transform.named_sequence private @inner({ANY} {{transform.readonly}})\n"
    (folder / "parts" / "mine.mlir").write_text(LIBRARY[:inner] + declaration + LIBRARY[behind:])
    other = LIBRARY[inner:behind].replace(" private", "")
    (folder / "parts" / "other.mlir").write_text(
        f"module attributes {{transform.with_named_sequence}} {{\n{other}}}\n"
    )
    for order in (("mine", "other"), ("other", "mine")):
        named = "\n".join(f"// lhkit: library parts/{name}.mlir" for name in order)
        (folder / "schedule.mlir").write_text(SCHEDULE.replace("// lhkit: library parts/mine.mlir", named))
        alone = load_schedule(
            portable_text(load_schedule(folder / "schedule.mlir", worker=worker), worker=worker)
        )
        trace = trace_schedule(lhkit.payloads.matmul(4, 4, 4), alone, worker=worker)
        assert trace.outcome.status == "ok"
        assert "transform.apply_cse" in [s.op for s in trace.step_records]


def test_a_reproducer_holds_the_library_where_the_schedule_looks_for_it(folder, worker):
    trace = trace_schedule(
        lhkit.payloads.matmul(4, 4, 4), load_schedule(folder / "schedule.mlir", worker=worker), worker=worker
    )
    saved = save_reproducer(trace, folder / "saved")
    assert (saved / "parts" / "mine.mlir").read_text() == LIBRARY
    assert "--library" not in (saved / "commands.txt").read_text()
    assert load_schedule(saved / "schedule.mlir", worker=worker).libraries[0].text == LIBRARY
