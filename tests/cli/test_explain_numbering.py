"""``ranklens explain``: which column of a model a number of a LETOR file is, and what a line leaves out."""

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from ranklens.explain import listwise, load_model, read_letor

DATA = "rank.train"
RANKLIB = "## LambdaMART\n## No. of trees = 1\n<ensemble><tree id='1' weight='1.0'>{}</tree></ensemble>"
SPLIT = (
    "<split><feature>{}</feature><threshold>0.0</threshold><split pos='left'><output>0.0</output></split>"
    "<split pos='right'><output>1.0</output></split></split>"
)
LINEAR = "## Linear Regression\n0:0.0 2:1.0\n"


@pytest.fixture
def command(command):
    """The command in a folder with 40 queries of 10 documents, five features of which a line has a few."""
    generator = np.random.default_rng(0)
    lines = []
    for _ in range(40):
        x = np.round(generator.normal(size=(10, 5)), 3)
        x[generator.random(x.shape) < 0.3] = 0.0
        grades = np.digitize(x[:, 1] - x[:, 4], [0.0, 1.0])
        for row, grade in zip(x, grades, strict=True):
            present = " ".join(f"{i}:{value}" for i, value in enumerate(row, 1) if value)
            lines.append(f"{grade} {present}")
    Path(DATA).write_text("\n".join(lines) + "\n")
    Path(f"{DATA}.query").write_text("10\n" * 40)
    return command


def lightgbm_model(columns=None):
    """Train on the file itself, or on the features as an array."""
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    if columns is None:
        data = lightgbm.Dataset(DATA, params={"verbose": -1})
    else:
        queries = read_letor(DATA)
        rows = np.concatenate([query.features for query in queries])[:, columns]
        grades = np.concatenate([list(query.grades.values()) for query in queries])
        data = lightgbm.Dataset(rows, grades, group=[10] * 40)
    settings = {"objective": "lambdarank", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5}
    booster = lightgbm.train(settings, data, 5)
    booster.save_model("model.txt")
    return booster


def xgboost_model():
    """Train on the file itself."""
    xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed")
    with warnings.catch_warnings():
        # Reading of files is deprecated there.
        warnings.simplefilter("ignore")
        data = xgboost.DMatrix(f"{DATA}?format=libsvm", nthread=1)
        data.set_group([10] * 40)
        booster = xgboost.train({"objective": "rank:ndcg", "nthread": 1, "max_depth": 3}, data, 5)
        booster.save_model("model.json")
        return booster.predict(data, output_margin=True)


def baseline(done):
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["baseline"]


def ndcg(scores):
    queries = read_letor(DATA)
    parts = iter(np.split(np.asarray(scores), 40))
    column = [np.asarray(next(parts))[:, None] for _ in queries]
    made = [
        type(query).of(query.query_id, query.documents, one, query.grades)
        for query, one in zip(queries, column, strict=True)
    ]
    from ranklens.explain import adapt

    return listwise(adapt(lambda x: x[:, 0], ["score"]), made, "nDCG@10", n_repeats=1).baseline.mean


def mean(done):
    return np.mean(list(baseline(done)["per_query"].values()))


def explained(command, model, *options):
    return command("explain", model, DATA, "--n-repeats", "1", "--format", "json", *options)


def test_a_lightgbm_model_of_the_file_itself_counts_from_zero(command):
    booster = lightgbm_model()
    done = explained(command, "model.txt", "--first", "0")
    assert done.stderr == ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = ndcg(booster.predict(DATA))
    assert mean(done) == pytest.approx(expected, abs=1e-12)
    assert mean(explained(command, "model.txt", "--first", "1")) < expected


@pytest.mark.parametrize("columns", [None, [0, 1, 2, 3, 4]])
def test_one_feature_less_than_a_model_that_never_looks_at_its_first_is_refused(command, columns):
    if columns is not None:
        # The first feature is the same for all, and the last is missing in what is explained.
        lines = [re.sub(r" 1:\S+", "", line) for line in Path(DATA).read_text().splitlines()]
        Path(DATA).write_text("\n".join(lines) + "\n")
    lightgbm_model(columns)
    if columns is not None:
        Path(DATA).write_text("\n".join(re.sub(r" 5:\S+", "", line) for line in lines) + "\n")
    done = explained(command, "model.txt")
    assert done.exit_code == 1
    assert "its first may be feature 0 or 1: add --first 0" in done.stderr
    assert "--first 1" in done.stderr
    assert explained(command, "model.txt", "--first", "1").exit_code == 0


