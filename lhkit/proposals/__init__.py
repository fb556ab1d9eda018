"""Proposals: the schedule for any payload, written out for one payload, tried and verified.

- ``straight_line``: A recorded application as straight-line steps, without includes, loops and matchers.
- ``line_trials``: Lines that the payload does not need, found by leaving them out and applying the rest.
- ``knob_tuning``: Knobs of a proposal, tuned by a short sweep: the values that win become its defaults.
- ``verification_thread``: The verification beside the search, in a thread and a worker of its own.
- ``proposal``: The proposal: written, applied, its knobs tried, verified, and what it leaves alone.
"""
