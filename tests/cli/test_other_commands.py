"""``demo``, ``power`` and ``doctor``."""

import json
import os
from pathlib import Path

import pytest

import ranklens
from ranklens.cli import self_test


def test_the_demo_needs_no_file_and_tells_the_whole_story(command):
    done = command("demo")
    assert done.exit_code == 0
    assert done.stderr == ""
    for said in (
        "5 systems, from the weakest to the best",
        "nDCG@10: rerank is better than bm25 by",
        "no difference between bm25 and bm25_prf is shown",
        "worse in language=de",
        "ranklens compare qrels.txt a.run b.run",
    ):
        assert said in done.stdout


def test_the_demo_collection_is_written_and_can_be_compared(command):
    command("demo", "--write", "demo", "--seed", "1")
    runs = [f"demo/{name}.run" for name in ("bm25", "rerank")]
    done = command("compare", "demo/qrels.txt", *runs, "--segments", "demo/segments.csv", "--format", "json")
    rows = json.loads(done.stdout)["comparisons"]
    shown = json.loads(command("demo", "--seed", "1", "--format", "json").stdout)["comparisons"]
    mine = next(row for row in shown if row["run_b"] == "rerank" and row["metric"] == "nDCG@10")
    assert (rows[0]["delta"], rows[0]["p_value"]) == (mine["delta"], mine["p_value"])


def test_the_demo_does_not_overwrite(command):
    before = sorted(os.listdir())
    assert command("demo", "--write", ".").exit_code == 1
    assert sorted(os.listdir()) == before


def test_the_demo_is_markdown_with_headings(command):
    assert "### 1. A collection" in command("demo", "--format", "markdown").stdout


def test_power_from_numbers(command):
    assert (
        "200 queries can see a mean difference of 0.0198"
        in command("power", "--sd", "0.1", "--n", "200").stdout
    )
    done = command("power", "--sd", "0.1", "--delta", "-0.02", "--format", "json")
    assert json.loads(done.stdout)["results"][0]["required_queries"] == 197


def test_power_from_runs_uses_their_spread(command):
    done = command("power", "qrels.txt", "weak.run", "strong.run", "-m", "RR", "--format", "json")
    (row,) = json.loads(done.stdout)["results"]
    runs = ranklens.evaluate_many({"a": "weak.run", "b": "strong.run"}, "qrels.txt", ["RR"])
    deltas = ranklens.paired_deltas(runs["a"]["RR"].per_query, runs["b"]["RR"].per_query)[1]
    sd = ranklens.standard_deviation(deltas)
    assert row["sd"] == sd
    assert row["n_queries"] == 40
    assert row["visible_effect"] == ranklens.mde(sd, 40)
    assert row["required_queries"] == ranklens.required_queries(row["delta"], sd)


def test_power_of_runs_without_any_difference_needs_no_number(command):
    Path("same.run").write_bytes(Path("weak.run").read_bytes())
    done = command("power", "qrels.txt", "weak.run", "same.run")
    assert done.exit_code == 0
    assert "40 queries can see a mean difference of 0.0000" in done.stdout


@pytest.mark.slow
def test_the_doctor_finds_every_answer_right(command):
    done = command("doctor", "--format", "json")
    assert done.exit_code == 0, done.stdout
    found = json.loads(done.stdout)
    assert all(check["passed"] for check in found["checks"])
    assert {check["backend"] for check in found["checks"]} >= {"numpy", "host"}
    assert found["versions"]["numpy"]
    assert found["memory_budget"] > 0


@pytest.mark.slow
def test_the_doctor_reports_a_wrong_answer(command, monkeypatch):
    monkeypatch.setitem(self_test.ON_HOST, "exact p of 5 gains", (lambda: 0.5, 2 / 32))
    done = command("doctor")
    assert done.exit_code == 1
    assert "1 of" in done.stdout
    assert "expected 0.062500, found 0.500000" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["numpy", "jax", "torch", "array_api_strict"])
def test_a_backend_changes_no_verdict(command, name):
    pytest.importorskip(name)
    arguments = (
        "compare",
        "qrels.txt",
        "weak.run",
        "strong.run",
        "--method",
        "monte-carlo",
        "--format",
        "json",
    )
    found = json.loads(command(*arguments, "--backend", name).stdout)
    expected = json.loads(command(*arguments).stdout)
    assert found["backend"] == name
    assert expected["backend"] == "numpy"
    assert found["comparisons"][0]["p_value"] == expected["comparisons"][0]["p_value"]
    assert found["comparisons"][0]["delta"] == pytest.approx(expected["comparisons"][0]["delta"], rel=1e-12)
