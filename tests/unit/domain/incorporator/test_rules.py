"""The rules file: read whole, or refused with the line and the reason."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import InvalidConfiguration
from domain.incorporator.rules import DslRule, RuleSet, parse_rules
from domain.learner.lesson import Bin

FILE = "config/dsl_match_rules.json"
DOCUMENTED = b"""{
  "rules": [
    {"problem_type": "flaky_upload", "target_bin": "skills_base", "query": "retry uploads", "min_score": 0.0},
    {"problem_type": "pricing_question", "target_bin": "knowledge_base", "query": "pricing tiers", "min_score": 0.3}
  ]
}
"""
GOOD = b'{"problem_type": "a", "target_bin": "skills_base"}'


def rules_with(second: bytes) -> bytes:
    """A file whose second rule stands on line 4."""
    return b'{\n  "rules": [\n    ' + GOOD + b",\n    " + second + b",\n    " + GOOD + b"\n  ]\n}\n"


def refused(text: bytes) -> str:
    with pytest.raises(InvalidConfiguration) as refusal:
        parse_rules(text, FILE)
    return refusal.value.detail


def test_the_documented_file_is_read() -> None:
    assert parse_rules(DOCUMENTED, FILE).all == (
        DslRule(problem_type="flaky_upload", target_bin=Bin.SKILLS, query="retry uploads", min_score=0.0),
        DslRule(problem_type="pricing_question", target_bin=Bin.KNOWLEDGE, query="pricing tiers", min_score=0.3),
    )


def test_a_file_may_begin_with_a_byte_order_mark() -> None:
    assert parse_rules(b"\xef\xbb\xbf" + DOCUMENTED, FILE).all == parse_rules(DOCUMENTED, FILE).all


def test_a_rule_without_a_query_looks_for_the_problem_type_and_takes_any_score() -> None:
    (rule,) = parse_rules(b'{"rules": [' + GOOD + b"]}", FILE).all
    assert (rule.query, rule.lookup, rule.min_score) == (None, "a", 0.0)
    assert DslRule(problem_type="a", target_bin=Bin.SKILLS, query="").lookup == "a"
    assert DslRule(problem_type="a", target_bin=Bin.SKILLS, query="q").lookup == "q"


def test_rules_of_one_problem_type_keep_the_files_order() -> None:
    new = [DslRule(problem_type=of, target_bin=Bin.SKILLS, query=f"{n}") for n, of in enumerate("abaAa")]
    rules = RuleSet(new)
    assert [rule.query for rule in rules.of("a")] == ["0", "2", "4"]
    assert [rule.query for rule in rules.of("A")] == ["3"]
    assert rules.all == tuple(new)


def test_no_rules_apply_to_an_unknown_problem_type() -> None:
    assert RuleSet().of("a") == ()
    assert parse_rules(b'{"rules": []}', FILE).of("a") == ()


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (
            b'{"problem_type": "a", "target_bin": "elsewhere"}',
            "'elsewhere' - at `$.rules[1].target_bin`: must be skills_base or knowledge_base",
        ),
        (b'{"target_bin": "skills_base"}', "problem_type"),
        (b'{"problem_type": "a"}', "target_bin"),
        (b'{"problem_type": "", "target_bin": "skills_base"}', "problem_type"),
        (b'{"problem_type": "a\\u0000b", "target_bin": "skills_base"}', "problem_type"),
        (b'{"problem_type": "' + b"a" * 256 + b'", "target_bin": "skills_base"}', "255"),
        (b'{"problem_type": "a", "target_bin": "skills_base", "min_score": 1.01}', "min_score"),
        (b'{"problem_type": "a", "target_bin": "skills_base", "min_score": -0.1}', "min_score"),
        (b'{"problem_type": "a", "target_bin": "skills_base", "min_score": "0.3"}', "min_score"),
        (b'{"problem_type": "a", "target_bin": "skills_base", "min_score": null}', "min_score"),
        (b'{"problem_type": "a", "target_bin": "skills_base", "minscore": 0.3}', "minscore"),
        (b'{"problem_type": "a", "target_bin": "skills_base", "query": 3}', "query"),
        (b'{"problem_type": "a", "target_bin": "skills_base", "min_score": 1e400}', "range"),
        (b'"a rule"', "str"),
        (b"null", "null"),
    ],
)
def test_a_wrong_rule_is_refused_with_its_line_and_the_reason(rule: bytes, reason: str) -> None:
    detail = refused(rules_with(rule))
    assert f"{FILE}, line 4: " in detail
    assert reason in detail


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"", 1),
        (b"\n\n", 3),
        (b"{\n", 2),
        (b"[]", 1),
        (b'{"rules": 3}', 1),
        (b"{}", 1),
        (b'{"rules": [], "more": 1}', 1),
        (rules_with(b'{"problem_type": "a" "target_bin": "skills_base"}'), 4),
        (rules_with(b'{"problem_type": "a", "target_bin": "skills_base", "min_score": NaN}'), 4),
        (rules_with(GOOD + b","), 4),
        (b'{"rules": [\n]}\n}', 3),
        (b'{"rules": [\n' + GOOD, 2),
        (b'\xef\xbb\xbf{\n"rules": 1}', 2),
        (b'{"rules":\n[{"problem_type": "\xff", "target_bin": "skills_base"}]}', 2),
        (b'{"rules": ' + b"[" * 100_000, 1),
        (b'{"rules": [\n{"problem_type": 1, "x": ' + b"[" * 100_000, 1),
        (b'{"rules": [\n{"problem_type": "\xff"\n}\n]}', 2),
        ('{"rules": []}\n'.encode("utf-16"), 1),
        (b'{"rules":\n[{"x": 1}], "rules": 5}', 2),
        (b'{"rules":\n[{"x": 1}], "rules": [5]}', 2),
        (b'{"rules": [],\n"rules": [{"problem_type": ' + b"9" * 5_000 + b"}]}", 2),
    ],
    ids=lambda value: f"{value[:30]!r}" if isinstance(value, bytes) else str(value),
)
def test_what_is_no_rules_file_is_refused_with_a_line(text: bytes, line: int) -> None:
    assert f"{FILE}, line {line}: " in refused(text)


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (b'{"rules": [\n{"problem_type": "x", "target_bin": "skills"},\n]}', 3, "trailing comma"),
        (b'{"rules": [{"problem_typ": "x"},\n{"a"', 2, "truncated"),
        (b'{"rules": [{"x": 1}],\n"more": nul}', 2, "malformed"),
        (b'{"rules": [{"x": 1},\n\n{"x": "\xff"}]}', 3, "save the file as UTF-8"),
    ],
)
def test_a_mistake_in_the_json_is_told_also_behind_a_wrong_rule(text: bytes, line: int, reason: str) -> None:
    detail = refused(text)
    assert f"{FILE}, line {line}: " in detail
    assert reason in detail


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A file with some bytes taken out, put in or put in the place of others, as editing and copying do it."""
    text = rules_with(b'{"problem_type": "a", "target_bin": "skills", "why": {"x": [1, null]}}')
    text = draw(st.sampled_from([text, DOCUMENTED, b"\xef\xbb\xbf" + DOCUMENTED, text[:-3] + b', "rules": []}']))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 20)) | st.just(len(text)))
        put_in = draw(
            st.binary(max_size=3) | st.sampled_from([b",", b"]", b"}", b'"', b"[{", b"\\u", b"9" * 400, b"e9"])
        )
        text = text[:start] + put_in + text[end:]
    return text


