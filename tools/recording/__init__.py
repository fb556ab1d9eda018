"""What `tools/record.py` is made of: masks, entries, the commands and values that are recorded, comparing."""
