"""Measures as trec_eval prints their names."""

from __future__ import annotations

from ranklens.metrics.names import MeasureLike, parse_measure

_WHOLE = {
    "nDCG": "ndcg",
    "AP": "map",
    "RR": "recip_rank",
    "P": "set_P",
    "R": "set_recall",
    "F1": "set_F",
    "Rprec": "Rprec",
    "bpref": "bpref",
    "NumRel": "num_rel",
    "NumRet": "num_ret",
    "NumRelRet": "num_rel_ret",
}
_CUT = {"nDCG": "ndcg_cut", "AP": "map_cut", "P": "P", "R": "recall", "Success": "success"}


def trec_eval_name(measure: MeasureLike) -> str:
    """Return trec_eval's name of a measure; the canonical one where trec_eval has none.

    trec_eval states the relevance threshold on its command line, so the name leaves it out.

    Examples
    --------
    >>> [trec_eval_name(name) for name in ("nDCG@10", "AP(rel=2)", "IPrec@0.5", "ERR@20")]
    ['ndcg_cut_10', 'map', 'iprec_at_recall_0.50', 'ERR@20']
    """
    read = parse_measure(measure)
    name, cutoff = read.definition.name, read.cutoff
    if any(key != "rel" for key, _ in read.arguments):
        return read.name
    if name == "IPrec" and cutoff is not None:
        return f"iprec_at_recall_{cutoff:.2f}"
    if cutoff is None:
        return _WHOLE.get(name, read.name)
    return f"{_CUT[name]}_{cutoff}" if name in _CUT else read.name
