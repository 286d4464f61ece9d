"""Whether a service can listen where it is to, looked at before anything else is begun."""

from __future__ import annotations

import asyncio
import errno
import os

from entrypoints.cli.failures import ExitCode, Failure
from entrypoints.escaping import escaped


def check_free(host: str, port: int, *, otherwise: str) -> None:
    """Raises `Failure` where nothing can listen on this port; `otherwise` says how another one is chosen.

    It is listened on for a moment as the server will: an empty host is every address of this machine.
    """
    try:
        asyncio.run(_listen(host, port))
    except (OSError, UnicodeError) as error:
        raise Failure(_why(error, escaped(host) or "every address", port, otherwise), ExitCode.USAGE) from error


async def _listen(host: str, port: int) -> None:
    server = await asyncio.get_running_loop().create_server(asyncio.Protocol, host, port)
    server.close()
    await server.wait_closed()


def _why(error: OSError | UnicodeError, host: str, port: int, otherwise: str) -> str:
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.EADDRINUSE:
        return f"port {port} of {host} is taken: end what listens there, or choose another port with {otherwise}"
    if number == errno.EACCES:
        return f"port {port} of {host} may not be listened on by you: choose one from 1024 on with {otherwise}"
    if isinstance(error, UnicodeError):
        said = "that is no host's name"
    else:
        said = os.strerror(number) if number is not None and number > 0 else f"{error.strerror}"
    return f"nothing can listen on port {port} of {host} ({said}): correct the address"
