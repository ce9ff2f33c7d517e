"""The gate's language, and that it is never green without having measured something."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklens.cli.gate import NothingTestedError, read_conditions
from ranklens.cli.gate_syntax import ConditionError, Number, Operation, Term, parse_condition
from ranklens.core import ComparisonResult, UnknownNameError

FIELDS = {"locale": ["de", "en", "a b"], "device": ["phone"]}
CANONICAL = {"ndcg@10": "nDCG@10", "ap": "AP", "ap(rel=2)": "AP(rel=2)", "rr": "RR"}


def canonical(name):
    return CANONICAL.get(name.lower(), name)


def row(metric="nDCG@10", delta=0.0, p=0.5, q=None, run_b="B", segment=None, tested=True, mean_a=0.4, **more):
    return ComparisonResult(
        metric=metric, mean_a=mean_a, mean_b=mean_a + delta, delta=delta, alpha=0.05,
        ci_low=delta - 0.02 if tested else None, ci_high=delta + 0.02 if tested else None,
        p_value=p if tested else None, q_value=(p if q is None else q) if tested else None,
        n_queries=50 if tested else 3, n_only_a=0, n_only_b=0, n_resamples=10, n_permutations=10, seed=0,
        run_b=run_b, segment=segment, **more,
    )  # fmt: skip


def check(text, *rows, measures=("nDCG@10", "AP", "AP(rel=2)"), **options):
    (condition,) = read_conditions([text], measures, canonical, FIELDS, **options)
    return condition.check(rows)


def holds(text, *rows, **options):
    return bool(check(text, *rows, **options).matches)


def test_a_measure_keeps_its_own_parentheses():
    tree = parse_condition("delta(AP(rel=2)) < -1e-2")
    assert tree == Operation("<", Term("delta", "AP(rel=2)"), Number(-0.01))


def test_the_condition_of_the_manual():
    text = "delta(nDCG@10) < -0.01 and q(nDCG@10) < 0.05"
    assert holds(text, row(delta=-0.02, p=0.01))
    assert not holds(text, row(delta=-0.02, p=0.2))
    assert not holds(text, row(delta=0.02, p=0.01))


def test_a_bare_field_is_that_of_the_measure_named_elsewhere():
    text = "delta(nDCG@10) < -0.01 and q < 0.05"
    assert holds(text, row(delta=-0.02, p=0.01), row("AP", p=0.9))
    assert not holds(text, row(delta=-0.02, p=0.9), row("AP", p=0.01))


def test_bare_fields_alone_try_each_measure_by_itself():
    text = "delta < -0.01 and q < 0.05"
    both = (row(delta=-0.02, p=0.9), row("AP", delta=0.1, p=0.01), row("AP(rel=2)"))
    assert not holds(text, *both)
    assert holds(text, *both[:2], row("AP(rel=2)", delta=-0.5, p=0.01))


def test_measures_go_by_any_spelling():
    assert holds("delta(NDCG@10) < 0", row(delta=-0.1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mean_a == 0.4 and n == 50", True),
        ("high < 0", True),
        ("low > 0", False),
        ("relative < -0.1", True),
        ("mean_b < 0.9 * mean_a", True),
        ("mean_b / mean_a < 1 - 0.1 - 0.2", False),
        ("not delta < 0 or losses - wins >= 10", True),
        ("not (delta < 0 or p < 0.5)", False),
        ("delta != 0 and (p <= .01 or q <= 1.0e-2)", True),
        ("-delta > 0.09", True),
        ("1 - 2 - 3 == -4 and n > 0", True),
        ("2 + 2 * 3 == 8 and n > 0", True),
        ("ties + wins + losses == 50", True),
    ],
)
def test_arithmetic_and_logic(text, expected):
    assert (
        holds(text, row(delta=-0.1, p=0.01, wins=10, ties=10, losses=30), measures=("nDCG@10",)) is expected
    )


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_comparisons_compare(delta, limit):
    for text, truth in (("<", delta < limit), (">=", delta >= limit), ("==", delta == limit)):
        assert holds(f"delta {text} {limit!r}", row(delta=delta), measures=("nDCG@10",)) is truth


def test_conditions_speak_of_all_queries_unless_a_segment_is_named():
    rows = (row(delta=0.1), row(delta=-0.1, segment="locale=de"), row(delta=0.2, segment="locale=en"))
    assert not holds("delta(nDCG@10) < 0", *rows)
    assert holds("segment(locale=de) and delta(nDCG@10) < 0", *rows)
    assert not holds("delta(nDCG@10) < 0 and segment(locale=en)", *rows)


def test_a_segment_covers_the_terms_joined_with_it_and_no_others():
    rows = (row(delta=0.1), row(delta=-0.1, segment="locale=de"))
    text = "(segment(locale=de) and delta(nDCG@10) < 0) and delta(nDCG@10) > 0"
    assert holds(text, *rows)
    assert holds("segment(locale=de) and (delta(nDCG@10) > 5 or delta(nDCG@10) < 0)", *rows)


def test_a_star_stands_for_each_segment_and_the_match_says_which():
    rows = (
        row(delta=0.1),
        row(delta=-0.1, segment="locale=de"),
        row(delta=0.2, segment="locale=en"),
        row(segment="locale=a b", tested=False),
    )
    verdict = check("segment(locale=*) and delta(nDCG@10) < 0", *rows)
    assert len(verdict.matches) == 1
    assert "locale=de" in verdict.matches[0]
    assert verdict.n_tested == 2
    assert len(verdict.untested) == 1


def test_a_segment_value_may_be_quoted():
    rows = (row(), row(delta=-0.1, segment="locale=a b"))
    assert holds("segment(locale='a b') and delta(nDCG@10) < 0", *rows)
    assert holds("segment(locale = a b) and delta(nDCG@10) < 0", *rows)


def test_the_run_that_failed_is_named():
    verdict = check("delta(nDCG@10) < 0", row(delta=0.1, run_b="good"), row(delta=-0.1, run_b="bad"))
    assert [match.split(" against")[0] for match in verdict.matches] == ["bad"]
    assert "-0.1000" in verdict.matches[0]


def test_a_gate_below_the_minimum_number_of_queries_is_not_green():
    with pytest.raises(NothingTestedError, match="nothing was tested"):
        check("delta(nDCG@10) < 0", row(tested=False))


def test_a_gate_on_a_segment_that_no_query_has_is_not_green():
    with pytest.raises(NothingTestedError, match=r"nothing was tested.*no query has locale=fr.*de, en"):
        check("segment(locale=fr) and delta(nDCG@10) < 0", row(), row(segment="locale=de"))


def test_a_gate_without_any_row_is_not_green():
    with pytest.raises(NothingTestedError, match="nothing was tested"):
        check("delta(nDCG@10) < 0")


def test_one_untested_run_among_tested_ones_is_not_green():
    rows = (row(delta=0.1, run_b="x"), row(run_b="y", tested=False))
    with pytest.raises(NothingTestedError, match="y against A"):
        check("delta(nDCG@10) < 0", *rows)


def test_a_regression_wins_over_a_run_that_could_not_be_tested():
    assert holds("delta(nDCG@10) < 0", row(delta=-0.1, run_b="x"), row(run_b="y", tested=False))


def test_a_relative_delta_on_a_baseline_of_zero_has_the_sign_of_the_delta():
    assert holds("relative(nDCG@10) > 5", row(delta=0.1, mean_a=0.0))
    assert not holds("relative(nDCG@10) != 0", row(delta=0.0, mean_a=0.0))


def test_dividing_by_zero_is_no_pass():
    with pytest.raises(NothingTestedError, match="divides by zero"):
        check("mean_b(nDCG@10) / mean_a(nDCG@10) < 1", row(mean_a=0.0))


def test_one_sided_intervals_have_an_infinite_end():
    one_sided = ComparisonResult("AP", 0.1, 0.2, 0.1, 0.05, math.inf, 0.05, 0.01, 50, 0, 0, 1, 1, 0)
    assert holds("high(AP) > 1000", one_sided)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("delta(nDCG@10", "parenthesis is not closed"),
        ("delta(nDCG@10) <", "expected a number, a field.* at the end"),
        ("delta(nDCG@10) < 0 p < 1", "expected 'and', 'or' or the end at 'p < 1'"),
        ("delta(nDCG@10) << 0", "expected a number"),
        ("-1 < delta(nDCG@10) < 0", "cannot be chained"),
        ("delta(nDCG@10)", "a number alone is no condition"),
        ("delt(nDCG@10) < 0", "unknown field 'delt'; the fields are delta, relative"),
        ("(delta(nDCG@10) < 0", r"expected '\)' at the end"),
        ("1 < 2", "speaks of no result"),
        ("", "expected a number"),
        ("delta < 0; import os", "expected"),
        ("segment(locale=de)", "compares nothing"),
        ("segment(locale) and delta < 0", "segment\\(field=value\\)"),
        ("segment and delta < 0", "segment\\(field=value\\)"),
        ("segment(locale=de) or delta < 0", "join it with its terms by 'and'"),
        ("not segment(locale=de) and delta < 0", "join it with its terms by 'and'"),
        ("segment(locale=de) and segment(locale=en) and p < 1", "one segment only"),
        ("(delta < 0) + 1 < 2", "needs a number on both sides"),
        ("delta and p < 1", "a number alone"),
        ("p(AP) < 1 and p < 1 and q(nDCG@10) < 1", "p could be that of AP or nDCG@10"),
    ],
)
def test_a_condition_that_cannot_be_read_says_why(text, says):
    with pytest.raises(ConditionError, match=says):
        check(text, row())


@given(st.text(alphabet="delta(p)<0.5 andornot-+*/=segm", max_size=25))
def test_no_text_crashes_the_reader(text):
    try:
        parse_condition(text)
    except ConditionError as error:
        assert str(error).startswith("--fail-if")  # noqa: PT017


def test_an_unknown_measure_lists_those_compared():
    with pytest.raises(UnknownNameError, match="'P@5'; the measures compared are nDCG@10, AP"):
        check("delta(P@5) < 0", row())


def test_an_unknown_segment_field_lists_those_that_exist():
    with pytest.raises(UnknownNameError, match="'country'; the fields are locale, device"):
        check("segment(country=de) and p(AP) < 0.05", row("AP"))


def test_q_needs_a_correction():
    with pytest.raises(ConditionError, match="no q-values with --correction none; use p"):
        check("q(AP) < 0.05", row("AP"), corrected=False)
