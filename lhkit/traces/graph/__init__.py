"""Dataflow graphs of payloads and schedules.

- ``payload_graph``: Dataflow graph of a payload: nested ops, and the values between them.
- ``schedule_graph``: Dataflow graph of a schedule that ran: nested steps, and the handles between them.
"""
