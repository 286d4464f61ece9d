"""Addresses of vector stores that cannot be used: neither the message nor its cause shows a part of a password."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from adapters.vectors.milvus_connection import MilvusAddress
from adapters.vectors.pgvector_pool import parse_pgvector_dsn
from domain.errors import InvalidConfiguration


@pytest.mark.parametrize(
    ("parse", "address"),
    [
        (parse_pgvector_dsn, "postgresql+asyncpg://mg@db:half-a-secret/x"),
        (MilvusAddress.parse, "http://root:one/half-a-secret@db:19530"),
        (MilvusAddress.parse, "http://db:half-a-secret"),
    ],
)
def test_an_address_that_cannot_be_read_shows_no_part_of_a_password(
    parse: Callable[[str], object], address: str
) -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        parse(address)
    assert "half-a-secret" not in caught.value.detail
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
