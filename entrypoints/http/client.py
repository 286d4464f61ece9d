"""Where a request comes from: whether its client is on this machine, and which host it believes to speak to."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from functools import lru_cache
from urllib.parse import urlsplit

from litestar.types import Scope

#: Headers in which proxies name the client that they speak for.
_FORWARDED = frozenset(
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


@lru_cache(1024)
def is_loopback(address: str) -> bool:
    """Whether an IP address, with or without a port, is this machine's own. What is no address is not."""
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
    """Whether the client is on this machine: by its connection and by every header in which a proxy names one."""
    client = scope.get("client")
    if client is None or not is_loopback(client[0]):
        return False
    return all(
        is_loopback(address)
        for name, value in scope["headers"]
        if name in _FORWARDED
        for address in _addresses(name, value.decode("latin-1"))
    )


def _addresses(name: bytes, value: str) -> Iterable[str]:
    """The clients that a proxy's header names; `Forwarded` is `for=…;by=…, for=…` (RFC 7239)."""
    if name != b"forwarded":
        return [one for one in value.split(",") if one.strip()]
    pairs = (pair.strip() for element in value.split(",") for pair in element.split(";"))
    return [pair[4:] for pair in pairs if pair[:4].lower() == "for="]


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


@lru_cache(1024)
def is_own_name(host: str) -> bool:
    """Whether a host is one that no foreign name server can point here: `localhost`, or an address itself."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def foreign_origin(scope: Scope) -> bool:
    """Whether a browser says that a page from elsewhere sends this request."""
    for name, value in scope["headers"]:
        if name == b"origin":
            host = urlsplit(value.decode("latin-1")).hostname or ""
            if host != "localhost" and not host.endswith(".localhost") and not is_loopback(host):
                return True
        elif name == b"sec-fetch-site" and value == b"cross-site":
            return True
    return False


def matches_host(host: str, allowed: Sequence[str]) -> bool:
    """Whether a host is one of these names; `*.example.org` stands for every name below it, `*` for any."""
    return any(
        one in ("*", host) or (one.startswith("*.") and host.endswith(one[1:]) and host != one[1:]) for one in allowed
    )
