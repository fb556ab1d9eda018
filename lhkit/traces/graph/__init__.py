"""Dataflow graphs of payloads and schedules.

- ``folded_graph``: A dataflow graph whose boxes are folded until it can be read.
- ``payload_graph``: Dataflow graph of a payload: nested ops, and the values between them.
- ``schedule_graph``: Dataflow graph of a schedule that ran: nested steps, and the handles between them.
"""
