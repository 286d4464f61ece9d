"""MariaDB from Debian's packages of its programs, without the service of the full package."""

import os
import secrets
import shutil
from collections.abc import Mapping, Sequence

from tests.servers.process import ServerProcess

_INSTALL = "apt-get install --no-install-recommends mariadb-server-core mariadb-client-core"
_SYSTEM_PROGRAMS = "/usr/sbin:/usr/local/sbin"
_USER = "memorygrid"


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:{_SYSTEM_PROGRAMS}")


class MariaDbServer(ServerProcess):
    """A MariaDB server with utf8mb4; its time zone is far from UTC, so that a naive timestamp is noticed.

    Without `fsync` a killed server still loses nothing, only a crash of the machine could. `settings` go on top of the
    server's configuration.
    """

    name = "mariadb"
    refuses_root = True

    def __init__(self, *, fsync: bool = False, settings: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._password = secrets.token_urlsafe(16)
        self._settings = {
            "datadir": str(self.data),
            "bind-address": "127.0.0.1",
            "port": str(self.port),
            "socket": "mariadb.sock",
            "skip-name-resolve": "ON",
            "max-connections": "200",
            "innodb-buffer-pool-size": "64M",
            "innodb-log-file-size": "32M",
            "innodb-flush-log-at-trx-commit": "1" if fsync else "2",
            "character-set-server": "utf8mb4",
            "default-time-zone": "+05:45",
        } | dict(settings or {})

    @classmethod
    def unavailable(cls) -> str | None:
        missing = [name for name in ("mariadbd", "mariadb-install-db", "mariadb") if not _program(name)]
        return f"{', '.join(missing)} not found: {_INSTALL}" if missing else None

    def dsn(self, database: str) -> str:
        """The address of a database for SQLAlchemy."""
        return f"mysql+asyncmy://{_USER}:{self._password}@127.0.0.1:{self.port}/{database}"

    def create_database(self, name: str) -> str:
        """Create an empty database and return its address."""
        self._run_checked([*self._client(), "--execute", f"CREATE DATABASE `{name}`"], MYSQL_PWD=self._password)
        return self.dsn(name)

    def _initialise(self) -> None:
        account = self._private_file(
            "account.sql",
            "FLUSH PRIVILEGES;\n"  # the installation runs without; this turns them on
            f"CREATE USER {_USER}@'127.0.0.1' IDENTIFIED BY '{self._password}';\n"
            f"GRANT ALL PRIVILEGES ON *.* TO {_USER}@'127.0.0.1' WITH GRANT OPTION;\n",
        )
        self._run_checked(
            [
                self._tool("mariadb-install-db"),
                "--no-defaults",
                "--skip-test-db",
                "--auth-root-authentication-method=socket",
                f"--extra-file={account}",
                *self._options(),
            ]
        )

    def _command(self) -> Sequence[str]:
        return [self._tool("mariadbd"), "--no-defaults", *self._options()]

    def _ready(self) -> bool:
        return self._run([*self._client(), "--execute", "SELECT 1"], MYSQL_PWD=self._password).returncode == 0

    def _options(self) -> list[str]:
        return [f"--{name}={value}" for name, value in self._settings.items()]

    def _client(self) -> list[str]:
        address = ["--protocol=TCP", "--host=127.0.0.1", f"--port={self.port}", f"--user={_USER}"]
        return [self._tool("mariadb"), "--no-defaults", "--batch", *address]

    def _tool(self, name: str) -> str:
        program = _program(name)
        assert program is not None, self.unavailable()
        return program
