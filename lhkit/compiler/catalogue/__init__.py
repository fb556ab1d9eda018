"""The catalogue of transform ops, obtained by asking the bindings and the compiler.

- ``catalogue_builder``: The catalogue of transform ops, asked of the bindings and of the compiler itself.
- ``assembly_inference``: Inference of the custom syntax of transform ops from printed instances that differ
  in one thing.
- ``op_classes``: Transform ops as the generated Python classes of the bindings declare them, and those
  without a class.
- ``corrections``: Data on transform ops that cannot be queried from the compiler: starting points, samples
  and examples.
- ``form_reader``: Forms of parsed transform ops, and their text with the value names of the source.
- ``op_trials``: Valid instances of transform ops, found by asking the compiler about instances in generic
  syntax.
"""
