"""A LangGraph graph that asks for a lesson before it acts, and reports how the lesson did.

START ─▶ consult ─┬─ a lesson applies ─▶ follow ─▶ report ─▶ END
                  └─ none applies ─────▶ improvise ────────▶ END
"""

from __future__ import annotations

import asyncio
import os
from typing import Any, Literal, TypedDict

from langgraph.graph import END, START, StateGraph

from memorygrid_incorporator.pipeline.incorporator_hook import ApplierOutcome, IncorporatorHookClient

hook = IncorporatorHookClient(os.environ.get("MEMORYGRID_URL", "http://localhost:8001"))


class State(TypedDict, total=False):
    session_id: str
    step: str
    problem_type: str
    context: dict[str, object]
    outcome: ApplierOutcome | None
    succeeded: bool
    said: str


async def consult(state: State) -> State:
    """Asks for the lesson that applies to the problem in the state."""
    outcome = await hook.invoke(
        session_id=state["session_id"],
        problem_solving_step_ref=state["step"],
        problem_type=state["problem_type"],
        current_task_context=state["context"],
        on_no_match=None,
    )
    return {"outcome": outcome}


def route(state: State) -> Literal["follow", "improvise"]:
    return "follow" if state["outcome"] else "improvise"


async def follow(state: State) -> State:
    """Your executor: here it only says what it would do."""
    outcome = state["outcome"]
    assert outcome is not None
    return {"succeeded": True, "said": f"{outcome.action}: {outcome.instruction}"}


async def improvise(state: State) -> State:
    return {"said": "no lesson applies: as usual"}


async def report(state: State) -> State:
    """Reports about exactly the selection that `consult` has got."""
    outcome = state["outcome"]
    assert outcome is not None
    await hook.report_outcome(state["step"], state["session_id"], state["succeeded"], outcome_id=outcome.id)
    return {}


def built() -> Any:
    graph = StateGraph(State)
    graph.add_node("consult", consult)
    graph.add_node("follow", follow)
    graph.add_node("improvise", improvise)
    graph.add_node("report", report)
    graph.add_edge(START, "consult")
    graph.add_conditional_edges("consult", route)
    graph.add_edge("follow", "report")
    graph.add_edge("report", END)
    graph.add_edge("improvise", END)
    return graph.compile()


async def main() -> None:
    agent = built()
    for step, problem, context in (
        ("step-1", "flaky_upload", {"operation": "upload report.pdf"}),
        ("step-2", "never_seen_before", {"colour": "teal"}),
    ):
        state = await agent.ainvoke(
            {"session_id": "graph-1", "step": step, "problem_type": problem, "context": context}
        )
        print(state["said"])


if __name__ == "__main__":
    asyncio.run(main())
