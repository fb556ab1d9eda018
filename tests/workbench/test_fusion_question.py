"""The workbench's question why two ops are not fused: the form, the answer, and its repairs."""

import html


def test_a_question_of_two_ops_is_answered_and_its_repair_applied(bench):
    names = dict(bench.part("fusion")["ops"])
    assert names["linalg.matmul"] == "linalg.matmul (line 6)" and "linalg.fill#1" in names
    assert "Choose two ops" in bench.part("fusion")["html"]
    assert "fusion" in bench.do("why_not_fused", producer="linalg.matmul", consumer="linalg.max")
    answer, shown = bench.workbench.fusion.answer, html.unescape(bench.part("fusion")["html"])
    assert answer.cause == "not-asked" and answer.sentence in shown and answer.repairs
    assert '"of":"fusion"' in shown.replace(" ", "") and answer.repairs[0].title in shown
    bench.do("take_repair", number=0, title=answer.repairs[0].title, of="fusion")
    assert bench.session.text == answer.repairs[0].text
    assert "ask again" in bench.part("fusion")["html"] and "take_repair" not in bench.part("fusion")["html"]
    bench.do("take_repair", number=0, title=answer.repairs[0].title, of="fusion")
    assert "of another problem" in bench.notice.message
    bench.do("why_not_fused", producer="linalg.matmul", consumer="linalg.max")
    assert bench.workbench.fusion.answer.cause == "fused" and not bench.workbench.fusion.is_trying


def test_two_ops_that_are_selected_are_chosen_in_the_order_of_the_payload(bench):
    trace = bench.workbench.trace
    ids = {op.name: op.id for op in reversed(trace.op_records) if op.born == -1}
    bench.do("select", step=-1, kind="op", ids=ids["linalg.max"], by="")
    assert bench.part("fusion")["chosen"] == ["linalg.max"]
    bench.do("select", step=-1, kind="op", ids=ids["arith.constant"], by="")
    bench.do("select", step=-1, kind="op", ids=ids["linalg.matmul"], by="")
    assert bench.part("fusion")["chosen"] == ["linalg.matmul", "linalg.max"]
    made = next(op for op in trace.op_records if op.name == "linalg.add" and op.derived_from)
    bench.do("select", step=trace.step_records[-1].index, kind="op", ids=made.id, by="")
    assert bench.part("fusion")["chosen"] == ["linalg.matmul", "linalg.add"]


def test_the_cause_comes_before_the_repairs(bench, monkeypatch):
    later = []
    monkeypatch.setattr(bench.workbench.jobs, "start", lambda name, work: later.append((name, work)))
    bench.do("why_not_fused", producer="linalg.matmul", consumer="linalg.max")
    assert "Looking for repairs" in bench.part("fusion")["html"] and not bench.workbench.fusion.answer.tried
    assert [name for name, _ in later] == ["fusion"]
    later[0][1](lambda: False)
    assert "Looking for repairs" not in bench.part("fusion")["html"] and bench.workbench.fusion.answer.tried


def test_an_answer_that_comes_late_does_not_replace_the_next(bench, monkeypatch):
    later = []
    monkeypatch.setattr(bench.workbench.jobs, "start", lambda name, work: later.append(work))
    bench.do("why_not_fused", producer="linalg.matmul", consumer="linalg.max")
    bench.do("why_not_fused", producer="linalg.fill#0", consumer="linalg.max")
    later[0](lambda: False)
    assert "linalg.fill" in bench.workbench.fusion.answer.producer and bench.workbench.fusion.is_trying


def test_names_of_no_op_are_refused(bench):
    bench.do("why_not_fused", producer="linalg.nothing", consumer="linalg.max")
    assert "no op of the payload" in bench.notice.message and bench.workbench.fusion.answer is None
    bench.do("take_repair", number=0, title="x", of="fusion")
    assert "of another problem" in bench.notice.message
