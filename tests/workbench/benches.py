"""Workbenches as tests hold them."""

import threading

from lhkit.worker.worker_process import WorkerProcess

# Requests of workers, and whether they only read IR.
IS_READING = {
    "apply_by_pass": False, "apply": False, "trace": False, "try_steps": False, "compile": False, "lower": False,
    "assembly": False, "machine_code": False, "sample_code": False, "memory": False, "work": False, "call": False,
    "load_payload": True, "load_schedule": True, "outline": True, "payload_outline": True, "read_forms": True,
    "catalogue": True, "own_ops": True, "describe": True, "tilings": True, "ping": True,
    "elementwise_spelling": True,
}  # fmt: skip


def waiting_for_worker(monkeypatch):
    """Return an event that is set once an answer of a worker is waited for."""
    is_waiting, enforce = threading.Event(), WorkerProcess._enforce

    def enforced(*given):
        is_waiting.set()
        enforce(*given)

    monkeypatch.setattr(WorkerProcess, "_enforce", enforced)
    return is_waiting


class Bench:
    """A workbench, with the names of the parts that changed since it was last asked."""

    def __init__(self, workbench):
        self.workbench, self.names = workbench, []
        workbench.changed = self.names.extend

    def do(self, command_, **fields):
        self.names.clear()
        self.workbench.do({"do": command_, **fields})
        return set(self.names)

    def ask(self, name, **fields):
        return self.workbench.ask({"ask": name, **fields})

    def part(self, name):
        return self.workbench.panes[name]

    @property
    def notice(self):
        return self.workbench.notice

    @property
    def session(self):
        return self.workbench.session
