"""The command `milvus-lite`, completed with what Milvus has and Milvus Lite lacks; run as a script.

Milvus allots timestamps, without which pymilvus' async client cannot create an index; and it takes writes to one
collection from several clients at once, which Milvus Lite must be spared. SIGTERM ends the server in order.
"""

import signal
import sys
import threading
import time
from typing import Any

from milvus_lite.adapter.grpc import server  # type: ignore[import, unused-ignore]
from milvus_lite.adapter.grpc.servicer import MilvusServicer  # type: ignore[import, unused-ignore]
from milvus_lite.cmdline import main  # type: ignore[import, unused-ignore]
from pymilvus.grpc_gen import common_pb2, milvus_pb2

_LOGICAL_CLOCK_BITS = 18


class CompletedServicer(MilvusServicer):  # type: ignore[misc, unused-ignore]
    """Milvus Lite's answers to the protocol's calls, and ours."""

    _write = threading.Lock()

    def AllocTimestamp(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Answer with the time as Milvus writes it: milliseconds, then room for a logical clock."""
        timestamp = int(time.time() * 1000) << _LOGICAL_CLOCK_BITS
        return milvus_pb2.AllocTimestampResponse(status=common_pb2.Status(), timestamp=timestamp)

    def Insert(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Insert, one client after another."""
        with self._write:
            return super().Insert(request, context)

    def Upsert(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Upsert, one client after another."""
        with self._write:
            return super().Upsert(request, context)

    def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Delete, one client after another."""
        with self._write:
            return super().Delete(request, context)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    server.MilvusServicer = CompletedServicer
    sys.exit(main())
