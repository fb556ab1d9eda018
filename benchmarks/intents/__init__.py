"""How far repairs and warnings can be trusted: schedules that are right are broken on purpose.

``python -m benchmarks.intents --seed 1 2 --count 60 --seconds 1200 --json FILE`` draws broken schedules, takes
the repairs that lhkit offers for them, and says how often these lead back to what was meant. The breakages know
nothing of the code that explains, warns and repairs.

- ``step_writer``: Short spellings of steps, sequences and payloads.
- ``product_bases``: Base schedules for layers and products.
- ``row_bases``: Base schedules for rows, elementwise chains and transposes.
- ``tensor_bases``: Base schedules for batches of products and convolutions.
- ``base_schedules``: Sixty schedules without a mistake and without a warning, with their payloads.
- ``edits``: What breakages share.
- ``handle_breakages``: A wrong handle: consumed, a loop for an op, two exchanged.
- ``argument_breakages``: A wrong word or number: matches, scopes, tile sizes, numbers of operands.
- ``order_breakages``: A step in another place, or forgotten.
- ``breakages``: The kinds of breakages, and broken schedules drawn from them by a seed.
- ``judge``: Whether two final payloads mean the same: loops around ops, and numbers.
- ``measuring``: The outcome of one broken schedule: failure, warnings, repairs, and blind repair.
- ``summary``: Shares over all of them, as a table and as JSON.
"""
