"""Measure names are read as people write them, and printed in one form."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ranklens.core import RankLensError, UnknownNameError
from ranklens.metrics import (
    BadMeasureError,
    Measure,
    known_measures,
    parse_measure,
    parse_measures,
    trec_eval_name,
)
from ranklens.metrics.catalogue import CATALOGUE

IR_MEASURES = {
    "nDCG@10": "nDCG@10",
    "nDCG(dcg='exp-log2')@5": "nDCG(gain=exp)@5",
    "nDCG(dcg='log2')": "nDCG",
    "AP(rel=2)@100": "AP(rel=2)@100",
    "AP@100(rel=2)": "AP(rel=2)@100",
    "MAP": "AP",
    "MRR@10": "RR@10",
    "Bpref(rel=2)": "bpref(rel=2)",
    "IPrec(rel=2)@0.50": "IPrec(rel=2)@0.5",
    "RBP(rel=1,p=0.9)@10": "RBP(p=0.9)@10",
    "SetP": "P",
    "SetR(rel=2)": "R(rel=2)",
    "SetF": "F1",
    "NumRet(rel=1)": "NumRelRet",
    "ERR@20": "ERR@20",
    "Judged@10": "Judged@10",
}
TREC_EVAL = {
    "ndcg_cut_10": "nDCG@10",
    "ndcg_cut.10": "nDCG@10",
    "ndcg": "nDCG",
    "map": "AP",
    "map_cut_100": "AP@100",
    "recip_rank": "RR",
    "P_10": "P@10",
    "P.5": "P@5",
    "recall_1000": "R@1000",
    "success_5": "Success@5",
    "Rprec": "Rprec",
    "bpref": "bpref",
    "iprec_at_recall_0.50": "IPrec@0.5",
    "iprec_at_recall.1.00": "IPrec@1",
    "num_rel": "NumRel",
    "num_ret": "NumRet",
    "num_rel_ret": "NumRelRet",
    "set_P": "P",
    "set_recall": "R",
    "set_F": "F1",
}
RANX = {
    "ndcg@10": "nDCG@10",
    "ndcg_burges@10": "nDCG(gain=exp)@10",
    "map@100-l2": "AP(rel=2)@100",
    "mrr": "RR",
    "precision@5": "P@5",
    "recall@100": "R@100",
    "f1@10": "F1@10",
    "r-precision": "Rprec",
    "hit_rate@5": "Success@5",
    "hits@5": "NumRelRet@5",
    "rbp.95": "RBP(p=0.95)",
}


@pytest.mark.parametrize(("spelling", "name"), [*IR_MEASURES.items(), *TREC_EVAL.items(), *RANX.items()])
def test_the_spellings_of_other_tools_are_read_in_any_case(spelling: str, name: str) -> None:
    for text in (spelling, spelling.lower(), spelling.upper(), f" {spelling} "):
        assert parse_measure(text).name == name


@pytest.mark.parametrize("definition", CATALOGUE, ids=lambda definition: definition.name)
def test_a_canonical_name_reads_back_to_itself(definition: object) -> None:
    name = definition.name  # type: ignore[attr-defined]
    level = definition.level  # type: ignore[attr-defined]
    parameters = definition.parameters  # type: ignore[attr-defined]
    texts = [name] if level != "recall" else []
    texts += {"rank": [f"{name}@7"], "recall": [f"{name}@0.25"], None: []}[level]
    texts += [
        f"{text.partition('@')[0]}(rel=2.5)@7" for text in texts if "rel" in parameters and level == "rank"
    ]
    for text in texts:
        canonical = parse_measure(text).name
        assert parse_measure(canonical).name == canonical


def test_parameters_at_their_default_are_left_out_and_those_of_rbp_always_stated() -> None:
    assert parse_measure("AP(rel=1)").name == "AP"
    assert parse_measure("nDCG(gain=linear)@5").name == "nDCG@5"
    assert parse_measure("RBP").name == "RBP(p=0.8)"
    assert parse_measure("rbp_resid").name == "RBPresidual(p=0.8)"
    assert parse_measure("ERR(max_rel=3.0)").name == "ERR(max_rel=3)"


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("nDGC@10", "nDCG@10"),
        ("recip_ran", "RR"),
        ("mapp@5", "AP@5"),
        ("sucess@5", "Success@5"),
        ("bperf", "bpref"),
    ],
)
def test_an_unknown_name_lists_the_nearest_known_ones(text: str, nearest: str) -> None:
    with pytest.raises(
        UnknownNameError, match=f"unknown measure '{text}'; did you mean.*{nearest}"
    ) as caught:
        parse_measure(text)
    assert isinstance(caught.value, ValueError)
    assert caught.value.kind == "measure"


@pytest.mark.parametrize("text", ["", "@10", "quux", "nDCG@10@5", "AP(rel=2", "AP)", "(rel=2)"])
def test_what_is_no_measure_at_all_is_unknown(text: str) -> None:
    with pytest.raises(UnknownNameError, match="unknown measure"):
        parse_measure(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nDCG@0", "whole number from 1, got 0"),
        ("nDCG@-1", "whole number from 1, got -1"),
        ("P@1.5", "whole number from 1, got 1.5"),
        ("P_2.5", "whole number from 1, got 2.5"),
        ("RR@", "whole number from 1, got nothing"),
        ("AP@ten", "whole number from 1, got ten"),
        ("Rprec@10", "takes no cutoff"),
        ("IPrec", "needs a recall level from 0 to 1"),
        ("IPrec@1.5", "needs a recall level from 0 to 1"),
        ("ndcg_cut", "needs a cutoff; write ndcg_cut_10"),
        ("RBP(p=)", "is not a parameter; write name=value"),
        ("RBP(0.5)", "is not a parameter; write name=value"),
        ("RBP(p=1)", "p must be a number between 0 and 1"),
        ("RBP(p=nan)", "p must be a number between 0 and 1"),
        ("AP(rel=0)", "rel must be a number above 0, got 0"),
        ("AP(rel=high)", "rel must be a number above 0, got high"),
        ("ERR(max_rel=inf)", "max_rel must be a number above 0"),
        ("nDCG(gain=cubic)", "gain must be linear or exp"),
        ("nDCG(rel=2)@10", "nDCG has no parameter 'rel'; it takes gain"),
        ("NumRet(foo=1)", "NumRet has no parameter 'foo'; it takes none"),
        ("RBP(rel=2,max_rel=3)", "not both"),
        ("AP(rel=2,rel=3)", "rel is given twice"),
    ],
)
def test_a_bad_cutoff_or_parameter_is_named(text: str, message: str) -> None:
    with pytest.raises(BadMeasureError, match=message) as caught:
        parse_measure(text)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, RankLensError)
    assert text in str(caught.value)


def test_what_is_neither_name_nor_function_is_refused() -> None:
    with pytest.raises(BadMeasureError, match="a measure is a name or a function, got 10"):
        parse_measure(10)  # type: ignore[arg-type]


def test_several_measures_are_read_once_each_in_order() -> None:
    assert [m.name for m in parse_measures("nDCG@10")] == ["nDCG@10"]
    assert [m.name for m in parse_measures(["map", "P.5,10", "AP", "ndcg_cut.3,5"])] == [
        "AP",
        "P@5",
        "P@10",
        "nDCG@3",
        "nDCG@5",
    ]
    with pytest.raises(BadMeasureError, match="no measure was given"):
        parse_measures([])


def test_a_measure_object_stays_what_it_is() -> None:
    measure = parse_measure("AP(rel=2)@10")
    assert isinstance(measure, Measure)
    assert parse_measure(measure) is measure
    assert parse_measure("map_cut_10(rel=2)") == measure


def test_a_default_threshold_fills_in_only_where_none_was_named() -> None:
    assert parse_measure("AP").with_default_rel(2).name == "AP(rel=2)"
    assert parse_measure("AP(rel=1)").with_default_rel(2).name == "AP"
    assert parse_measure("nDCG@10").with_default_rel(2).name == "nDCG@10"
    assert parse_measure("RBP(max_rel=3)").with_default_rel(2).name == "RBP(p=0.8,max_rel=3)"


def test_every_known_measure_is_listed_with_a_definition_in_a_line() -> None:
    known = dict(known_measures(plugins=False))
    assert list(known)[:3] == ["nDCG@k", "AP@k", "RR@k"]
    assert {name.partition("@")[0] for name in known} == {definition.name for definition in CATALOGUE}
    assert all(definition and "\n" not in definition for definition in known.values())


@pytest.mark.parametrize(
    "spelling", [*(name for name in TREC_EVAL if "." not in name), "iprec_at_recall_0.50"]
)
def test_trec_eval_names_come_back_from_the_canonical_ones(spelling: str) -> None:
    assert trec_eval_name(parse_measure(spelling).name) == spelling


def test_a_measure_unknown_to_trec_eval_keeps_its_name() -> None:
    assert trec_eval_name("ERR@20") == "ERR@20"
    assert trec_eval_name("nDCG(gain=exp)@10") == "nDCG(gain=exp)@10"
    assert trec_eval_name("AP(rel=2)") == "map"


def test_importing_the_room_loads_nothing_heavy() -> None:
    heavy = "polars scipy pandas pyarrow jax torch click tabulate array_api_compat importlib.metadata"
    code = f"import sys, ranklens.metrics; print([m for m in {heavy.split()} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("asked", "advice"),
    [
        ("nDCG@10@5", "nDCG@10?"),
        ("nDCG@10)", "nDCG@10?"),
        ("nDCG(@10", "nDCG@10?"),
        ("nDGC@20", "nDCG@20?"),
        ("nDGC@x", "nDCG?"),
        ("APP@10)", "AP@10"),
        ("IPrec@0.5@0.2", "IPrec@0.5"),
    ],
)
def test_advice_does_not_repeat_the_mistake(asked, advice):
    with pytest.raises(UnknownNameError) as caught:
        parse_measure(asked)
    assert advice in caught.value.advice
    for name in caught.value.advice.removeprefix("did you mean ").rstrip("?").split(", "):
        parse_measure(name)
