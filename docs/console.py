"""A cell magic for the pages: run shell commands, and show them and what they print as a terminal would."""

from __future__ import annotations

import subprocess
from typing import Any


def console(options: str, cell: str) -> None:
    """Run the commands of `cell` with bash; one that fails ends the build, unless it says what then.

    ``%%console expect 4`` is for a command that ends with exit code 4, which is shown below its output.
    """
    expected = int(options.removeprefix("expect") or 0)
    done = subprocess.run(
        ["bash", "-e", "-c", cell], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode != expected:
        raise RuntimeError(f"exit code {done.returncode}, expected {expected}:\n{done.stdout}")
    ending = f"$ echo $?\n{expected}\n" if expected else ""
    print(f"$ {cell.strip()}\n{done.stdout}{ending}", end="")


def load_ipython_extension(shell: Any) -> None:
    """Register the magic; called by ``%load_ext console``."""
    shell.register_magic_function(console, "cell", "console")
