"""Measures of rankings: names, definitions, and their values by query."""

from ranklens.metrics.coverage import CoveredMean, mean_with_coverage
from ranklens.metrics.definitions import BadMeasureError, Definition, Measure
from ranklens.metrics.evaluate import evaluate, evaluate_many
from ranklens.metrics.names import known_measures, parse_measure, parse_measures
from ranklens.metrics.rbo import RBO, rbo
from ranklens.metrics.trec_names import trec_eval_name

__all__ = [
    "RBO",
    "BadMeasureError",
    "CoveredMean",
    "Definition",
    "Measure",
    "evaluate",
    "evaluate_many",
    "known_measures",
    "mean_with_coverage",
    "parse_measure",
    "parse_measures",
    "rbo",
    "trec_eval_name",
]
