"""The workbench's pane of passes: a pipeline is run on the payload, or on what the schedule makes of it."""


def test_a_pipeline_is_run_and_its_page_shown(bench):
    assert bench.part("passes")["page"] == "" and "as mlir-opt spells it" in bench.part("passes")["html"]
    assert "passes" in bench.do("run_passes", pipeline="func.func(canonicalize,cse)", scheduled=False)
    made = bench.workbench.passes.made
    assert [s.name for s in made.steps] == ["canonicalize", "cse"] and made.failure is None
    page = bench.part("passes")["page"]
    assert page.lower().startswith("<!doctype html>") and "canonicalize" in page


def test_after_the_schedule_means_the_schedule_of_now(bench):
    bench.do("run_passes", pipeline="canonicalize", scheduled=True)
    before = bench.workbench.passes.made.text(0)
    bench.do("run_passes", pipeline="canonicalize", scheduled=False)
    assert bench.workbench.passes.made.text(0) != before


def test_an_error_has_its_place_and_the_page_goes(bench):
    bench.do("run_passes", pipeline="cse", scheduled=False)
    bench.do("run_passes", pipeline="func.func(canonicalize,csee)", scheduled=False)
    shown = bench.part("passes")
    assert shown["page"] == "" and "did you mean cse?" in shown["html"] and "1:24" in shown["html"]


def test_a_change_of_the_schedule_makes_it_old(bench):
    bench.do("run_passes", pipeline="cse", scheduled=True)
    assert "run it again" not in bench.part("passes")["html"]
    bench.session.set_text(f"// changed\n{bench.session.text}")
    bench.do("why_not_fused", producer="linalg.matmul", consumer="linalg.max")  # any command
    assert "run it again" in bench.part("passes")["html"] and bench.part("passes")["page"]


def test_a_result_that_comes_late_does_not_replace_the_next(bench, monkeypatch):
    later = []
    monkeypatch.setattr(bench.workbench.jobs, "start", lambda name, work: later.append(work))
    bench.do("run_passes", pipeline="cse", scheduled=False)
    bench.do("run_passes", pipeline="canonicalize", scheduled=False)
    later[0](lambda: False)
    assert bench.workbench.passes.made is None and bench.workbench.passes.is_running
    assert "Running" in bench.part("passes")["html"]
    later[1](lambda: False)
    assert [s.name for s in bench.workbench.passes.made.steps] == ["canonicalize"]
