"""The shipped notebooks as lessons, their publication, and the cell magics.

- ``magics``: Notebook cells that hold MLIR: ``%load_ext lhkit`` gives ``%%payload NAME`` and ``%%schedule
  NAME``.
- ``lesson_list``: The shipped notebooks as lessons: a private copy of them, and how far its reader is.
- ``publishing``: Notebooks as web pages: every picture in place, and nothing that asks an address or needs a
  kernel.
"""
