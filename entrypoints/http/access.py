"""Who may do what: keys and their roles; without keys, whoever is on this machine."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from enum import Enum

import msgspec
from litestar.types import Scope

from domain.errors import InvalidConfiguration
from entrypoints.http.client import foreign_origin, host_of, is_local, is_own_name, matches_host
from entrypoints.http.refusals import Forbidden, Refusal, Unauthenticated


class Role(str, Enum):
    PIPELINE = "pipeline"
    READER = "reader"
    REVIEWER = "reviewer"
    ADMIN = "admin"


class Permission(str, Enum):
    """What a route asks of its caller."""

    NONE = "none"
    USE = "use"
    READ_FEEDBACK = "read-feedback"
    READ = "read"
    REVIEW = "review"
    ADMINISTER = "administer"


_ROLES: Mapping[Permission, frozenset[Role]] = {
    Permission.USE: frozenset({Role.PIPELINE, Role.ADMIN}),
    Permission.READ_FEEDBACK: frozenset(Role),
    Permission.READ: frozenset({Role.READER, Role.REVIEWER, Role.ADMIN}),
    Permission.REVIEW: frozenset({Role.REVIEWER, Role.ADMIN}),
    Permission.ADMINISTER: frozenset({Role.ADMIN}),
}


class Caller(msgspec.Struct, frozen=True):
    """Whoever sends a request: the key's name, which the lessons' log shows as the actor, and its role."""

    name: str
    role: Role


LOCAL = Caller("local", Role.ADMIN)
#: Actors of the lessons' log that are no key: no key may take their name.
_RESERVED = frozenset({LOCAL.name, "library", "escalation"})


class _Key(msgspec.Struct, frozen=True):
    digest: bytes
    caller: Caller


class AccessPolicy:
    """Finds out who sends a request. Keys are held as SHA-256 digests and compared in constant time."""

    def __init__(self, keys: Sequence[_Key] = (), allowed_hosts: Sequence[str] = ()) -> None:
        self._keys = tuple(keys)
        self._allowed_hosts = tuple(allowed_hosts)

    @classmethod
    def parse(cls, keys: str = "", allowed_hosts: str = "") -> AccessPolicy:
        """From `MG_API_KEYS` and `MG_ALLOWED_HOSTS`, both comma-separated.

        Raises `InvalidConfiguration`, which names the entry by its number and never shows a key.
        """
        return cls(_parse_keys(keys), _parse_hosts(allowed_hosts))

    def caller(self, scope: Scope) -> Caller:
        """Raises `Unauthenticated` and `Forbidden`."""
        self._check_host(scope)
        if not self._keys:
            return self._without_keys(scope)
        presented = hashlib.sha256(_token(scope)).digest()
        found = None
        for key in self._keys:
            if hmac.compare_digest(key.digest, presented):
                found = key.caller
        if found is None:
            raise Unauthenticated("this key is not known")
        return found

    def _check_host(self, scope: Scope) -> None:
        host = host_of(scope)
        if self._allowed_hosts:
            if host is None or not matches_host(host, self._allowed_hosts):
                raise Forbidden("the Host header names none of this service's hosts (MG_ALLOWED_HOSTS)")
        elif not self._keys and host is not None and not is_own_name(host):
            raise Forbidden(
                "without keys the service answers to localhost or an address only: set MG_API_KEYS or MG_ALLOWED_HOSTS"
            )

    @staticmethod
    def _without_keys(scope: Scope) -> Caller:
        if not is_local(scope):
            raise Forbidden("without keys the service answers clients on its own machine only: set MG_API_KEYS")
        if foreign_origin(scope):
            raise Forbidden("without keys the service takes no requests from other sites' pages: set MG_API_KEYS")
        return LOCAL


def admitted(scope: Scope, permission: Permission) -> Caller | None:
    """The caller, who has this permission; None for a stranger at an open route. Raises what keeps the caller out."""
    if permission is Permission.NONE:
        return scope["state"].get("caller")
    caller = known(scope)
    if caller.role not in _ROLES[permission]:
        allowed = ", ".join(sorted(role.value for role in _ROLES[permission]))
        raise Forbidden(f"a key of the role {caller.role.value} may not do this; it takes one of: {allowed}")
    return caller


def known(scope: Scope) -> Caller:
    """The caller, whatever the role. Raises what keeps a stranger out."""
    caller: Caller | None = scope["state"].get("caller")
    if caller is None:
        raise _refusal(scope)
    return caller


def _refusal(scope: Scope) -> Refusal:
    refusal: Refusal = scope["state"]["refusal"]
    return refusal


def _token(scope: Scope) -> bytes:
    sent = [value for name, value in scope["headers"] if name == b"authorization"]
    if not sent:
        raise Unauthenticated("send a key: Authorization: Bearer <key>")
    scheme, _, token = sent[0].partition(b" ")
    if len(sent) > 1 or scheme.lower() != b"bearer" or not token.strip():
        raise Unauthenticated("the Authorization header must be one: Bearer <key>")
    return token.strip()


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}")
_SECRET = re.compile(r"[!-~]+")
_HASHED = re.compile(r"sha256:[0-9a-fA-F]{64}")
_FORM = "role:key or name@role:key, key may be sha256:<64 hex digits>, role one of " + ", ".join(Role)


def _parse_keys(text: str) -> list[_Key]:
    keys: list[_Key] = []
    unnamed: dict[Role, int] = {}
    for number, entry in enumerate((one.strip() for one in text.split(",")), start=1):
        if not entry:
            continue
        who, _, secret = entry.partition(":")
        name, _, role_name = who.rpartition("@")
        role = next((one for one in Role if one.value == role_name.strip()), None)
        if role is None or not _SECRET.fullmatch(secret) or (name and not _NAME.fullmatch(name.strip())):
            raise InvalidConfiguration(f"MG_API_KEYS: entry {number} is not of the form {_FORM}")
        if name.strip() in _RESERVED:
            raise InvalidConfiguration(f"MG_API_KEYS: entry {number} has a name that the service itself goes by")
        if not name:
            unnamed[role] = unnamed.get(role, 0) + 1
            name = role.value if unnamed[role] == 1 else f"{role.value}-{unnamed[role]}"
        caller = Caller(name.strip(), role)
        if any(key.caller.name == caller.name and key.caller.role is not role for key in keys):
            raise InvalidConfiguration(f"MG_API_KEYS: entry {number} has the name of an earlier entry of another role")
        digest = _digest(secret, number)
        if any(key.digest == digest for key in keys):
            raise InvalidConfiguration(f"MG_API_KEYS: entry {number} has the key of an earlier entry")
        keys.append(_Key(digest, caller))
    return keys


_HOST = re.compile(r"(\*\.)?[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?")


def _parse_hosts(text: str) -> list[str]:
    hosts = [one.strip().lower() for one in text.split(",") if one.strip()]
    for one in hosts:
        if one != "*" and not _HOST.fullmatch(one) and not is_own_name(one):
            raise InvalidConfiguration(
                f"MG_ALLOWED_HOSTS: {one!r} matches no Host header: expected a name or an address alone, without "
                "scheme, port and path, as grid.example.org, *.example.org (every name below it), 10.0.0.7, ::1 or *"
            )
    return hosts


def _digest(secret: str, number: int) -> bytes:
    if not secret.startswith("sha256:"):
        return hashlib.sha256(secret.encode()).digest()
    if not _HASHED.fullmatch(secret):
        raise InvalidConfiguration(f"MG_API_KEYS: entry {number} is not of the form {_FORM}")
    return bytes.fromhex(secret[7:])
