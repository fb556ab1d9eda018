"""``lhkit lab`` ends what it started, however it is ended."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from lhkit.worker.process_groups import still_running

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

# In the place of JupyterLab: a server with a kernel, which do not end when they are asked to.
SERVER = """
import signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
code = "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); signal.pause()"
kernel = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
kernel.stdout.readline()
print(kernel.pid, flush=True)
signal.pause()
"""
LAB = """
import sys
from lhkit.cli import lab_command as lab
from lhkit.cli import main
def run(arguments, environment, folder):
    print(environment["JUPYTER_CONFIG_PATH"].split(":")[-1], flush=True)
    return started([sys.executable, "-c", sys.argv[1]], environment, folder)
started, lab._run, lab._END_SECONDS = lab._run, run, 0.1
sys.exit(main.run_program(["lab", "--folder", sys.argv[2]]))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_the_server_its_kernels_and_removes_its_folder(tmp_path, number):
    command = [sys.executable, "-c", LAB, SERVER, str(tmp_path / "copy")]
    lab = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    config = lab.stdout.readline().strip()
    kernel = psutil.Process(int(lab.stdout.readline()))
    server = kernel.parent()
    assert Path(config).is_dir()
    lab.send_signal(number)
    said = lab.communicate(timeout=60)[1]
    assert lab.returncode == 130 and "lhkit: interrupted" in said and "Traceback" not in said
    assert not Path(config).exists()
    assert not still_running([server, kernel], 0)
