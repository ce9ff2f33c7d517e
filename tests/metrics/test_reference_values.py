"""Values of trec_eval for thousands of topics of real runs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranklens.core import DataError, DataWarning
from ranklens.core.evaluation import Evaluations
from ranklens.io import Qrels, Run, read_qrels, read_run
from ranklens.metrics import evaluate, evaluate_many, trec_eval_name

COLLECTIONS = (
    "dl21-passage",
    "dl-hard-doc",
    "codec-doc",
    "wtr-tables",
    "msmarco-doc-dev",
    "cacm",
    "cranfield",
    "trec_eval-tests",
)


def reference(folder: Path) -> dict[str, Any]:
    plain, packed = folder / "expected.json", folder / "expected.json.gz"
    text = plain.read_bytes() if plain.exists() else gzip.decompress(packed.read_bytes())
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def measured(folder: Path, expected: dict[str, Any], **options: Any) -> Evaluations:
    runs = {name: folder / run["file"] for name, run in expected["runs"].items()}
    return evaluate_many(
        runs, folder / expected["qrels"], expected["columns"], score_precision="float32", **options
    )


@pytest.mark.filterwarnings("ignore::ranklens.core.DataWarning")
@pytest.mark.parametrize(
    ("collection", "suffix", "rel"),
    [
        *((collection, "", 1) for collection in COLLECTIONS),
        ("dl21-passage", "_rel2", 2),
        ("dl-hard-doc", "_rel2", 2),
    ],
)
def test_every_value_of_every_topic_is_reproduced(
    data_dir: Path, collection: str, suffix: str, rel: int
) -> None:
    folder = data_dir / collection
    expected = reference(folder)
    on_error = "skip" if collection == "codec-doc" else "raise"
    answered = measured(folder, expected, missing="skip", rel=rel, on_error=on_error)
    complete = measured(folder, expected, missing="zero", rel=rel, on_error=on_error)
    for name, run in expected["runs"].items():
        topics = run[f"per_query{suffix}"]
        assert list(answered[name].metrics[0].per_query) == sorted(topics)
        found = np.array([metric.values for metric in answered[name]]).T
        np.testing.assert_allclose(found, [topics[topic] for topic in sorted(topics)], atol=1e-9, rtol=0)
        means = [metric.mean for metric in answered[name]]
        np.testing.assert_allclose(means, list(run[f"mean{suffix}"].values()), atol=1e-9, rtol=0)
        means = [metric.mean for metric in complete[name]]
        np.testing.assert_allclose(means, list(run[f"mean_complete{suffix}"].values()), atol=1e-9, rtol=0)


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "parquet", "pandas", "polars", "pyarrow", "dict"])
@pytest.mark.parametrize("collection", ["wtr-tables", "cacm"])
def test_every_form_of_the_same_data_in_any_order_gives_the_same_bits(
    data_dir: Path, tmp_path: Path, collection: str, form: str
) -> None:
    expected = reference(data_dir / collection)
    qrels = read_qrels(data_dir / collection / expected["qrels"])
    for name, run in expected["runs"].items():
        original = read_run(data_dir / collection / run["file"])
        want = evaluate(original, qrels, expected["columns"], score_precision="float32")
        pair = [
            in_form(original, form, tmp_path / f"run.{form}"),
            in_form(qrels, form, tmp_path / f"qrels.{form}"),
        ]
        found = evaluate(*pair, expected["columns"], score_precision="float32")
        assert found.metrics == want.metrics, name


def in_form(table: Run | Qrels, form: str, path: Path) -> Any:
    """Shuffle the rows of a run or of judgements, and return them as a frame, a dictionary or a file."""
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(table.to_columns()).sample(fraction=1.0, shuffle=True, seed=3)
    if form == "dict":
        nested: dict[str, dict[str, float]] = {}
        for query, document, value in frame.iter_rows():
            nested.setdefault(query, {})[document] = value
        return nested
    if form in ("pandas", "pyarrow"):
        pytest.importorskip(form)
        return frame.to_pandas() if form == "pandas" else frame.to_arrow()
    if form == "polars":
        return frame
    write = {"jsonl": "write_ndjson", "parquet": "write_parquet"}.get(form, "write_csv")
    getattr(frame, write)(path, **({"separator": "\t"} if form == "tsv" else {}))
    return path


@pytest.mark.parametrize("collection", ["dl21-passage", "cacm"])
def test_counts_of_absent_and_unjudged_queries_are_those_of_the_reference(
    data_dir: Path, collection: str
) -> None:
    expected = reference(data_dir / collection)
    found = measured(data_dir / collection, expected)
    for name, run in expected["runs"].items():
        assert found[name].n_unjudged == run["unjudged_queries"]
        assert found[name].n_not_retrieved == len(run["qrels_queries_missing"])


def test_repeated_documents_are_an_error_unless_they_are_skipped(data_dir: Path) -> None:
    folder = data_dir / "codec-doc"
    expected = reference(folder)
    repeating = [run for run in expected["runs"].values() if run["duplicates"]]
    assert repeating
    for run in repeating:
        with pytest.raises(DataError):
            evaluate(folder / run["file"], folder / expected["qrels"], "AP")
        with pytest.warns(DataWarning):
            evaluate(folder / run["file"], folder / expected["qrels"], "AP", on_error="skip")


def test_comparing_scores_as_64_bit_floats_changes_some_values_of_the_passage_runs(data_dir: Path) -> None:
    folder = data_dir / "dl21-passage"
    expected = reference(folder)
    single = measured(folder, expected, rel=2)
    runs = {name: folder / run["file"] for name, run in expected["runs"].items()}
    double = evaluate_many(runs, folder / expected["qrels"], expected["columns"], rel=2)
    differences = np.abs(single.array - double.array)
    assert (differences > 0).sum(axis=(0, 2)).tolist() == [33, 104, 61, 4, 2, 0]
    assert differences.max() == 0.5


def trec_eval_output(path: Path) -> dict[tuple[str, str], float]:
    values = {}
    for line in path.read_text().splitlines():
        name, topic, value = line.split()
        if _ours(name):
            values[name, topic] = float(value)
    return values


@pytest.mark.parametrize(
    ("output", "qrels", "run", "options"),
    [
        ("out.test.aq", "qrels.test", "runs/results.test", {}),
        ("out.test.aqcM", "qrels.test", "results.trunc", {"depth": 100, "missing": "zero"}),
        ("out.test.aql", "qrels.rel_level", "runs/results.test", {"rel": 2}),
        ("out.test.meas_params", "qrels.test", "runs/results.test", {}),
    ],
)
def test_trec_eval_prints_the_same_for_its_own_test_files(
    data_dir: Path, output: str, qrels: str, run: str, options: dict[str, Any]
) -> None:
    folder = data_dir / "trec_eval-tests"
    printed = trec_eval_output(folder / output)
    names = list(dict.fromkeys(name for name, _ in printed))
    found = evaluate(folder / run, folder / qrels, names, score_precision="float32", **options)
    by_name = {trec_eval_name(metric.metric): metric for metric in found}
    for name in names:
        metric = by_name[name]
        for topic, value in metric.per_query.items():
            assert value == pytest.approx(printed[name, topic], abs=5.1e-5), (name, topic)
        if not name.startswith("num_"):
            assert metric.mean == pytest.approx(printed[name, "all"], abs=5.1e-5), name
        else:
            assert metric.mean * metric.n_queries == printed[name, "all"]


def _ours(name: str) -> bool:
    # Not iprec_at_recall: this output rounds recall 0.1 of 474 documents, 47.4, down to 47.
    families = ("map_cut_", "ndcg_cut_", "P_", "recall_", "success_")
    whole = {"map", "ndcg", "recip_rank", "Rprec", "bpref", "set_P", "set_recall", "set_F"}
    return name in whole | {"num_ret", "num_rel", "num_rel_ret"} or name.startswith(families)
