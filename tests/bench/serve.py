"""One of the servers that are compared: `python -m tests.bench.serve floor|naive|service|staged --port N`.

All run in the same kind of process: uvicorn with uvloop and httptools, no access log.
"""

from __future__ import annotations

import argparse

import uvicorn

APPS = {
    "floor": "tests.bench.floor:app",
    "naive": "tests.bench.naive:app",
    "service": "memorygrid_incorporator.main:app",
    "staged": "tests.bench.staged:app",
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=APPS)
    parser.add_argument("--port", type=int, required=True)
    given = parser.parse_args()
    uvicorn.run(
        APPS[given.kind],
        factory=given.kind == "staged",
        host="127.0.0.1",
        port=given.port,
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_level="warning",
    )


if __name__ == "__main__":
    main()
