"""Who plays: features, and groups of features."""

from __future__ import annotations

import pytest

from ranklens.explain import adapt, pairwise
from ranklens.explain.players import players_of


def test_two_players_of_one_label_are_refused() -> None:
    model = adapt(lambda x: x.sum(axis=1), ["a", "b", "a+b"])
    with pytest.raises(ValueError, match=r"two players would be called 'a\+b'"):
        pairwise(model, [1, 2, 3], [2, 3, 5], groups=[("a", "b")])
    with pytest.raises(ValueError, match=r"'a\+b\+c'"):
        players_of(["a", "b+c", "a+b", "c"], [("a", "b+c"), ("a+b", "c")])
    assert players_of(["a", "b", "a+b"], [("a", "a+b")]).labels == ("a+a+b", "b")
