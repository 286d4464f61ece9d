"""What interleaved rounds come to."""

from __future__ import annotations

from tests.bench import peer_rounds
from tests.bench.peer_protocol import Job, Measured
from tests.bench.peer_rounds import Ratio
from tests.bench.timing import Stage, Times


def times(p50_ms: float) -> Times:
    return Times(p50_ms=p50_ms, p99_ms=p50_ms, cpu_ms=p50_ms / 2, times=20)


def measured(times_of: dict[Job, float], *, recall: float = 1.0, part: float = 1.0) -> Measured:
    return Measured(
        times={job: times(one) for job, one in times_of.items()},
        recall={Job.LESSONS: recall},
        parts=[Stage(name="COMMIT", p50_ms=part)],
    )


OURS = [measured({Job.LESSONS: one, Job.ADD_LESSON: 2 * one}, part=one) for one in (1.0, 10.0, 2.0)]


def test_a_ratio_is_the_median_of_the_ratios_within_a_round_and_not_the_ratio_of_medians() -> None:
    theirs = [measured({Job.LESSONS: one}) for one in (3.0, 20.0, 10.0)]

    found = peer_rounds.figures(theirs, OURS, [Job.LESSONS])[Job.LESSONS]

    assert (found.p50_ms, found.cpu_ms, found.times) == (10.0, 5.0, 60)
    assert found.ratio == Ratio(median=3.0, least=2.0, most=5.0)


def test_a_peers_vectors_are_compared_with_our_lessons() -> None:
    theirs = [measured({Job.VECTORS: 4.0, Job.ADD_VECTOR: 4.0})] * 3

    found = peer_rounds.figures(theirs, OURS, [*Job])

    assert found[Job.VECTORS].ratio == Ratio(median=2.0, least=0.4, most=4.0)
    assert found[Job.ADD_VECTOR].ratio == Ratio(median=1.0, least=0.2, most=2.0)


def test_only_what_a_participant_does_has_figures() -> None:
    assert set(peer_rounds.figures(OURS, OURS, [*Job])) == {Job.LESSONS, Job.ADD_LESSON}


def test_parts_and_floors_are_shares_of_the_whole_addition_of_their_round() -> None:
    ours = [measured({Job.ADD_LESSON: one, Job.BARE_FLUSH: 1.0}, part=1.0) for one in (2.0, 4.0, 5.0)]
    shares = Ratio(median=0.25, least=0.2, most=0.5)

    assert [(one.name, one.of_whole) for one in peer_rounds.parts(ours)] == [("COMMIT", shares)]
    assert peer_rounds.floor(Job.BARE_FLUSH, ours).of_whole == shares


def test_recall_is_the_mean_of_the_rounds() -> None:
    assert peer_rounds.recall([measured({}, recall=one) for one in (1.0, 0.9)]) == {Job.LESSONS: 0.95}
