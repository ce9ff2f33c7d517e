"""``ranklens compare``: the verdict, the same numbers as the library, and the gate's exit codes."""

import csv
import io
import json
from pathlib import Path

import pytest

import ranklens
from ranklens.cli.verdict import segment_verdict, sentence, verdict
from ranklens.core import ComparisonResult
from ranklens.core.comparison_text import how_made

QRELS, WEAK, MIDDLE, STRONG = "qrels.txt", "weak.run", "middle.run", "strong.run"
PAIR = (QRELS, WEAK, STRONG)


def result(**changes):
    fields = {
        "metric": "AP", "mean_a": 0.2, "mean_b": 0.25, "delta": 0.05, "ci_low": 0.02, "ci_high": 0.08,
        "alpha": 0.05, "p_value": 0.001, "n_queries": 50, "n_only_a": 0, "n_only_b": 0, "n_resamples": 0,
        "n_permutations": 0, "seed": 0, "run_a": "bm25", "run_b": "dense",
    }  # fmt: skip
    return ComparisonResult(**(fields | changes))


def test_a_verdict_says_who_is_better_by_how_much_and_how_sure():
    assert sentence(result(q_value=0.002)) == (
        "AP: dense is better than bm25 by 0.0500 (+25.0%), 95% interval [+0.0200, +0.0800], "
        "p 0.0010, q 0.0020."
    )
    assert "dense is worse than bm25 by 0.0500 (-25.0%)" in sentence(result(delta=-0.05))


def test_no_verdict_says_what_could_have_been_seen():
    text = sentence(result(p_value=0.3, ci_low=-0.02), 0.0312, 0.8)
    assert "no difference between bm25 and dense is shown at alpha 0.05: delta +0.0500" in text
    assert text.endswith("these 50 queries can see about ±0.0312 (power 0.8).")
    one_sided = sentence(result(p_value=0.3, ci_low=-0.02, alternative="greater"), 0.0277, 0.8)
    assert one_sided.endswith("these 50 queries can see about +0.0277 (power 0.8).")
    assert "can see" not in sentence(result(p_value=1.0, delta=0.0, ci_low=0.0, ci_high=0.0), 0.0, 0.8)


def test_the_corrected_p_decides():
    assert "no difference" in sentence(result(p_value=0.04, q_value=0.12))


@pytest.mark.parametrize(("side", "word"), [("greater", "better"), ("less", "worse")])
def test_a_one_sided_test_speaks_of_its_side_only(side, word):
    text = sentence(result(p_value=0.3, alternative=side))
    assert f"dense is not shown to be {word} than bm25" in text


def test_too_few_queries_are_said_not_hidden():
    text = sentence(result(p_value=None, ci_low=None, ci_high=None, n_queries=7))
    assert "AP: not tested: 7 paired queries" in text
    one = sentence(result(p_value=None, ci_low=None, ci_high=None, n_queries=1))
    assert "1 paired query of bm25 and dense is too few" in one
    assert "delta +0.0500" in text


def test_few_clusters_of_many_queries_are_called_clusters():
    few = {"p_value": None, "ci_low": None, "n_queries": 100, "n_units": 2, "clustered": True}
    assert "2 clusters of 100 paired queries of bm25 and dense are too few" in sentence(result(**few))
    (text,) = segment_verdict([result(segment="locale=de"), result(segment="locale=en", **few)])
    assert "not tested (too few clusters) in locale=en" in text
    assert how_made([result(**few)])[-1].startswith("1 row has too few clusters to test")


def test_many_verdicts_are_counted():
    rows = [
        result(run_b=f"r{i}", p_value=p, delta=d)
        for i, (p, d) in enumerate([(0.01, 1)] * 4 + [(0.01, -1)] * 2)
    ]
    rows += [result(run_b="r8", p_value=0.5), result(run_b="r9", p_value=None)]
    (text,) = verdict(rows, {}, 0.8)
    assert text.startswith("AP: of 8 runs 4 are better than bm25, 2 worse, and for 1 no difference is shown")
    assert "1 not tested" in text


