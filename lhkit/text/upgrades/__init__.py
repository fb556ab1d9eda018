"""Old spellings of transform IR, and of the payload beside it, rewritten to today's."""
