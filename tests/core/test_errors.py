"""Errors say what and where, keep their facts, and travel between processes."""

import pickle

import pytest

from ranklens.core import (
    DataError,
    InsufficientSampleError,
    MissingDependencyError,
    RankLensError,
    UnknownNameError,
)

EXAMPLES = [
    DataError("the score is not a number", file="a.run", line=3, text="q1 Q0 d1 1 x t"),
    InsufficientSampleError(1, 2, unit="gold queries"),
    UnknownNameError("measure", "nDGC@10", ["nDCG", "AP"]),
    UnknownNameError("column", "x", [], hint="name one with columns="),
    MissingDependencyError("scipy", "Student's t", "pip install 'ranklens[stats]'"),
]


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_survives_pickling_whole(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_every_error_is_caught_by_the_root(error):
    assert isinstance(error, RankLensError)


def test_errors_are_also_what_python_programs_expect():
    assert issubclass(DataError, ValueError)
    assert issubclass(InsufficientSampleError, ValueError)
    assert issubclass(UnknownNameError, ValueError)
    assert issubclass(MissingDependencyError, ImportError)


def test_a_data_error_names_file_line_and_text():
    assert str(EXAMPLES[0]) == "a.run:3: the score is not a number (in 'q1 Q0 d1 1 x t')"
    assert str(DataError("is empty", file="a.run")) == "a.run: is empty"
    assert str(DataError("is empty", line=3)) == "line 3: is empty"
    assert str(DataError("is empty")) == "is empty"


def test_a_long_line_is_shortened_in_the_message():
    assert len(str(DataError("why", text="x" * 10_000))) < 200


def test_an_insufficient_sample_says_how_many_of_what():
    assert str(InsufficientSampleError(0, 2)) == "0 queries, and at least 2 are needed"
    assert (EXAMPLES[1].n, EXAMPLES[1].minimum, EXAMPLES[1].unit) == (1, 2, "gold queries")


def test_an_unknown_name_lists_the_nearest_or_all():
    assert "did you mean nDCG?" in str(EXAMPLES[2])
    assert str(UnknownNameError("run", "zzz", ["a", "b"])) == "unknown run 'zzz'; known: a, b"
    assert str(UnknownNameError("run", "zzz", [])) == "unknown run 'zzz'; none are known"
    assert "name one with columns=" in str(EXAMPLES[3])


def test_a_missing_library_comes_with_its_install_line():
    assert "pip install 'ranklens[stats]'" in str(EXAMPLES[4])


def test_a_message_lists_a_few_of_many_known_names() -> None:
    error = UnknownNameError("feature", "zzz", [f"x{i}" for i in range(300)])
    assert str(error).endswith("x28, x29 and 270 more")
    assert len(error.known) == 300
