from __future__ import annotations

import subprocess
import sys
from importlib.resources import files

from memorygrid_incorporator.pipeline import incorporator_hook
from tests.unit.pipeline.callers import QUERY

IMPORTED = """
import sys
before = set(sys.modules)
import httpx, msgspec
of_others = set(sys.modules)
import memorygrid_incorporator.pipeline.incorporator_hook
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - of_others} - sys.stdlib_module_names))
"""


def test_the_hook_imports_nothing_but_httpx_msgspec_and_the_standard_library() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["memorygrid_incorporator"]


def test_the_package_says_that_it_is_typed() -> None:
    assert files("memorygrid_incorporator").joinpath("py.typed").is_file()


def test_every_public_name_is_there() -> None:
    assert {
        "IncorporatorHookClient",
        "SyncIncorporatorHookClient",
        "ApplierOutcome",
        "FeedbackEntry",
        "NotSendable",
    } <= {name for name in incorporator_hook.__all__ if hasattr(incorporator_hook, name)}


async def the_types_say_what_comes_back(
    hook: incorporator_hook.IncorporatorHookClient, sync_hook: incorporator_hook.SyncIncorporatorHookClient
) -> None:
    """Checked by mypy alone: a default widens the answer's type by its own, and only then."""
    certain: incorporator_hook.ApplierOutcome = await hook.invoke(**QUERY)
    optional: incorporator_hook.ApplierOutcome | None = await hook.invoke(**QUERY, on_no_match=None)
    otherwise: incorporator_hook.ApplierOutcome | str = sync_hook.invoke(**QUERY, on_no_match="as usual")
    assert certain
    assert optional
    assert otherwise
