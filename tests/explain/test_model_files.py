"""Models from files that need a library, or trust."""

import gzip
import pickle
import sys

import numpy as np
import pytest

from ranklens.core import DataError, MissingDependencyError
from ranklens.explain import load_model
from ranklens.explain.model_files import UnsafeModelError

LINEAR = b"## Linear Regression\n## Lambda = 1e-10\n0:0.5 1:2.0 2:-1.0\n"


class Bomb:
    """What a malicious pickle may hold."""

    def __reduce__(self):
        return exec, ("raise SystemExit('the pickle ran')",)


def write(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", ["model.txt", "model.pkl.txt", "model.txt.gz"])
def test_a_model_is_known_by_what_is_in_it(tmp_path, name):
    data = gzip.compress(LINEAR) if name.endswith("gz") else LINEAR
    model = load_model(write(tmp_path, name, data), ["bm25", "price"])
    assert model.names == ("bm25", "price")
    assert model.score(np.asarray([[1.0, 0.25]])).tolist() == [2.25]


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", ["model.txt", "model.pkl", "model.pkl.gz"])
def test_a_pickle_is_not_opened_unless_it_is_trusted(tmp_path, name, protocol):
    data = pickle.dumps(Bomb(), protocol)
    path = write(tmp_path, name, gzip.compress(data) if name.endswith("gz") else data)
    with pytest.raises(UnsafeModelError, match="loading it would run whatever code it holds"):
        load_model(path, ["bm25"])


def test_a_trusted_pickle_is_adapted(tmp_path):
    linear = pytest.importorskip("sklearn.linear_model", reason="the model needs scikit-learn")
    fitted = linear.LinearRegression().fit(np.eye(2), [1.0, 0.0])
    model = load_model(write(tmp_path, "m.pkl", pickle.dumps(fitted)), ["bm25", "price"], allow_pickle=True)
    rows = np.asarray([[3.0, 4.0]])
    assert model.score(rows).tolist() == fitted.predict(rows).tolist()
    path = write(tmp_path, "list.pkl", pickle.dumps([1, 2]))
    with pytest.raises(DataError, match=r"list.pkl: no adapter for a list"):
        load_model(path, ["bm25"], allow_pickle=True)


@pytest.mark.parametrize(
    ("name", "data", "allow"),
    [
        ("m.pkl", b"not a pickle", True),
        ("m.bin", b"CBM1 and nothing", False),
        ("m.ubj", b"{L\x00\x00\x00\x00\x00\x00\x00\x07learner", False),
        ("m.txt", b"1 qid:1 1:0.5\n", False),
        ("m.bin", b"\xff\xfe\x00", False),
    ],
)
def test_what_is_no_model_is_said(tmp_path, name, data, allow):
    for library in ("catboost", "xgboost"):
        pytest.importorskip(library, reason=f"{library} is not installed")
    with pytest.raises(DataError, match=name):
        load_model(write(tmp_path, name, data), ["bm25"], allow_pickle=allow)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "the file is empty"),
        ("{}", 'neither the "learner" of an XGBoost model nor the "features_info" of a CatBoost model'),
        ('{"version": [3, 2, 0], "lear', "it is no model, or cut off"),
        ('{"learner": {"gradient_booster": {}}}', r"XGBoost model in JSON.*it lacks 'learner_model_param'"),
        (
            '{"learner": {"gradient_boo',
            "XGBoost model in JSON.*it breaks off or is no JSON at line 1, column 14",
        ),
        ('{"features_info": {}, "scale_and_bias": [1, [0]]}', r"CatBoost model in JSON.*it lacks 'trees'"),
        (
            '{"features_info": {}, "scale_and_bias": [1, [0]], "oblivious_trees": []}',
            "CatBoost model in JSON.*it has no features",
        ),
    ],
)
@pytest.mark.parametrize("names", [None, ["bm25"]])
def test_what_is_wrong_with_a_text_is_said(tmp_path, text, what, names):
    with pytest.raises(DataError, match=f"model.txt: .*{what}"):
        load_model(write(tmp_path, "model.txt", text.encode()), names)


def test_a_binary_model_that_is_cut_off_is_refused_wherever_it_ends(tmp_path):
    catboost = pytest.importorskip("catboost", reason="catboost is not installed")
    rows = np.random.default_rng(0).normal(size=(60, 4))
    fitted = catboost.CatBoostRegressor(iterations=4, depth=2, verbose=False, allow_writing_files=False)
    fitted.fit(rows, rows[:, 0]).save_model(str(tmp_path / "whole.cbm"))
    data = (tmp_path / "whole.cbm").read_bytes()
    assert len(load_model(tmp_path / "whole.cbm").names) == 4
    for length in [*range(4, 200, 7), *range(200, len(data), 61), len(data) - 1]:
        with pytest.raises(DataError, match=r"m.cbm: .*it is cut off: it holds \d+ of \d+ bytes"):
            load_model(write(tmp_path, "m.cbm", data[:length]))


def test_a_missing_library_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "catboost", None)
    with pytest.raises(MissingDependencyError, match=r"CatBoost needs catboost, .*'ranklens\[explain\]'"):
        load_model(write(tmp_path, "m.cbm", b"CBM1"))


def test_the_dump_of_lightgbm_is_called_by_its_name(tmp_path):
    path = tmp_path / "model.json"
    path.write_text('{"name": "tree", "max_feature_idx": 3, "tree_info": []}')
    with pytest.raises(DataError, match=r"dump_model.*save_model\('model.txt'\)"):
        load_model(path)
