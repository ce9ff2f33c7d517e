"""How long ``import ranklens`` and ``ranklens --help`` take beside ``import numpy``.

Every figure is the median of fresh processes; the kinds take turns, so that a busy moment hits all of them.
Run: python benchmarks/startup.py [--fast] [--rounds N]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

TIMED_IMPORT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


def import_seconds(module: str) -> float:
    """Return how long a fresh interpreter takes to import `module`."""
    script = TIMED_IMPORT.format(module)
    return float(subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout)


def process_seconds(arguments: Sequence[str]) -> float:
    """Return how long a whole Python process takes."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
    return time.perf_counter() - start


JOBS: dict[str, Callable[[], float]] = {
    "import numpy": lambda: import_seconds("numpy"),
    "import ranklens": lambda: import_seconds("ranklens"),
    'python -c "import numpy"': lambda: process_seconds(["-c", "import numpy"]),
    "ranklens --help": lambda: process_seconds(["-m", "ranklens", "--help"]),
}
PAIRS = {"import ranklens": "import numpy", "ranklens --help": 'python -c "import numpy"'}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fast", action="store_true", help="three rounds: shows that the script works")
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    rounds = 3 if options.fast else options.rounds
    times: dict[str, list[float]] = {name: [] for name in JOBS}
    for name in JOBS:
        JOBS[name]()  # fills the disk cache
    for _ in range(rounds):
        for name, job in JOBS.items():
            times[name].append(job())
    medians = {name: statistics.median(values) for name, values in times.items()}
    print("| job | median ms | against | ratio |")
    print("| --- | ---: | --- | ---: |")
    for name, median in medians.items():
        peer = PAIRS.get(name)
        ratio = f"{median / medians[peer]:.2f}" if peer else ""
        print(f"| `{name}` | {1000 * median:.0f} | {f'`{peer}`' if peer else ''} | {ratio} |")


if __name__ == "__main__":
    main()
