"""Dataflow of payloads and schedules as graphs.

- ``payload_graph``: The dataflow of a payload: its ops inside of one another, and the values that go between
  them.
- ``schedule_graph``: The dataflow of a schedule that ran: its steps as nodes, inside of one another, and
  handles between them.
"""
