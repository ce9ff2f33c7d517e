"""``ranklens explain``: features, pairs of documents and changes of models."""

import csv
import io
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from ranklens.cli.formats import SCHEMA_VERSION
from ranklens.explain import explain_change, listwise, pairwise, read_letor
from ranklens.explain.models.files import read_model

NAMES = ["bm25", "clicks", "price"]
OLD, NEW, DATA = "old.txt", "new.txt", "test.letor"


@pytest.fixture
def command(command):
    """The command in a folder with two linear models and ten queries."""
    generator = np.random.default_rng(0)
    lines = []
    for q in range(10):
        x = np.round(generator.normal(size=(8, 3)), 3)
        grades = np.digitize(x[:, 0] + x[:, 1], [0.0, 1.0])
        for d, (row, grade) in enumerate(zip(x, grades, strict=True)):
            features = " ".join(f"{i}:{value}" for i, value in enumerate(row, 1))
            lines.append(f"{grade} qid:q{q} {features} # docid = q{q}d{d}")
    Path(DATA).write_text("\n".join(lines) + "\n")
    Path(OLD).write_text("## Linear Regression\n## Lambda = 1e-10\n0:0.0 1:1.0 2:0.1 3:0.2\n")
    Path(NEW).write_text("## Linear Regression\n## Lambda = 1e-10\n0:0.0 1:1.0 2:0.8 3:0.2\n")
    Path("names.txt").write_text("\n".join(NAMES) + "\n")
    Path("names.csv").write_text(",".join(NAMES) + "\n")
    return command


def model(path=OLD):
    return read_model(path, NAMES)


def queries():
    return read_letor(DATA, names=NAMES)


def parsed(done):
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_features_are_ranked_by_how_much_they_move_the_measure(command):
    done = command("explain", OLD, DATA, "--names", ",".join(NAMES), "-m", "nDCG@5")
    assert done.exit_code == 0, done.output
    found = listwise(model(), queries(), "nDCG@5")
    assert f"nDCG@5 is {found.baseline.mean:.4f} over 10 queries" in done.stdout
    rows = [line.split() for line in done.stdout.splitlines() if line.split()[:1] in ([n] for n in NAMES)]
    assert [row[0] for row in rows] == [name for name, _ in found.ranked()]
    assert rows[0][1] == f"{found.ranked()[0][1]:+.4f}"
    assert "the model is asked about combinations of features that may never occur" in done.stdout
    assert done.stderr == ""


def test_json_says_all(command):
    done = command("explain", OLD, DATA, "--names", "names.txt", "--format", "json", "--seed", "3")
    found = parsed(done)
    assert found["schema_version"] == SCHEMA_VERSION
    assert found["command"] == "explain"
    assert [file["role"] for file in found["inputs"]] == ["model", "data"]
    assert len(found["inputs"][0]["sha256"]) == 64
    expected = listwise(model(), queries(), "nDCG@10", seed=3)
    assert found["importances"] == expected.importances
    assert found["per_query"]["bm25"] == dict(expected["bm25"].per_query)
    assert found["options"]["n_repeats"] == 10


