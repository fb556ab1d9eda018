"""A payload and a schedule whose steps are given as text, for tests of one transform op."""

import lhkit

ANY = "!transform.any_op"


def apply(text, steps, worker):
    """Return a payload, and a schedule of these steps, which start from ``%root``."""
    schedule = f"""module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%root: {ANY} {{transform.consumed}}) {{
    {steps}
    transform.yield
  }}
}}"""
    payload = lhkit.load_payload(text, worker=worker)
    return payload, lhkit.load_schedule(schedule, worker=worker)


def match(op, then=""):
    """Return a step that matches ops as ``%op``, and what follows."""
    return f'%op = transform.structured.match ops{{["{op}"]}} in %root : ({ANY}) -> {ANY}\n    {then}'


def after(text, steps, worker):
    """Return a payload as text after steps that have to succeed."""
    trace = lhkit.trace(*apply(text, steps, worker), worker=worker)
    assert trace.outcome.status == "ok", trace.outcome.message
    return trace.last_snapshot_text()


def refusal(text, steps, worker):
    """Return why steps fail, which must have changed nothing."""
    trace = lhkit.trace(*apply(text, steps, worker), worker=worker)
    assert trace.outcome.kind == "silenceable", trace.outcome
    assert trace.snapshot_text(-1) == trace.last_snapshot_text()
    return trace.outcome.message


def compiled(text, steps, worker, function=None):
    """Return the kernel of a payload after steps."""
    payload, schedule = apply(text, steps, worker)
    return lhkit.compile(payload, schedule, function=function, opt_level=1, worker=worker)
