"""The catalogue of transform ops, obtained by asking the bindings and the compiler.

- ``catalogue_builder``: The catalogue of transform ops, asked of the bindings and of the compiler itself.
- ``op_queries``: Questions to the compiler about transform ops: instances in generic syntax, right and wrong
  on purpose.
- ``assembly_inference``: The custom syntax of transform ops, learned from what MLIR prints when one thing
  after another is set.
- ``op_classes``: What the generated Python classes of transform ops say about them, before the compiler is
  asked.
- ``corrections``: What asking cannot find out about transform ops: one entry a line, each with its reason.
- ``op_examples``: Valid instances of transform ops: the smallest, and ones with everything set that can be
  set together.
- ``form_reader``: Transform ops as forms, and as MLIR prints them with the names that their author gave.
"""
