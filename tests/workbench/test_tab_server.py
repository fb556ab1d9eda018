"""The server of the workbench's tab: which hosts it answers, and what its pages may load."""

import pytest

from lhkit.model.errors import UsageError
from lhkit.workbench.tab_server import _policy, is_local, listening_sockets


@pytest.mark.parametrize("host", ["127.0.0.1:8890", "localhost:8890", "localhost", "[::1]:8890", "LOCALHOST:1"])
def test_this_machine(host):
    assert is_local(host)


@pytest.mark.parametrize(
    "host",
    ["", "example.org", "127.0.0.1.example.org", "localhost.example.org:80", "a@127.0.0.1", "127.0.0.1/x",
     "127.0.0.1:x", "127.0.0.1:99999", "0.0.0.0", "127.0.0.1; script-src *"],
)  # fmt: skip
def test_other_machines(host):
    assert not is_local(host)


def test_the_policy_names_no_other_origin():
    for host in ("localhost:8890", "example.org", "x; script-src *"):
        sources = _policy(host).replace("; ", " ").split()
        own = {"ws://localhost:8890"} if host == "localhost:8890" else set()
        assert {each for each in sources if ":" in each} == {"blob:", "data:"} | own
        assert "*" not in sources and sources.count("'unsafe-inline'") == 1


def test_it_listens_on_the_loopback_address_only():
    (found,) = listening_sockets(0)
    address, port = found.getsockname()
    assert address == "127.0.0.1"
    with pytest.raises(UsageError, match=f"port {port} cannot be used"):
        listening_sockets(port)
    found.close()
