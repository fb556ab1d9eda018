"""The bindings under the name of the upstream package: every module of ``torch_mlir`` as ``mlir``'s.

Modules are shared, not loaded twice, so that types of both names are the same.
"""

import importlib
import importlib.abc
import importlib.util
import sys

_REAL = "torch_mlir"


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, fullname, _path, _target=None):
        if not fullname.startswith("mlir."):
            return None
        if importlib.util.find_spec(_REAL + fullname.removeprefix("mlir")) is None:
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def create_module(self, spec):
        return importlib.import_module(_REAL + spec.name.removeprefix("mlir"))

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, _Finder())