def test_of_many_runs_the_best_and_the_worse_are_named():
    deltas = [0.1, 0.3, 0.2, -0.1, -0.2, 0.05, 0.04]
    rows = [result(run_b=f"r{i}", delta=delta) for i, delta in enumerate(deltas)]
    (text,) = verdict(rows, {}, 0.8)
    assert text.endswith("(p < 0.05). Best: r1 (+0.3000). Worse: r4 (-0.2000), r3 (-0.1000).")
    (text,) = verdict([result(run_b=f"r{i}", delta=-0.1 * i) for i in range(1, 9)], {}, 0.8)
    assert "Best" not in text
    assert "r8 (-0.8000), r7" in text
    assert text.endswith(" and 2 more.")
    (text,) = verdict([result(p_value=0.5)] * 9, {}, 0.8)
    assert text.endswith("(p < 0.05).")


def test_no_loss_by_segment_is_dropped_without_a_word():
    def rows(n, delta):
        return [result(run_b=f"r{i}", segment="locale=de", delta=delta) for i in range(n)]

    assert len(segment_verdict(rows(6, -0.1))) == 6
    told = segment_verdict(rows(9, -0.1) + rows(1, 0.1))
    assert len(told) == 7
    assert told[-1] == "by segment: 3 more of 9 tables show a loss."
    assert segment_verdict(rows(9, 0.1)) == ["by segment: none of 9 tables shows a loss."]


def test_lost_segments_come_with_their_numbers():
    rows = [
        result(segment="locale=de", delta=-0.1, p_value=0.001),
        result(segment="locale=en"),
        result(segment="locale=fr", p_value=None),
        result(segment="locale=it", p_value=0.9),
    ]
    (text,) = segment_verdict(rows)
    assert "worse in locale=de (-0.1000, p 0.0010)" in text
    assert "better in locale=en" in text
    assert "not tested (too few queries) in locale=fr" in text
    assert "locale=it" not in text


def test_the_table_has_the_verdict_first_and_the_counts_last(command):
    done = command("compare", *PAIR, "-m", "nDCG@10", "RR")
    assert done.exit_code == 0
    text = done.stdout
    assert text.startswith("nDCG@10: strong is better than weak by ")
    assert text.index("better") < text.index("A = weak, B = strong") < text.index("queries measured: 40")
    assert "seed 0" in text
    assert done.stderr == ""


def test_json_has_every_number_of_the_library(command):
    done = command("compare", *PAIR, "-m", "nDCG@10", "RR", "--format", "json", "--seed", "3")
    found = json.loads(done.stdout, parse_constant=pytest.fail)
    runs = ranklens.evaluate_many({"weak": WEAK, "strong": STRONG}, QRELS, ["nDCG@10", "RR"])
    table = ranklens.compare_many(runs, baseline="weak", method="auto", seed=3)
    expected = [json.loads(json.dumps(row.to_dict())) for row in table]
    for row in found["comparisons"]:
        assert row.pop("visible_effect") > 0
    assert found["comparisons"] == expected
    assert found["seed"] == found["options"]["seed"] == 3
    assert found["options"]["method"] == "auto"
    assert found["runs"]["weak"]["n_queries"] == 40
    assert found["gate"] is None


def test_monte_carlo_says_its_seed_and_counts(command):
    options = ("--method", "monte-carlo", "--n-permutations", "999", "--n-resamples", "500", "--seed", "7")
    done = command("compare", *PAIR, *options)
    for said in ("999 random flips", "500 resamples", "seed 7"):
        assert said in done.stdout
    again = command("compare", *PAIR, *options)
    assert again.stdout == done.stdout


