"""What a schedule says about the payload that it leaves, compared with that payload.

- ``final_payload``: The payload at the end of a trace: which ops a name means there, and the loops around them.
- ``expectation_check``: The expectations of a schedule that the payload at the end does not meet.
"""
