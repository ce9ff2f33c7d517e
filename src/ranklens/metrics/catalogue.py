"""The measures that ranklens knows, with every name that people give them."""

from __future__ import annotations

from ranklens.kernels import measures_binary as binary
from ranklens.kernels import measures_counts as counts
from ranklens.kernels import measures_gain as graded
from ranklens.metrics.definitions import Definition

CATALOGUE: tuple[Definition, ...] = (
    Definition(
        "nDCG",
        graded.ndcg,
        "sum of gain / log2(rank + 1) over that of all judged documents in their best order; gain is the "
        "grade, or 2^grade - 1 with gain=exp; a negative grade gains 0",
        ("ndcg_cut", "ndcg_burges", "normalized_discounted_cumulative_gain"),
    ),
    Definition(
        "AP",
        binary.average_precision,
        "precision at the rank of each relevant document, summed and divided by the number of relevant "
        "documents, also at a cutoff",
        ("map", "map_cut", "average_precision", "mean_average_precision"),
    ),
    Definition(
        "RR",
        binary.reciprocal_rank,
        "1 / rank of the first relevant document, 0 without one",
        ("mrr", "recip_rank", "reciprocal_rank", "mean_reciprocal_rank"),
    ),
    Definition(
        "P",
        binary.precision,
        "relevant documents in the top k, divided by k (without a cutoff: of all retrieved documents)",
        ("precision", "prec", "set_P", "SetP"),
    ),
    Definition(
        "R",
        binary.recall,
        "relevant documents in the top k (without a cutoff: of all retrieved), divided by all relevant ones",
        ("recall", "set_recall", "SetR"),
    ),
    Definition(
        "Success",
        binary.success,
        "1 if a relevant document is in the top k, else 0",
        ("hit_rate", "hit"),
    ),
    Definition(
        "Rprec",
        binary.r_precision,
        "precision at the rank that equals the number of relevant documents",
        ("r_precision",),
        level=None,
    ),
    Definition(
        "F1",
        binary.f1,
        "harmonic mean of P and R at the same cutoff",
        ("f_measure", "set_F", "SetF"),
    ),
    Definition(
        "bpref",
        binary.bpref,
        "mean over relevant documents of 1 - min(judged non-relevant ones above, R) / min(judged "
        "non-relevant ones, R), where R counts the relevant ones; unjudged documents play no part",
        level=None,
    ),
    Definition(
        "IPrec",
        binary.interpolated_precision,
        "largest precision at any rank whose recall is at least r",
        ("iprec_at_recall", "interpolated_precision_at_recall"),
        level="recall",
    ),
    Definition(
        "RBP",
        graded.rbp,
        "sum of (1 - p) p^(rank - 1) over relevant documents, or of it times grade / max_rel",
        ("rank_biased_precision",),
        shown=("p",),
    ),
    Definition(
        "RBPresidual",
        graded.rbp_residual,
        "what RBP leaves open: the weight of unjudged documents and of all ranks below the cutoff or list",
        ("rbp_resid", "rbp_res"),
        shown=("p",),
    ),
    Definition(
        "ERR",
        graded.err,
        "sum over ranks of the chance to stop there / rank; a document of grade g stops a user with chance "
        "(2^g - 1) / 2^max_rel; max_rel is the largest grade of the whole qrels unless given",
        ("expected_reciprocal_rank",),
    ),
    Definition(
        "Judged",
        counts.judged,
        "share of the retrieved top k that has a judgement; 0 for an empty list",
        ("judgment_rate",),
    ),
    Definition(
        "NumRel",
        counts.number_relevant,
        "number of relevant documents, retrieved or not",
        level=None,
        depth=0,
    ),
    Definition(
        "NumRet",
        counts.number_retrieved,
        "number of retrieved documents",
        level=None,
        depth=0,
    ),
    Definition(
        "NumRelRet",
        counts.number_relevant_retrieved,
        "number of relevant documents among the retrieved top k",
        ("hits",),
    ),
)


def folded(name: str) -> str:
    """Return what counts of a name's spelling.

    Examples
    --------
    >>> folded("recip_rank"), folded("R-Precision"), folded("nDCG")
    ('reciprank', 'rprecision', 'ndcg')
    """
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")


BY_SPELLING: dict[str, Definition] = {
    folded(name): definition for definition in CATALOGUE for name in (definition.name, *definition.aliases)
}

# Spellings that say more than a name does.
IMPLIED_ARGUMENTS: dict[str, dict[str, str]] = {"ndcgburges": {"gain": "exp"}}
# trec_eval's families, which are nothing without a cutoff.
NEED_CUTOFF = frozenset({"ndcgcut", "mapcut"})