def test_many_runs_are_compared_with_the_first_or_all_with_all(command):
    runs = (WEAK, MIDDLE, STRONG)
    first = json.loads(command("compare", QRELS, *runs, "--format", "json").stdout)["comparisons"]
    assert [(row["run_a"], row["run_b"]) for row in first] == [("weak", "middle"), ("weak", "strong")]
    pairs = json.loads(command("compare", QRELS, *runs, "--all-pairs", "--format", "json").stdout)[
        "comparisons"
    ]
    assert [(row["run_a"], row["run_b"]) for row in pairs][-1] == ("middle", "strong")
    assert (
        "Benjamini-Hochberg within nDCG@10 (3 comparisons)"
        in command("compare", QRELS, *runs, "--all-pairs").stdout
    )


def test_no_correction_gives_no_q(command):
    done = command("compare", *PAIR, "--correction", "none")
    assert ", q " not in done.stdout
    assert "Benjamini" not in done.stdout


def test_csv_has_a_row_for_each_comparison(command):
    done = command("compare", QRELS, "=a=weak.run", STRONG, "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(done.stdout))
    assert row["run_a"] == "'=a"
    assert float(row["delta"]) > 0
    assert row["significant"] == "true"


def test_an_open_end_of_an_interval_is_null_in_json_and_empty_in_csv(command):
    arguments = ("compare", *PAIR, "--alternative", "greater", "--format")
    assert json.loads(command(*arguments, "json").stdout)["comparisons"][0]["ci_high"] is None
    (row,) = csv.DictReader(io.StringIO(command(*arguments, "csv").stdout))
    assert row["ci_high"] == ""


@pytest.mark.parametrize("style", ["markdown", "latex"])
def test_tables_for_documents(command, style):
    done = command("compare", *PAIR, "--format", style)
    assert done.stdout.count("strong") >= 2
    assert ("|---" in done.stdout) is (style == "markdown")


def test_segments_are_on_the_first_screen(command):
    done = command("compare", *PAIR, "--segments", "queries.csv:locale,device")
    lines = done.stdout.splitlines()
    assert lines[1].startswith("nDCG@10 by segment: strong against weak is ")
    assert "not tested (too few queries) in device=phone" in lines[1]
    assert any(line.startswith("locale=de") for line in lines)
    only = command("compare", *PAIR, "--segments", "queries.csv:device")
    assert "locale" not in only.stdout


def test_segments_of_many_runs_have_a_table_each(command):
    done = command("compare", QRELS, WEAK, MIDDLE, STRONG, "--segments", "queries.csv:locale")
    assert "nDCG@10 by segment, A = weak, B = middle, n = 20 queries" in done.stdout
    assert "nDCG@10 by segment, A = weak, B = strong, n = 20 queries" in done.stdout


def test_a_field_of_texts_is_no_segment_unless_it_is_named(command):
    table = ["query_id,text,locale", *(f"q{i:02d},what is {i}?,{'de' if i % 2 else 'en'}" for i in range(40))]
    Path("texts.csv").write_text("\n".join(table))
    done = command("compare", *PAIR, "--segments", "texts.csv")
    assert "'text' has another value for every query and is left out" in done.stderr
    assert "what is" not in done.stdout
    named = command("compare", *PAIR, "--segments", "texts.csv:text")
    assert "tested in no segment (too few queries in text=what is 0?" in named.stdout
    assert "and 34 more" in named.stdout


def test_a_segment_without_queries_is_told_and_not_shown(command):
    table = Path("queries.csv").read_text() + "q77,fr,phone\nq78,fr,desk\n"
    Path("more.csv").write_text(table)
    done = command("compare", *PAIR, "--segments", "more.csv:locale")
    assert "segments without a measured query: locale=fr" in done.stdout
    assert not any(line.startswith("locale=fr") for line in done.stdout.splitlines())


def test_a_table_of_segments_without_a_header_needs_names(command):
    Path("bare.csv").write_text(Path("queries.csv").read_text().partition("\n")[2])
    Path("numbers.csv").write_text("1,de\n2,fr\n")
    broken = command("compare", *PAIR, "--segments", "numbers.csv")
    assert broken.exit_code == 3
    assert "--segment-names" in broken.stderr
    done = command("compare", *PAIR, "--segments", "bare.csv", "--segment-names", "id,locale,device")
    assert "locale=de" in done.stdout


def test_an_unknown_segment_field_lists_those_of_the_table(command):
    done = command("compare", *PAIR, "--segments", "queries.csv:country")
    assert done.exit_code == 1
    assert "country" in done.stderr
    assert "locale" in done.stderr


def test_an_interval_that_disagrees_with_its_p_value_is_explained(command):
    judged = [f"q{i} 0 d{j} {int(j == 0)}" for i in range(3) for j in range(3)]
    Path("few.qrels").write_text("\n".join(judged))
    for name, place in (("a.run", 3), ("b.run", 1)):
        scores = {"d0": 2.5 - place, "d1": 1.0, "d2": 0.0}
        lines = [f"q{i} Q0 {d} 1 {score} t" for i in range(3) for d, score in scores.items()]
        Path(name).write_text("\n".join(lines))
    done = command("compare", "few.qrels", "a.run", "b.run", "-m", "RR", "--min-queries", "2")
    assert done.exit_code == 0
    assert (
        "the interval excludes 0 though p 0.2500 is not below 0.05: 3 non-zero differences cannot"
        in done.stdout
    )


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("delta(nDCG@10) < -0.01 and q(nDCG@10) < 0.05", 0),
        ("delta(nDCG@10) > 0.01 and q < 0.05", 4),
        ("segment(locale=de) and delta(nDCG@10) > 0", 4),
        ("segment(locale=*) and delta(nDCG@10) < 0", 0),
        ("segment(locale=fr) and delta(nDCG@10) < 0", 3),
        ("segment(device=phone) and delta(nDCG@10) < 0", 3),
        ("segment(country=de) and delta(nDCG@10) < 0", 1),
        ("delta(P@7) < 0", 1),
        ("delta <", 1),
    ],
)
def test_the_gate_has_its_own_exit_codes(command, condition, code):
    done = command("compare", *PAIR, "--segments", "queries.csv", "--fail-if", condition)
    assert done.exit_code == code, done.output
    assert "Traceback" not in done.output
    if code == 3:
        assert "nothing was tested" in done.stderr
    if code == 4:
        assert done.stderr.startswith(f"gate failed: {condition}: strong against weak, nDCG@10")
    if code == 0:
        assert f"gate passed: {condition}" in done.stdout


