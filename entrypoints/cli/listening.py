"""Whether a service can listen where it is to, looked at before anything else is begun."""

from __future__ import annotations

import errno
import socket
from contextlib import closing

from entrypoints.cli.failures import ExitCode, Failure
from entrypoints.escaping import escaped


def check_free(host: str, port: int, *, otherwise: str) -> None:
    """Raises `Failure` where nothing can listen on this port; `otherwise` says how another one is chosen."""
    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in places:
            with closing(socket.socket(family, kind, protocol)) as listening:
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listening.bind(address)
                listening.listen(1)
    except OSError as error:
        raise Failure(_why(error, escaped(host), port, otherwise), ExitCode.USAGE) from error


def _why(error: OSError, host: str, port: int, otherwise: str) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is taken: end what listens there, or choose another port with {otherwise}"
    if error.errno == errno.EACCES:
        return f"port {port} of {host} may not be listened on by you: choose one from 1024 on with {otherwise}"
    return f"nothing can listen on port {port} of {host} ({error.strerror}): correct the address"
