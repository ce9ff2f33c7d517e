"""The command ``ranklens``: measure runs, compare them honestly, gate a build.

Nothing heavy is imported before a command needs it, so that ``ranklens --help`` answers at once.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line (by default the program's own arguments) and exit with its code.

    The exit code is 0 when done, 1 for wrong use or configuration, 2 for arguments that cannot be parsed,
    3 for broken data, 4 when a gate failed, 130 when interrupted.
    """
    try:
        from ranklens.cli.group import ranklens
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    ranklens.main(args=None if arguments is None else list(arguments), prog_name="ranklens")
