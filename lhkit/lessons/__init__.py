"""The shipped notebooks as lessons, their publication, and the cell magics.

- ``magics``: Notebook cells that hold MLIR: ``%load_ext lhkit`` gives ``%%payload NAME`` and ``%%schedule
  NAME``.
- ``lesson_list``: The shipped notebooks as lessons: the reader's private copy, and the progress in it.
- ``publishing``: Notebooks as self-contained web pages, without network access or a kernel.
"""