def test_a_failed_gate_still_writes_its_report(command):
    done = command("compare", *PAIR, "--fail-if", "delta > 0", "--format", "json", "--output", "verdict.json")
    assert done.exit_code == 4
    gate = json.loads(Path("verdict.json").read_text())["gate"]
    assert gate["failed"] is True
    assert gate["conditions"][0]["n_tested"] == 1


def test_each_condition_counts_and_the_runs_that_failed_are_named(command):
    done = command(
        "compare",
        QRELS,
        WEAK,
        MIDDLE,
        STRONG,
        "--fail-if",
        "delta < -1",
        "--fail-if",
        "delta > 0.1 and p < 0.01",
    )
    assert done.exit_code == 4
    (line,) = done.stderr.splitlines()
    assert "strong against weak" in line


def test_a_gate_below_the_minimum_number_of_queries_is_not_green(command):
    done = command("compare", *PAIR, "--min-queries", "41", "--fail-if", "delta < 0")
    assert done.exit_code == 3
    assert "nothing was tested" in done.stderr
    assert "not tested: 40 paired queries" in done.stdout


def test_gate_measures_follow_the_relevance_threshold(command):
    done = command("compare", *PAIR, "-m", "RR", "--rel", "1", "--fail-if", "delta(recip_rank) > 0")
    assert done.exit_code == 4
    strict = command("compare", *PAIR, "-m", "RR", "--rel", "2", "--fail-if", "delta(RR) > 0")
    assert strict.exit_code == 0