@given(damaged())
def test_whatever_bytes_a_file_holds_they_are_rules_or_refused_with_a_line(text: bytes) -> None:
    try:
        parse_rules(text, FILE)
    except InvalidConfiguration as refusal:
        line = re.match(re.escape(FILE) + r", line (\d+): .", refusal.detail)
        assert line is not None
        assert 1 <= int(line.group(1)) <= 1 + text.count(b"\n")


def test_a_file_that_ends_too_early_is_refused_wherever_it_ends() -> None:
    for whole in (DOCUMENTED.rstrip(), rules_with(b'{"problem_type": "a", "target_bin": "skills"}').rstrip()):
        for end in range(len(whole)):
            assert "line " in refused(whole[:end])


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ('{\n"problem_type": "a",\n"target_bin":\n"elsewhere"}', 5),
        ('{\n"problem_type": "target_bin",\n"target_bin": "elsewhere"}', 5),
        ('{\n"problem_type": "a",\n\n"query": "q",\n"why": 1, "target_bin": "skills_base"}', 7),
        ('{\n"problem_type": "a"}', 3),
    ],
)
def test_the_line_is_that_of_the_field_where_the_rule_has_it(rule: str, line: int) -> None:
    assert f"line {line}: " in refused(b'{\n"rules": [\n' + rule.encode() + b"]}")


def test_an_unknown_field_beside_the_rules_is_found_on_its_line() -> None:
    assert "line 3: " in refused(b'{\n"rules": [],\n"rulez": []\n}')


def test_equal_rules_before_the_wrong_one_do_not_mislead() -> None:
    text = b'{"rules": [\n' + GOOD + b",\n" + GOOD + b",\n" + GOOD + b',\n{"problem_type": "a"}]}'
    assert "line 5: " in refused(text)