def test_long_names_and_groups_can_be_told_apart(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    stem = "tf_idf_of_the_body_without_stop_words_"
    names = [f"{stem}{end}" for end in ("sum_of_all_terms", "mean_of_all_terms", "max")]
    Path("long.txt").write_text("\n".join(names) + "\n")
    done = command("explain", OLD, DATA, "--names", "long.txt", "--n-repeats", "1")
    cells = {line.split()[0] for line in done.stdout.splitlines() if line.startswith("tf_idf")}
    assert len(cells) == 3
    assert all(len(cell) <= 40 for cell in cells)
    for groups, n in ((f"{names[0]}+{names[1]}", 2), (f"{names[0]}+{names[2]}", 2)):
        done = command("explain", OLD, DATA, "--names", "long.txt", "--n-repeats", "1", "--groups", groups)
        assert f"one group: {', '.join(groups.split('+'))}" in " ".join(done.stdout.split())
        cells = {line.split()[0] for line in done.stdout.splitlines() if line.startswith("tf_idf")}
        assert len(cells) == n


def test_groups_are_shuffled_as_one(command):
    options = ("--names", "names.txt", "--format", "json")
    given = parsed(command("explain", OLD, DATA, "--groups", "bm25+price", *options))
    assert set(given["importances"]) == {"bm25+price", "clicks"}
    found = parsed(command("explain", OLD, DATA, "--groups", "auto", "--threshold", "0.01", *options))
    assert set(found["importances"]) == {"bm25+clicks+price"}
    done = command("explain", OLD, DATA, "--groups", "bm25+price,clicks", "--query", "q3", *options[:2])
    assert "one group: bm25, price\n" in done.stdout
    assert "over 1 query, and" in done.stdout
    assert set(parsed(command("explain", OLD, DATA, "--groups", "auto", *options))["importances"]) == set(
        NAMES
    )


def test_a_pair_of_documents_is_explained(command):
    done = command("explain", OLD, DATA, "--pair", "q3d1", "q3d4", "--names", "names.txt")
    assert done.exit_code == 0, done.output
    (query,) = (q for q in queries() if q.query_id == "q3")
    found = pairwise(model(), query.features[1], query.features[4])
    assert f"q3d4 (B) is scored {found.score_b:.4f} and q3d1 (A) {found.score_a:.4f}" in done.stdout
    name, value = found.ranked()[0]
    assert any(line.startswith(name) and f"{value:+.4f}" in line for line in done.stdout.splitlines())
    written = parsed(
        command("explain", OLD, DATA, "--pair", "q3d1", "q3d4", "--names", "names.txt", "--format", "json")
    )
    assert written["contributions"] == dict(found.contributions)
    assert (written["document_a"], written["document_b"]) == ("q3d1", "q3d4")


def test_a_sampled_pair_has_standard_errors(command):
    how = ("--method", "antithetic", "--max-rows", "32", "--format", "csv")
    done = command("explain", OLD, DATA, "--pair", "q3d1", "q3d4", "--names", "names.txt", *how)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert list(rows[0]) == ["feature", "A", "B", "contribution", "standard_error"]


def test_two_models_are_compared(command):
    done = command("explain", OLD, DATA, "--compare-with", NEW, "--names", "names.txt", "--top", "3")
    assert done.exit_code == 0, done.output
    found = explain_change(model(), model(NEW), queries(), "nDCG@10")
    assert str(found).splitlines()[0] in done.stdout
    for caption in ("Queries that moved", "Swaps of documents", "Features"):
        assert caption in done.stdout
    assert f"and {len(found.moved()) - 3} smaller queries (--top 0 shows all)" in done.stdout
    assert f"and {len(found.swaps) - 3} smaller swaps (--top 0 shows all)" in done.stdout
    largest = found.swaps[0]
    start = [largest.query_id, largest.risen]
    shown = next(line.split() for line in done.stdout.splitlines() if line.split()[:2] == start)
    most = max(largest.features.values(), key=largest.share.__mul__)
    assert float(shown[-1]) == pytest.approx(most, abs=1e-4)
    written = parsed(
        command("explain", OLD, DATA, "--compare-with", NEW, "--names", "names.txt", "--format", "json")
    )
    assert written["features"] == found.importances
    assert len(written["swaps"]) == len(found.swaps)
    assert written["swaps"][0]["features"].keys() == set(NAMES)


def test_a_file_may_come_from_standard_input(command):
    done = command(
        "explain", OLD, "-", "--names", "names.txt", "--format", "json", input=Path(DATA).read_text()
    )
    assert parsed(done)["importances"] == listwise(model(), queries(), "nDCG@10").importances
    assert done.exit_code == 0


@pytest.mark.parametrize("form", ["table", "markdown", "latex", "csv"])
@pytest.mark.parametrize("question", [(), ("--pair", "q1d0", "q1d1"), ("--compare-with", NEW)])
def test_every_format_answers_every_question(command, form, question):
    done = command("explain", OLD, DATA, "--names", "names.txt", "--format", form, *question)
    assert done.exit_code == 0, done.output
    assert "bm25" in done.stdout or form == "csv"


def test_only_the_top_rows_are_shown(command):
    done = command("explain", OLD, DATA, "--names", "names.txt", "--top", "1")
    assert "and 2 smaller features (--top 0 shows all)" in done.stdout
    assert "smaller" not in command("explain", OLD, DATA, "--names", "names.txt", "--top", "0").stdout


@pytest.mark.parametrize("question", [(), ("--pair", "q1d0", "q1d1"), ("--compare-with", NEW)])
def test_it_is_drawn(command, question):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    for name, start in (("why.png", b"\x89PNG"), ("why.svg", b"<?xml")):
        done = command("explain", OLD, DATA, "--names", "names.txt", "--plot", name, *question)
        assert done.exit_code == 0, done.output
        first = Path(name).read_bytes()
        assert first.startswith(start)
        command("explain", OLD, DATA, "--names", "names.txt", "--plot", name, *question)
        assert Path(name).read_bytes() == first
    assert b"bm25" in first
    assert (
        "old.txt → new.txt on" if "--compare-with" in question else "old.txt on test.letor"
    ).encode() in first
    assert b": from q1d0 (A) to q1d1 (B)" in first or "--pair" not in question


def test_a_table_is_aligned_by_the_names_of_its_columns(command):
    lines = ["sku,price,rel,bm25,clicks,colour,qid"]
    for query in queries():
        for document, row in zip(query.documents, query.features, strict=True):
            values = dict(zip(NAMES, row, strict=True))
            grade = int(query.grades[document])
            lines.append(
                f"{document},{values['price']},{grade},{values['bm25']},{values['clicks']},red,{query.query_id}"
            )
    Path("test.csv").write_text("\n".join(lines) + "\n")
    columns = ("--columns", "query=qid,document=sku,grade=rel")
    found = parsed(command("explain", OLD, "test.csv", "--names", "names.txt", *columns, "--format", "json"))
    assert found["importances"] == listwise(model(), queries(), "nDCG@10").importances
    done = command("explain", OLD, "test.csv", "--names", "names.txt")
    assert done.exit_code == 1
    assert "test.csv has no column 'query_id'; add --columns query=NAME" in done.stderr
    done = command("explain", OLD, "test.csv", "--names", "bm25,clicks,size", *columns)
    assert done.exit_code == 3
    assert "no column 'size'" in done.stderr


SHOP = """query_id,document,grade,bm25,clicks,price
01,00420,1,1,2,3
01,420,0,2,1,1
01,12345678901234567890123,,3,3,2
"""


@pytest.mark.parametrize("separator", [",", "\t"])
def test_the_ids_of_a_table_are_text(command, separator):
    name = "shop.csv" if separator == "," else "shop.tsv"
    Path(name).write_text(SHOP.replace(",", separator))
    done = command("explain", OLD, name, "--names", "names.txt", "--query", "01", "--pair", "00420", "420",
                   "--format", "json")  # fmt: skip
    found = parsed(done)
    assert (found["document_a"], found["document_b"]) == ("00420", "420")
    assert found["delta"] == pytest.approx(1.0 - 0.1 - 0.4)
    done = command("explain", OLD, name, "--names", "names.txt", "--pair", "420", "12345678901234567890123")
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("1,2,3\n", "1,2\n", "shop.csv:2: 5 columns, and 6 are expected"),
        ("1,2,3\n", "1,2,3,4\n", "shop.csv:2: 7 columns, and 6 are expected"),
        ("00420,1,1,2,3\n", '"00420",1,1,2\n', "shop.csv:2: 5 columns, and 6 are expected"),
        ("01,420", ",420", "shop.csv: row 2 has no query id"),
        ("01,420", "01,", "shop.csv: row 2 has no document id"),
        ("2,1,1", "x,1,1", "column 'bm25' holds values that are no numbers"),
    ],
)
def test_what_is_wrong_in_a_table_is_told(command, old, new, why):
    Path("shop.csv").write_text(SHOP.replace(old, new))
    done = command("explain", OLD, "shop.csv", "--names", "names.txt")
    assert done.exit_code == 3
    assert why in done.stderr