def test_missing_queries_are_counted_on_each_side(command):
    Path("part.run").write_text("\n".join(Path(STRONG).read_text().splitlines()[10:]) + "\n")
    zero = command("compare", QRELS, WEAK, "part.run")
    assert "judged but not answered (scored 0): weak 0, part 5" in zero.stdout
    skip = command("compare", QRELS, WEAK, "part.run", "--missing", "skip")
    assert "left out of the comparison: weak 5, part 0" in skip.stdout
    assert "n = 35 queries" in skip.stdout


def with_traffic():
    lines = ["query_id,views,session", *(f"q{i:02d},{1 + i % 7},s{i // 2}" for i in range(40))]
    Path("traffic.csv").write_text("\n".join(lines))
    views = {f"q{i:02d}": float(1 + i % 7) for i in range(40)}
    return views, {f"q{i:02d}": f"s{i // 2}" for i in range(40)}


def test_the_design_of_the_sample_reaches_the_library(command):
    views, sessions = with_traffic()
    options = ("--weights", "traffic.csv:views", "--clusters", "traffic.csv:session", "--interval", "bca")
    more = ("--margin", "0.05", "--alternative", "greater", "--beside", "t", "--correction", "holm")
    done = command("compare", *PAIR, *options, *more, "--format", "json")
    found = json.loads(done.stdout)
    runs = ranklens.evaluate_many({"weak": WEAK, "strong": STRONG}, QRELS, ["nDCG@10"])
    (row,) = ranklens.compare_many(
        runs,
        baseline="weak",
        weights=views,
        clusters=sessions,
        interval="bca",
        margin=0.05,
        alternative="greater",
        beside="t",
        correction="holm",
    )
    (shown,) = found["comparisons"]
    assert {key: shown[key] for key in row.to_dict()} == json.loads(json.dumps(row.to_dict()))
    assert (shown["n_units"], shown["weighted"], shown["clustered"], shown["margin"]) == (
        20,
        True,
        True,
        0.05,
    )
    assert {file["role"] for file in found["inputs"]} == {"qrels", "run", "weights", "clusters"}
    assert all(file["sha256"] for file in found["inputs"])


def test_the_table_says_what_the_sample_is(command):
    with_traffic()
    done = command(
        "compare", *PAIR, "--weights", "traffic.csv:views", "--clusters", "traffic.csv:session",
        "--beside", "t", "--simultaneous",
    )  # fmt: skip
    for said in (
        "means and delta are weighted by query",
        "units: clusters of queries, which are flipped and resampled together",
        "together: intervals that all hold at once within a family",
        "beside, not corrected: paired t-test",
        "p (t)",
    ):
        assert said in done.stdout


DESIGN = ("--weights", "traffic.csv:views", "--clusters", "traffic.csv:session", "--margin", "0.05")


@pytest.mark.parametrize("format", ["table", "markdown", "latex"])
def test_every_document_says_what_the_sample_and_the_margin_are(command, format):
    with_traffic()
    done = command("compare", *PAIR, *DESIGN, "--format", format)
    assert done.exit_code == 0, done.output
    for said in ("means and delta are weighted by query", "units: clusters of queries", "equivalence: -0.05"):
        assert said in done.stdout


