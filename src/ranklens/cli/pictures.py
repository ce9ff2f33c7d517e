"""Pictures as files: PNG or SVG, there completely or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ranklens.cli.deliver import check_place
from ranklens.cli.failures import UseError
from ranklens.core.files import replacing

FORMATS = (".png", ".svg")


def check_picture(path: str) -> None:
    """See before the work begins that the picture can be drawn and written."""
    import importlib.util

    from ranklens.core import MissingDependencyError

    place = Path(path)
    if place.suffix.lower() not in FORMATS:
        raise UseError(f"--plot: {path} must end in {' or '.join(FORMATS)}")
    check_place("--plot", path)
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingDependencyError("matplotlib", "--plot", "pip install 'ranklens[report]'")


def draw(found: Any, path: str, top: int, title: str = "") -> None:
    """Draw a waterfall of a `PairwiseExplanation`, bars of anything else, and write it under a title."""
    import matplotlib as mpl

    from ranklens.core.explanations import PairwiseExplanation
    from ranklens.core.pictures import waterfall

    n = top or 10**6
    # The same numbers make the same file, and text stays text.
    with mpl.rc_context({"svg.hashsalt": "ranklens", "svg.fonttype": "none"}):
        axes = waterfall(found, n=n) if isinstance(found, PairwiseExplanation) else found.plot(n=n)
        # A dollar sign would start a formula.
        axes.set_title(title.replace("$", r"\$"), fontsize="small", loc="left")
        kind = Path(path).suffix.lower()[1:]
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        with replacing(path) as stream:
            axes.figure.savefig(stream, format=kind, dpi=150, metadata=metadata)