def test_a_pickle_is_refused_unless_it_is_trusted(command):
    linear = pytest.importorskip("sklearn.linear_model", reason="the model needs scikit-learn")
    fitted = linear.LinearRegression().fit(np.eye(3), [1.0, 0.1, 0.2])
    Path("model.pkl").write_bytes(pickle.dumps(fitted))
    done = command("explain", "model.pkl", DATA, "--names", "names.txt")
    assert done.exit_code == 1
    assert "model.pkl is a pickle" in done.stderr
    assert "add --allow-pickle" in done.stderr
    assert command("explain", "model.pkl", DATA, "--names", "names.txt", "--allow-pickle").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (("missing.txt", DATA), 1, "MODEL: no such file: missing.txt"),
        ((OLD, "missing.letor"), 1, "DATA: no such file: missing.letor"),
        ((OLD, DATA, "--compare-with", "no.txt"), 1, "--compare-with: no such file: no.txt"),
        ((DATA, DATA), 3, "this is no model"),
        ((OLD, OLD), 3, "the grade is not a number"),
        ((OLD, DATA, "--pair", "q1d0", "q9x"), 1, "unknown document 'q9x'; did you mean q9d"),
        ((OLD, DATA, "--pair", "q1d0", "q2d0"), 1, "no query has both documents, q1d0 and q2d0"),
        ((OLD, DATA, "--pair", "q1d0", "q1d0"), 1, "--pair names the document q1d0 twice; name two"),
        ((OLD, DATA, "--query", "q11"), 1, "unknown query 'q11'; did you mean q1"),
        ((OLD, DATA, "-m", "nDGC"), 1, "unknown measure 'nDGC'; did you mean nDCG?"),
        ((OLD, DATA, "--groups", "bm25+x"), 1, "unknown feature"),
        ((OLD, DATA, "--plot", "why.pdf"), 1, "--plot: why.pdf must end in .png or .svg"),
        ((OLD, DATA, "--plot", "no/why.png"), 1, "--plot: no such folder: no"),
        ((OLD, DATA, "--pair", "a", "b", "--compare-with", NEW), 2, "ask one at a time"),
        ((OLD, DATA, "-m", "AP", "-m", "RR"), 2, "explained for one measure; got AP and RR"),
        ((OLD, DATA, "--first", "7"), 2, "--first"),
        ((OLD, "names.csv", "--columns", "foo=x"), 1, "--columns: no field 'foo'; there are query, document"),
        (
            (OLD, "names.csv", "--columns", "query=9"),
            1,
            "names.csv has no column 9; add --columns query=NAME",
        ),
        ((OLD, DATA, "--names", "a,b"), 3, "the model looks at feature 3, and rows have 2"),
    ],
)
def test_what_is_wrong_is_said_with_its_exit_code(command, arguments, code, why):
    done = command("explain", *arguments)
    assert done.exit_code == code
    assert why in done.stderr
    assert "Traceback" not in done.stderr


