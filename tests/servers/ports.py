"""Free TCP ports on 127.0.0.1 that stay one's own while a server is down between two starts."""

import random
import socket
from pathlib import Path

_FIRST, _LAST = 20_000, 60_000
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")


class PortLease:
    """A port that no other test process takes, held until `release` or the end of this process.

    Ports that the kernel hands out to clients are left alone: such a client could sit on the port of a server that is
    just restarting, or even connect to itself there.
    """

    def __init__(self) -> None:
        for port in random.sample(_candidates(), k=200):
            if self._take(port):
                self.port = port
                return
        raise RuntimeError("no free port among 200 tried on 127.0.0.1")

    def release(self) -> None:
        """Give the port back."""
        self._lock.close()

    def _take(self, port: int) -> bool:
        """Lock the port by a name that the kernel drops with this process, then see whether it is free."""
        self._lock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._lock.bind(f"\0memorygrid-test-port-{port}")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            self._lock.close()
            return False
        return True


def accepts_connections(port: int, address: str = "127.0.0.1") -> bool:
    """Tell whether something listens on the port."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((address, port)) == 0


def _candidates() -> range:
    lowest_ephemeral = int(_EPHEMERAL.read_text().split()[0])
    return range(_FIRST, min(_LAST, max(lowest_ephemeral, _FIRST + 1000)))