def test_records_carry_the_sample_and_the_margin(command):
    with_traffic()
    done = command("compare", *PAIR, *DESIGN, "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(done.stdout))
    assert (row["weighted"], row["clustered"], row["margin"], row["n_units"]) == (
        "true",
        "true",
        "0.05",
        "20",
    )


@pytest.mark.parametrize("how", ["bonferroni", "maxt"])
def test_intervals_that_hold_together_are_those_of_the_library(command, how):
    with_traffic()
    segments = {f"q{i:02}": "ab"[i % 2] for i in range(40)}
    lines = [f"{query},{value}" for query, value in segments.items()]
    Path("segments.csv").write_text("\n".join(["query_id,part", *lines]) + "\n")
    done = command(
        "compare", *PAIR, "--all-pairs", "-m", "nDCG@10", "AP", "--clusters", "traffic.csv:session",
        "--segments", "segments.csv", "--correction", "maxt", "--method", "monte-carlo", "--seed", "3",
        "--min-queries", "5", "--simultaneous", how, "--format", "json",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    shown = json.loads(done.stdout)["comparisons"]
    evaluations = ranklens.evaluate_many({"weak": WEAK, "strong": STRONG}, QRELS, ["nDCG@10", "AP"])
    read = {"segments": ranklens.read_segments("segments.csv")}
    sample = {"clusters": ranklens.read_segments("traffic.csv", fields=["session"])["session"]}
    table = ranklens.compare_many(
        evaluations, correction="maxt", method="monte-carlo", seed=3, min_queries=5, **read, **sample
    )
    known = {"evaluations": evaluations, "seed": 3, **read, **sample} if how == "maxt" else {}
    for row, found in zip(ranklens.simultaneous(table, **known), shown, strict=True):
        for name in ("q_value", "simultaneous_low", "simultaneous_high", "simultaneous_method"):
            assert found[name] == getattr(row, name)
    assert {found["simultaneous_method"] for found in shown} == {how}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--margin", "0.9", "--alternative", "greater"),
            "strong is not worse than weak by 0.9 or more: delta +",
        ),
        (("--margin", "0.9"), "strong and weak are equivalent within 0.9"),
        (("--margin", "0.001"), "strong and weak are not shown to be equivalent within 0.001"),
        (
            ("--margin", "0.01", "--alternative", "less"),
            "strong is not shown not to be better than weak by 0.01",
        ),
    ],
)
def test_a_margin_has_a_verdict_of_its_own(command, options, said):
    done = command("compare", *PAIR, *options)
    assert done.exit_code == 0, done.output
    assert said in done.stdout
    assert any(f"sign-flip {noun} for " in done.stdout for noun in ("test", "tests"))


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--weights", "traffic.csv"), 1, "name one of them: --weights traffic.csv:COLUMN"),
        (("--weights", "nothing.csv:views"), 1, "--weights: no such file: nothing.csv:views"),
        (("--weights", "traffic.csv:session"), 3, "the weight of query q00 is 's0', which is not a number"),
        (("--clusters", "traffic.csv:visit"), 1, "unknown"),
        (
            ("--clusters", "part.csv"),
            1,
            "clusters has no value for 37 of 40 paired queries (first: q03, q04, q05",
        ),
        (("--margin", "0"), 2, "0"),
        (("--interval", "studentized", "--method", "exact"), 1, "needs resamples"),
    ],
)
def test_a_bad_design_is_one_clear_error(command, options, code, said):
    with_traffic()
    Path("part.csv").write_text("query_id,session\nq00,a\nq01,a\nq02,b\n")
    done = command("compare", *PAIR, *options)
    assert done.exit_code == code, done.output
    assert said in done.stderr
    assert "Traceback" not in done.output


def test_verdicts_on_margins_by_segment_and_by_count():
    rows = [result(segment="locale=de", margin=0.01), result(segment="locale=en", margin=0.01, p_value=0.5)]
    (text,) = segment_verdict(rows)
    assert "the margin is kept in locale=de, and not shown to be in 1 more tested" in text
    many = [result(run_b=f"r{i}", margin=0.01, p_value=p) for i, p in enumerate([0.01] * 5 + [0.9] * 3)]
    assert verdict(many, {}, 0.8) == ["AP: in 5 of 8 comparisons the margin of 0.01 is kept."]
