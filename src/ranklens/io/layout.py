"""What a run and a set of judgements look like, column by column."""

from __future__ import annotations

from dataclasses import dataclass

_QUERY = ("query_id", "qid", "q_id", "queryid", "topic_id", "topicid", "topic", "query", "q")
_DOCUMENT = (
    "doc_id", "docid", "docno", "doc_no", "document_id", "documentid", "corpus_id", "corpusid", "passage_id",
    "pid", "did", "item_id", "document", "doc", "item", "id",
)  # fmt: skip
_SCORE = ("score", "scores", "sim", "similarity", "rsv")
_GRADE = ("relevance", "grade", "label", "rel", "rating", "judgement", "judgment", "gain", "score")


@dataclass(frozen=True)
class Layout:
    """The columns of one kind of file.

    Parameters
    ----------
    kind : {"run", "qrels"}
        What the file holds.
    value : {"score", "grade"}
        The name of its number.
    trec : tuple of str
        The names of the columns of a TREC file, in order.
    positions : tuple of int
        Which of these are the query, the document and the number.
    more_allowed : bool
        Whether a line may have more columns than `trec` names (a run's tag may hold blanks).
    spellings : mapping from field to tuple of str
        The column names that are understood without a mapping, the preferred one first; letter case does not
        matter, and a hyphen or a blank stands for the underscore.
    """

    kind: str
    value: str
    trec: tuple[str, ...]
    positions: tuple[int, int, int]
    more_allowed: bool
    spellings: dict[str, tuple[str, ...]]

    @property
    def fields(self) -> tuple[str, str, str]:
        """The names of the three columns that are kept."""
        return ("query", "document", self.value)


RUN = Layout(
    kind="run",
    value="score",
    trec=("query", "Q0", "document", "rank", "score", "tag"),
    positions=(0, 2, 4),
    more_allowed=True,
    spellings={"query": _QUERY, "document": _DOCUMENT, "score": _SCORE},
)
QRELS = Layout(
    kind="qrels",
    value="grade",
    trec=("query", "iteration", "document", "grade"),
    positions=(0, 2, 3),
    more_allowed=False,
    spellings={"query": _QUERY, "document": _DOCUMENT, "grade": _GRADE},
)
