"""What the compiler's worker keeps from one request to the next: merged schedules, and payloads they were applied to."""

import dataclasses

import pytest

import lhkit
from lhkit.compiler import handlers
from lhkit.compiler.interpreter import trace_journal
from lhkit.compiler.ir import schedule_modules
from lhkit.compiler.ir.bindings import new_context
from lhkit.compiler.machine import compiled_kernel
from lhkit.compiler.machine.compiled_kernel import Recipe, build_kernel, lowered_text
from lhkit.load.loader import application_of, payload_source, schedule_sources
from lhkit.model.errors import Diagnostic
from lhkit.model.trace_json import step_to_json
from lhkit.text import parser
from lhkit.worker.requests import LoadSchedule


@pytest.fixture(scope="module")
def cpu():
    return lhkit.load_schedule("cpu.mlir")


def counted(monkeypatch, place, name):
    """Return a list that grows with every call of a function."""
    calls, original = [], getattr(place, name)

    def call(*arguments, **options):
        calls.append(arguments)
        return original(*arguments, **options)

    monkeypatch.setattr(place, name, call)
    return calls


def everything_of(module):
    return module.operation.get_asm(enable_debug_info=True, print_generic_op_form=True)


def test_a_schedule_is_merged_with_its_libraries_once_and_stays_what_it_is(cpu, monkeypatch):
    monkeypatch.setattr(schedule_modules, "_merged", {})
    merges = counted(monkeypatch, schedule_modules, "_merge_in_pairs")
    texts = []
    for _ in range(2):
        with new_context():
            texts.append(everything_of(schedule_modules.parse_schedule(schedule_sources(cpu))))
    assert texts[0] == texts[1] and "rows" in texts[0]
    assert len(merges) == 1


def test_of_merged_schedules_the_last_ones_are_kept(cpu, monkeypatch):
    monkeypatch.setattr(schedule_modules, "_merged", {})
    first, *libraries = schedule_sources(cpu)
    for number in range(6):
        text = first.content + b"\n" * number
        with new_context():
            schedule_modules.parse_schedule([type(first)("schedule", first.label, "given", text), *libraries])
    assert len(schedule_modules._merged) == schedule_modules._MOST_MERGED


def test_a_schedule_is_asked_for_its_knobs_once(cpu, monkeypatch):
    answering = handlers.Handlers(lambda _: None, lambda _: None)
    parsed = counted(monkeypatch, handlers, "parse_schedule")
    first, second = (answering.answer(LoadSchedule(schedule_sources(cpu))) for _ in range(2))
    assert first == second and len(parsed) == 1


def test_looking_at_the_ir_of_a_kernel_applies_nothing_again(monkeypatch):
    monkeypatch.setattr(compiled_kernel, "_kept", {})
    payload, schedule = lhkit.payloads.matmul(16, 16, 16), lhkit.load_schedule("matmul_tile.mlir")
    applied = counted(monkeypatch, compiled_kernel, "apply_schedule")

    def recipe(**knobs):
        application = application_of(schedule.with_knobs(knobs))
        return Recipe(payload_source(payload), payload.function().name, application)

    fresh = {"scheduled": lowered_text(recipe(tile_m=8), "scheduled")}
    compiled_kernel._kept.clear()
    build_kernel(recipe(tile_m=8))
    assert len(applied) == 2
    for stage in compiled_kernel.STAGES:
        text = lowered_text(recipe(tile_m=8), stage)
        assert text == fresh.get(stage, text)
    assert len(applied) == 2
    lowered_text(recipe(tile_m=16), "scheduled")
    assert len(applied) == 3, "other knobs"
    build_kernel(recipe(tile_m=8))
    assert len(applied) == 4, "compiling applies: the schedule may print"


def test_a_step_is_written_as_json_says_it():
    trace = lhkit.trace("fc_relu.mlir", "fc_relu_handles.mlir")
    step = trace.step_records[0]
    said = dataclasses.replace(step, diagnostics=(Diagnostic("remark", "so"),))
    for each in (*trace.step_records, said):
        assert trace_journal._encode(trace_journal._entry(each)) == trace_journal._encode(step_to_json(each))


def test_the_texts_of_a_schedule_and_its_libraries_are_read_once(cpu, monkeypatch):
    texts = [cpu.text, *(library.text for library in cpu.libraries)]
    assert len(texts) > 8
    for text in texts:
        parser.read_syntax(text)
    read = counted(monkeypatch, parser, "lex")
    for text in texts:
        parser.read_syntax(text)
    assert read == []
