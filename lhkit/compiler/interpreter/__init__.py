"""Applying transform IR step by step: probes, effects, op identity, and the trace that comes of it.

- ``idle_steps``: Steps of a schedule that do nothing to a payload, erased before what is left is traced.
- ``step_removal``: Steps that may be left out of a schedule: what is left gives the same payload.
- ``application``: Applying a schedule to a payload, and saying what kind of failure it was.
- ``failed_texts``: How a schedule fails with other texts: which op does, and nothing else.
- ``effects``: What a transform op does, asked of the compiler itself: which operands it consumes, whether it
  only reads.
- ``handle_frames``: What is known of a running schedule: which block is in which op, and what each handle is.
- ``op_identity``: Payload ops that keep their identity while a schedule rewrites them.
- ``payload_walk``: All ops of a payload as words of memory: addresses, parents and hashes, by machine code
  if there are many.
- ``trace_journal``: The journal of a trace: what is known so far, a JSON line each, so that it outlives the
  process.
- ``probes``: Transform ops of our own: probes call back while a schedule runs, and one gives handles their
  payload.
- ``rehearsal``: One transform op applied alone, on the side, to learn what the interpreter keeps to itself.
- ``step_tracer``: Following a run from probe to probe: which step runs, what it consumes, what it did.
- ``preconditions``: What transform ops need of the payload ops that they are for, in words; the compiler
  often gives no reason.
- ``refused_steps``: Steps that would end the process, told just before they run.
"""