def test_documents_of_several_queries_need_the_query(command):
    text = Path(DATA).read_text()
    Path(DATA).write_text(text.replace("q2d", "same").replace("q1d", "same"))
    done = command("explain", OLD, DATA, "--pair", "same0", "same1")
    assert done.exit_code == 1
    assert "2 queries have both documents (q1, q2, …); add --query ID" in done.stderr
    assert command("explain", OLD, DATA, "--pair", "same0", "same1", "--query", "q2").exit_code == 0


def test_a_broken_line_is_told(command):
    Path(DATA).write_text(Path(DATA).read_text() + "x qid:q1 1:2\n")
    done = command("explain", OLD, DATA)
    assert done.exit_code == 3
    assert "test.letor:81: the grade is not a number" in done.stderr


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost"])
def test_models_of_libraries_are_read_from_their_files(command, library):
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    rows = np.concatenate([query.features for query in queries()])
    grades = np.concatenate([list(query.grades.values()) for query in queries()])
    if library == "lightgbm":
        data = module.Dataset(rows, grades, feature_name=NAMES)
        booster = module.train({"verbose": -1, "min_data_in_leaf": 4, "num_threads": 1}, data, 5)
        booster.save_model("model.txt")
    elif library == "xgboost":
        data = module.DMatrix(rows, grades, feature_names=NAMES)
        booster = module.train({"max_depth": 2, "nthread": 1}, data, 5)
        booster.save_model("model.ubj")
    else:
        booster = module.CatBoostRegressor(iterations=5, depth=2, verbose=0, thread_count=1)
        booster.fit(module.Pool(rows, grades, feature_names=NAMES))
        booster.save_model("model.cbm")
    file = {"lightgbm": "model.txt", "xgboost": "model.ubj", "catboost": "model.cbm"}[library]
    found = parsed(command("explain", file, DATA, "--format", "json"))
    assert set(found["importances"]) == set(NAMES)
    assert found["importances"]["bm25"] > 0.0


