"""Where a request comes from: whether its client is on this machine, and which host it believes to speak to."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from functools import lru_cache
from urllib.parse import urlsplit

from litestar.types import Scope

#: Headers in which proxies name the client that they speak for.
_NAMING = frozenset(
    {
        b"x-forwarded-for",
        b"x-real-ip",
        b"x-client-ip",
        b"true-client-ip",
        b"cf-connecting-ip",
        b"x-cluster-client-ip",
        b"forwarded",
    }
)
#: Headers of proxies that do not say whom they speak for.
_PASSING = frozenset({b"via", b"x-forwarded-host", b"x-forwarded-proto", b"x-forwarded-port", b"x-forwarded-server"})
#: Characters of the longest address or host name; what is longer is none, and is not remembered either.
_LONGEST = 255


def is_loopback(address: str) -> bool:
    """Whether an IP address, with or without a port, is this machine's own. What is no address is not."""
    return len(address) <= _LONGEST and _is_loopback(address)


@lru_cache(1024)
def _is_loopback(address: str) -> bool:
    text = address.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return bool((mapped or found).is_loopback)


def is_local(scope: Scope) -> bool:
    """Whether the client is on this machine: by both ends of its connection and by every header in which a proxy names
    one. Where a proxy names nobody, it speaks for somebody unknown.
    """
    client, server = scope.get("client"), scope.get("server")
    if client is None or not is_loopback(client[0]):
        return False
    if server is not None and not is_loopback(server[0]) and _is_address(server[0]):
        return False
    named = passed = False
    for name, value in scope["headers"]:
        if name in _NAMING:
            named = True
            if not all(is_loopback(address) for address in _addresses(name, value.decode("latin-1"))):
                return False
        elif name in _PASSING:
            passed = True
    return named or not passed


def _addresses(name: bytes, value: str) -> Iterable[str]:
    """The clients that a proxy's header names; `Forwarded` is `for=…;by=…, for=…` (RFC 7239)."""
    if name != b"forwarded":
        return value.split(",")
    return [_forwarded_for(element) for element in value.split(",")]


def _forwarded_for(element: str) -> str:
    pairs = (pair.partition("=") for pair in element.split(";"))
    return next((value for key, _, value in pairs if key.strip().lower() == "for"), "unknown")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def host_of(scope: Scope) -> str | None:
    """The name in the `Host` header without its port, in lower case; None where there is none."""
    for name, value in scope["headers"]:
        if name == b"host":
            return without_port(value.decode("latin-1"))
    return None


def without_port(host: str) -> str:
    text = host.strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0] if text.count(":") == 1 else text


def is_own_name(host: str) -> bool:
    """Whether a host is one that no foreign name server can point here: `localhost`, or an address itself."""
    return len(host) <= _LONGEST and _is_own_name(host)


@lru_cache(1024)
def _is_own_name(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost") or _is_address(host)


def foreign_origin(scope: Scope) -> bool:
    """Whether a browser says that a page from elsewhere sends this request."""
    for name, value in scope["headers"]:
        if name == b"origin":
            if not _is_local_origin(value.decode("latin-1")):
                return True
        elif name == b"sec-fetch-site" and value == b"cross-site":
            return True
    return False


def _is_local_origin(origin: str) -> bool:
    try:
        host = urlsplit(origin).hostname or ""
    except ValueError:
        return False
    return host == "localhost" or host.endswith(".localhost") or is_loopback(host)


def matches_host(host: str, allowed: Sequence[str]) -> bool:
    """Whether a host is one of these names; `*.example.org` stands for every name below it, `*` for any."""
    return any(
        one in ("*", host) or (one.startswith("*.") and host.endswith(one[1:]) and host != one[1:]) for one in allowed
    )
