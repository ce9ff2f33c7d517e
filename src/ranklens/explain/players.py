"""The players of the game: each feature by itself, or groups of features that change together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ranklens.core import UnknownNameError

JOINT = "+"


@dataclass(frozen=True)
class Players:
    """Who plays.

    Attributes
    ----------
    labels : tuple of str
        A feature's name, or the names of a group joined by ``+``; in the order of their first features.
    of_feature : int64 array, shape (k,)
        The player that each feature belongs to.
    """

    labels: tuple[str, ...]
    of_feature: NDArray[np.int64]

    @property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """The features of each player, by position."""
        found: list[list[int]] = [[] for _ in self.labels]
        for feature, player in enumerate(self.of_feature.tolist()):
            found[player].append(feature)
        return tuple(tuple(features) for features in found)


def players_of(names: Sequence[str], groups: Iterable[Iterable[str]] | None = None) -> Players:
    """Return the players; every feature outside the groups plays by itself.

    Parameters
    ----------
    names : sequence of str
        The k features.
    groups : iterable of iterables of str, optional
        Names of features that change together. Groups must not share a feature.

    Raises
    ------
    UnknownNameError
        When a group holds a name that is no feature.
    ValueError
        When a feature occurs twice, a group is empty or a string, or two players would have one label.

    Examples
    --------
    >>> players_of(["bm25", "price", "bm25_title"], [("bm25", "bm25_title")]).labels
    ('bm25+bm25_title', 'price')
    """
    if groups is None:
        return Players(tuple(names), np.arange(len(names)))
    position = {name: i for i, name in enumerate(names)}
    group_of: dict[str, tuple[str, ...]] = {}
    for group in groups:
        members = _members(group, position)
        for name in members:
            if name in group_of:
                raise ValueError(f"groups holds {name!r} twice; groups must not share a feature")
            group_of[name] = members
    labels: list[str] = []
    of_feature = np.empty(len(names), dtype=np.int64)
    player_of: dict[tuple[str, ...], int] = {}
    for feature, name in enumerate(names):
        members = group_of.get(name, (name,))
        if members not in player_of:
            player_of[members] = len(labels)
            labels.append(JOINT.join(members))
        of_feature[feature] = player_of[members]
    _check_distinct(labels)
    return Players(tuple(labels), of_feature)


def _check_distinct(labels: Sequence[str]) -> None:
    if len(set(labels)) < len(labels):
        twice = next(label for i, label in enumerate(labels) if label in labels[:i])
        raise ValueError(
            f"two players would be called {twice!r}: a feature, and a group whose names joined by "
            f"{JOINT!r} read the same; rename the feature"
        )


def _members(group: Iterable[str], position: dict[str, int]) -> tuple[str, ...]:
    if isinstance(group, str):
        raise ValueError(f"groups must hold sequences of names, got the string {group!r}")
    members = tuple(group)
    for name in members:
        if name not in position:
            raise UnknownNameError("feature", str(name), position)
    if not members:
        raise ValueError("groups holds an empty group")
    if len(set(members)) != len(members):
        raise ValueError(f"the group {members} holds a feature twice")
    return tuple(sorted(members, key=position.__getitem__))
