"""The service at an address."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from entrypoints.cli.failures import ExitCode, Failure
from entrypoints.cli.service import Service

_TIMEOUT = httpx.Timeout(60.0, connect=5.0)


@asynccontextmanager
async def remote_service(url: str, api_key: str | None, *, trust_env: bool = True) -> AsyncIterator[Service]:
    """The service at `url`, asked with `api_key`. Raises `Failure` for an address or a key that cannot be used.

    With `trust_env` False no proxy of the environment stands between.
    """
    if api_key and not (api_key.isascii() and api_key.isprintable() and " " not in api_key):
        raise Failure("the API key holds characters that no key has", ExitCode.USAGE)
    address = _checked(url)
    if api_key and address.userinfo:
        message = "a key and an address with a user cannot both be sent as Authorization: give one of them"
        raise Failure(message, ExitCode.USAGE)
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    async with httpx.AsyncClient(base_url=address, headers=headers, timeout=_TIMEOUT, trust_env=trust_env) as client:
        yield Service(client, place=url)


def _checked(url: str) -> httpx.URL:
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL:
        address = httpx.URL("")
    usable_port = address.port is None or 0 < address.port <= 65_535
    if address.scheme not in ("http", "https") or not address.host or not usable_port:
        raise Failure(f"{url} is no address of the form http://host:port", ExitCode.USAGE)
    return address