def test_a_lightgbm_model_of_an_array_counts_from_one(command):
    booster = lightgbm_model([0, 1, 2, 3, 4])
    done = explained(command, "model.txt")
    assert done.stderr == ""
    rows = np.concatenate([query.features for query in read_letor(DATA)])
    assert mean(done) == pytest.approx(ndcg(booster.predict(rows)), abs=1e-12)


def test_an_xgboost_model_of_the_file_itself_misses_what_a_line_leaves_out(command):
    expected = ndcg(xgboost_model())
    done = explained(command, "model.json", "--first", "0")
    assert mean(done) == pytest.approx(expected, abs=1e-12)
    assert mean(explained(command, "model.json", "--missing", "zero", "--first", "0")) != pytest.approx(
        expected, abs=1e-3
    )


def test_what_the_counts_do_not_say_is_asked(command):
    lightgbm_model()
    text = Path(DATA).read_text()
    Path(DATA).write_text("\n".join(" ".join(w for w in line.split() if w[:2] != "5:")
                                    for line in text.splitlines()) + "\n")  # fmt: skip
    done = explained(command, "model.txt")
    assert done.exit_code == 1
    assert "never looks at Column_0, so its first may be feature 0 or 1: add --first 0" in done.stderr
    assert explained(command, "model.txt", "--first", "0").exit_code == 0


def test_models_that_read_a_file_differently_need_a_word(command):
    xgboost_model()
    lightgbm_model()
    both = ("--compare-with", "model.json", "--names", "a,b,c,d,e,f")
    done = explained(command, "model.txt", *both, "--first", "0")
    assert done.exit_code == 1
    assert "the two models read DATA differently" in done.stderr
    assert "add --missing zero|nan" in done.stderr


@pytest.mark.parametrize("text", [RANKLIB.format(SPLIT.format(2)), LINEAR])
def test_a_ranklib_model_is_as_wide_as_the_data(command, text):
    Path("model.xml").write_text(text)
    done = explained(command, "model.xml")
    assert done.stderr == ""
    found = json.loads(done.stdout)["importances"]
    assert list(found) == ["1", "2", "3", "4", "5"]
    expected = listwise(load_model("model.xml"), read_letor(DATA), "nDCG@10", n_repeats=1)
    assert found == expected.importances
    assert {name for name, value in found.items() if value} == {"2"}


def test_a_file_without_queries_asks_for_the_options_of_the_command(command):
    Path("few.letor").write_text("1 1:0.5 2:1\n0 1:1 2:2\n")
    Path("sizes.txt").write_text("2\n")
    Path("linear.txt").write_text(LINEAR)
    done = command("explain", "linear.txt", "few.letor")
    assert done.exit_code == 3
    assert "add --query-sizes FILE" in done.stderr
    assert command("explain", "linear.txt", "few.letor", "--query-sizes", "sizes.txt").exit_code == 0
    Path("few.letor").write_text("1 qid:1 1:0.5 2:1\n0 qid:1 1:1 2:2\n")
    done = command("explain", "linear.txt", "few.letor", "--query-sizes", "sizes.txt")
    assert "--query-sizes is given" in done.stderr


def test_a_dump_with_names_asks_for_their_order(command):
    tree = {"nodeid": 0, "split": "bm25", "split_condition": 0.5, "yes": 1, "no": 2, "missing": 1}
    tree["children"] = [{"nodeid": 1, "leaf": 1.0}, {"nodeid": 2, "leaf": 2.0}]
    Path("dump.json").write_text(json.dumps([tree]))
    Path("few.letor").write_text("1 qid:1 1:0.5 # docid = a\n0 qid:1 1:0 # docid = b\n")
    Path("few.csv").write_text("query_id,document,grade,bm25\n1,a,1,0.5\n1,b,0,0\n")
    done = command("explain", "dump.json", "few.letor")
    assert done.exit_code == 1
    assert "add --names" in done.stderr
    for given in (["few.letor", "--names", "bm25"], ["few.csv"]):
        done = command("explain", "dump.json", *given, "--pair", "a", "b", "--query", "1")
        assert done.exit_code == 0, done.stderr
        assert "bm25" in done.stdout