def test_names_in_quotes_may_hold_what_separates_names(command):
    Path("signs.txt").write_text('title+body\n a "b" \nx,y\n')
    done = command(
        "explain", OLD, DATA, "--names", "signs.txt", "--groups", '"title+body"+"a ""b""",x', "--quiet"
    )
    assert "unknown feature 'x'" in done.stderr
    assert """in double quotes: '"x,y"+...'""" in done.stderr
    found = parsed(command("explain", OLD, DATA, "--names", "signs.txt", "--format", "json",
                           "--groups", '"title+body"+"a ""b"""'))  # fmt: skip
    assert sorted(found["importances"]) == ['title+body+a "b"', "x,y"]
    assert '"title+b' in command("explain", OLD, DATA, "--names", "signs.txt", "--groups", '"title+b').stderr


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("--pair", "q1d0", "q1d1", "-m", "RR"), "measure"),
        (("--pair", "q1d0", "q1d1", "--n-repeats", "3"), "n-repeats"),
        (("--compare-with", NEW, "--n-repeats", "3"), "n-repeats"),
        (("--method", "exact"), "method"),
        (("--max-rows", "99"), "max-rows"),
        (("--threshold", "0.5", "--groups", "a+b"), "threshold"),
        (("--columns", "query=q"), "columns"),
        (("--categories", "codes"), "categories"),
    ],
)
def test_an_option_without_effect_is_told(command, arguments, name):
    done = command("explain", OLD, DATA, "--names", "a,b,c", *arguments)
    assert done.exit_code == 0, done.output
    assert f"warning: --{name} has no effect here" in done.stderr


def test_a_pair_of_a_table_needs_no_grades(command):
    rows = [line.split(",") for line in SHOP.splitlines()]
    Path("shop.csv").write_text("\n".join(",".join(row[:2] + row[3:]) for row in rows))
    done = command("explain", OLD, "shop.csv", "--names", "names.txt", "--pair", "00420", "420")
    assert done.exit_code == 0, done.output
    assert "no column 'grade'" in command("explain", OLD, "shop.csv", "--names", "names.txt").stderr


def test_the_columns_that_may_hold_grades_are_listed(command):
    names = [f"f{i}" for i in range(20)]
    Path("linear.txt").write_text("## Linear Regression\n## Lambda = 1e-10\n0:0.0 1:1.0 20:0.1\n")
    Path("wide.csv").write_text(",".join([*names, "query_id", "document", "shop", "relevance"]) + "\n")
    done = command("explain", "linear.txt", "wide.csv", "--names", ",".join(names))
    assert done.exit_code == 1
    assert "add --columns grade=NAME, one of 'relevance', 'query_id', 'document', 'shop'" in done.stderr
