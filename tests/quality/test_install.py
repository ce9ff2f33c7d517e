"""The package installs and works with what it declares: the newest releases, and the oldest."""

from __future__ import annotations

import re
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
from checkout import ROOT, run, tracked_files

# What old releases of the dependencies are likeliest to break, in about a minute.
OLDEST_SUITE = (
    "tests/core",
    "tests/io",
    "tests/cli",
    "tests/explain/test_models_catboost.py",
    "tests/explain/test_models_jax.py::test_an_equinox_module_is_a_model",
    "tests/explain/test_models_jax.py::test_a_flax_module_is_a_model_with_its_parameters",
    "tests/explain/test_models_jax.py::test_a_module_of_flax_nnx_is_asked_without_dropout",
    "tests/explain/test_models_lightgbm.py",
    "tests/explain/test_models_onnx.py",
    "tests/explain/test_models_sklearn.py",
    "tests/explain/test_models_xgboost.py",
    "tests/explain/test_tree_models.py",
    "tests/kernels/test_flips.py",
    "tests/metrics/test_measure_cases.py",
    "tests/metrics/test_evaluate_options.py",
    "tests/stats/test_compare.py",
    "tests/stats/test_ppi.py",
    "tests/stats/test_segments.py",
)
# XGBoost's own wheel is huge; the tests take the smaller one for processors.
OLDEST_EXTRAS = (
    *("jax", "report", "stats", "zstd", "all"),
    *("lightgbm", "catboost", "sklearn", "onnx", "equinox", "flax", "shap"),
)
USES_ALL_NAMES = "import ranklens; [getattr(ranklens, name) for name in ranklens.__all__]"


@pytest.fixture(scope="module")
def index() -> None:
    """Skip where no package index can be reached, since pip has nothing to install from."""
    probe = run([sys.executable, "-m", "pip", "index", "versions", "click"], timeout=120)
    if probe.returncode != 0:
        pytest.skip(f"no package index is reachable from here: {probe.stdout.strip()[-200:]}")


def fresh_clone(folder: Path) -> Path:
    clone = folder / "ranklens"
    for path in tracked_files():
        target = clone / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
    return clone


def oldest(requirement: str) -> str:
    """Turn ``name>=version`` into ``name==version``, a marker behind it left as it is."""
    bound, semicolon, marker = requirement.partition(";")
    assert re.fullmatch(r"[\w.-]+>=[\w.]+", bound), f"{requirement} does not state one lower bound"
    return f"{bound.replace('>=', '==')}{semicolon}{marker}"


def readme_commands() -> list[str]:
    text = (ROOT / "README.md").read_text("utf-8")
    return re.findall(r"^\$?\s*(python3 -m venv .*)$", text, re.MULTILINE)


def test_readme_states_one_line_for_users_and_one_for_tests() -> None:
    demo, tests = readme_commands()
    assert "ranklens demo" in demo
    assert "-m pytest" in tests
    assert tests.split("&&")[-1].split(None, 1)[1] in (ROOT / ".ci" / "run").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.usefixtures("index")
def test_first_command_of_the_readme_needs_only_what_is_declared(tmp_path: Path) -> None:
    clone = fresh_clone(tmp_path)
    demo = run(readme_commands()[0].replace("python3", sys.executable, 1), cwd=clone)
    assert demo.returncode == 0, demo.stdout
    assert "delta" in demo.stdout.lower()
    names = run([".venv/bin/python", "-W", "error", "-c", USES_ALL_NAMES], cwd=clone)
    assert names.returncode == 0, names.stdout
    doctor = run([".venv/bin/ranklens", "doctor"], cwd=clone)
    assert doctor.returncode == 0, doctor.stdout


@pytest.mark.slow
@pytest.mark.usefixtures("index")
def test_oldest_declared_dependencies_pass_the_tests(tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    optional = [text for name in OLDEST_EXTRAS for text in extras[name]]
    strict = [text for text in extras["test"] if text.startswith(("array-api-strict", "onnx", "xgboost"))]
    stated = (*project["dependencies"], *optional, *strict)
    pins = [oldest(text) for text in stated if not text.startswith("ranklens")]
    tools = [text for text in extras["test"] if re.match(r"pytest|hypothesis", text)]
    clone = fresh_clone(tmp_path)
    assert run([sys.executable, "-m", "venv", ".venv"], cwd=clone).returncode == 0
    pip = run([".venv/bin/python", "-m", "pip", "install", "-q", ".", *pins, *tools], cwd=clone)
    assert pip.returncode == 0, pip.stdout
    options = ["-q", "-m", "not slow", "-o", "addopts=", "-o", "filterwarnings=default"]
    done = run([".venv/bin/python", "-m", "pytest", *options, *OLDEST_SUITE], cwd=clone)
    assert done.returncode == 0, done.stdout[-6000:]


def test_every_extra_is_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    page = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    table = "".join(line for line in page.splitlines() if line.startswith("|"))
    for extra in project["optional-dependencies"]:
        assert f"`{extra}`" in table, f"docs/dependencies.md says nothing of the extra {extra}"
    for requirement in project["dependencies"]:
        name = re.split(r"[<>=;\[]", requirement)[0].strip()
        assert f"\n{name}\n: " in page, f"docs/dependencies.md says nothing of {name}"
