"""A pipeline of one's own: at a step that has failed it asks for a lesson, follows it, and reports how that went."""

from __future__ import annotations

import asyncio
import os

from memorygrid_incorporator.pipeline.incorporator_hook import IncorporatorHookClient

hook = IncorporatorHookClient(os.environ.get("MEMORYGRID_URL", "http://localhost:8001"))


async def upload(file: str, target: str) -> None:
    """Stands for your own work: the primary storage is degraded."""
    if target == "primary":
        raise OSError("503: storage is degraded")
    print(f"uploaded {file} to the {target}")


async def repair(action: str, instruction: str, file: str) -> None:
    """Your executor: what each action means here."""
    print(f"{action}: {instruction}")
    if action != "use_mirror":
        raise NotImplementedError(f"this pipeline cannot {action}")
    await upload(file, "mirror")


async def main() -> None:
    file = "report.pdf"
    try:
        await upload(file, "primary")
    except OSError as error:
        async with hook.step(
            session_id="nightly",
            problem_solving_step_ref=f"upload {file}",
            problem_type="flaky_upload",
            current_task_context={"operation": f"upload {file}", "error": str(error)},
        ) as step:
            if step.outcome is None:
                raise
            await repair(step.outcome.action, step.outcome.instruction, file)


if __name__ == "__main__":
    asyncio.run(main())
