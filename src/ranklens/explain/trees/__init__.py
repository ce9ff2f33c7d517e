"""Tree ensembles in one form, whatever library grew them, and their exact explanation."""

from ranklens.explain.trees.contributions import tree_contributions
from ranklens.explain.trees.ensemble import TreeEnsemble
from ranklens.explain.trees.tree import Tree
from ranklens.explain.trees.unsupported import UnsupportedTreesError

__all__ = ["Tree", "TreeEnsemble", "UnsupportedTreesError", "tree_contributions"]
