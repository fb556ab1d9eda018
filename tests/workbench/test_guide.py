"""The guide: facts of what is selected, predicted effects of what was tried, and questions before trials."""

import html
import threading

import pytest

from lhkit.model.errors import UsageError
from lhkit.show.trace_view import trace_key
from lhkit.workbench.jobs import ThreadJobs


def facts(bench, step, kind="", ids=""):
    key = trace_key(bench.workbench.trace)
    return html.unescape(bench.ask("facts", key=key, step=step, kind=kind, ids=ids))


def handle(bench, name):
    return next(h.id for h in bench.workbench.trace.handle_records if h.name == name)


def test_facts_are_of_the_step_the_handle_or_the_op(bench):
    trace = bench.workbench.trace
    tile = next(s.index for s in trace.step_records if s.op.endswith("tile_using_forall"))
    said = facts(bench, tile)
    assert f"step {tile}: structured.tile_using_forall" in said and "in the payload: +" in said
    # 8 by 8 tiles of 32 by 32: two inputs and the output, 4 bytes each, once.
    assert "max: loops i ×4, j ×4 · a tile 768 B" in said and "12 KiB moved · 0.083 flop/byte" in said
    assert "linalg.matmul" not in said and "matmul: loops none" in facts(bench, -1)
    dead = facts(bench, tile, "handle", handle(bench, "%relu"))
    assert f"after step {tile}: invalidated" in dead and "at the end: " in dead and "consumed" in dead
    assert "it is not there yet" in facts(bench, -1, "handle", handle(bench, "%sum_tile"))
    op = next(o for o in trace.op_records if o.name == "linalg.max" and o.born == tile)
    of_op = facts(bench, tile, "op", op.id)
    assert f"made by step {tile}" in of_op and "handles: %relu_tile" in of_op and "max: loops" in of_op
    assert "step 0" in facts(bench, 0, "op", "nothing of this trace")
    with pytest.raises(UsageError, match="another trace"):
        bench.ask("facts", key="", step=0, kind="", ids="")


def test_what_was_tried_says_what_it_would_change_in_figures(bench):
    bench.do("try_handle", handle=handle(bench, "%relu_tile"))
    tryouts = bench.workbench.tryouts
    assert len(tryouts.predicted) == len(tryouts.found) and "matmul: loops none" in tryouts.now
    by_op = dict(zip((t.op for t in tryouts.found), tryouts.predicted, strict=True))
    shown = html.unescape(bench.part("tried")["html"])
    assert f"Now: {tryouts.now}" in shown
    assert by_op["transform.annotate"] == "", "it changes no loop"
    assert all(
        not words for t, words in zip(tryouts.found, tryouts.predicted, strict=True) if t.status != "effect"
    )
    assert "directly behind" not in shown
    bench.do("try_handle", handle=handle(bench, "%sum_tile"))
    assert bench.part("tried")["said"].startswith("%sum_tile: ")


def test_what_is_tried_on_an_invalidated_handle_says_where_and_why_it_ended(bench):
    bench.do("try_handle", handle=handle(bench, "%relu"))
    shown = html.unescape(bench.part("tried")["html"])
    assert "%relu was invalidated" in shown and "directly behind the step that defines it" in shown


def test_trials_wait_while_a_question_has_no_answer_yet():
    jobs, passed = ThreadJobs(lambda error: None), threading.Event()
    jobs.give_way()  # nobody asks: at once
    with jobs.first_answer() as answered:
        thread = threading.Thread(target=lambda: (jobs.give_way(), passed.set()))
        thread.start()
        assert not passed.is_set()
        answered()
        thread.join(30)
        assert passed.is_set()
    jobs.close()
