"""The README and the guides keep what they show: Python runs, commands and their options exist."""

import doctest
import os
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

FENCE = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)

# What a reader has after installing; `dielet` is looked at closer.
PROGRAMS = {"cargo", "cd", "export", "git", "maturin", "mypy", "pip", "pytest", "python", "ruff", "source"}

FIRST = "pip install . && dielet plan inception-v3 --system dgx1-v100 --devices 1..1024"
SECOND = "pip install '.[test]' && pytest"


def blocks(page: Path, language: str) -> list[str]:
    return [textwrap.dedent(body) for _, tongue, body in FENCE.findall(page.read_text("utf-8")) if tongue == language]


def console_lines(page: Path) -> list[str]:
    """Lines that a reader types: those after a prompt, or all of a block that shows none."""
    lines: list[str] = []
    for block in blocks(page, "console"):
        body = block.replace("\\\n", " ").splitlines()
        prompted = [line.strip()[2:] for line in body if line.strip().startswith("$ ")]
        lines += prompted or [line.strip() for line in body if line.strip()]
    return lines


def commands(page: Path) -> list[list[str]]:
    """Every single command, as words without comments and redirections."""
    words = [shlex.split(part, comments=True) for line in console_lines(page) for part in pieces(line)]
    return [command for command in words if command]


def pieces(line: str) -> list[str]:
    """A line cut at the operators of the shell, those in quotes aside."""
    cut: list[list[str]] = [[]]
    lexer = shlex.shlex(line, posix=False, punctuation_chars=True)
    lexer.whitespace_split = True
    for word in lexer:
        if set(word) <= set("&|;"):
            cut.append([])
        else:
            cut[-1].append(word)
    return [re.sub(r"[<>].*", "", " ".join(part)) for part in cut]


def test_the_shell_is_cut_as_a_shell_would() -> None:
    assert pieces("a 'b && c' && d | e > f") == ["a 'b && c'", "d", "e "]


def title(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def pages_with(language: str) -> list[Path]:
    return [page for page in PAGES if page.is_file() and blocks(page, language)]


# Python


@pytest.mark.parametrize("page", pages_with("python"), ids=title)
def test_python_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__readme__"}
    for number, block in enumerate(blocks(page, "python"), start=1):
        place = f"{page.name}, python block {number}"
        if ">>>" in block:
            run_examples(block, names, place)
        elif page == README or "import" in block or len(names) > 2:
            exec(compile(block, place, "exec"), names)
        else:
            # A fragment that stands for a place in a file.
            compile(block, place, "exec")
    capsys.readouterr()


def run_examples(block: str, names: dict[str, Any], title: str) -> None:
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    test = doctest.DocTestParser().get_doctest(block, names, title, None, 0)
    runner = doctest.DocTestRunner(optionflags=flags, verbose=False)
    report: list[str] = []
    runner.run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert runner.failures == 0, "".join(report)


# Commands


@cache
def help_of(verb: tuple[str, ...]) -> str:
    environment = {**os.environ, "COLUMNS": "250", "TERM": "dumb", "NO_COLOR": "1"}
    run = subprocess.run(
        [sys.executable, "-m", "dielet", *verb, "--help"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    return run.stdout if run.returncode == 0 else ""


def fault(command: list[str]) -> str | None:
    """Why a command of a page is not to be."""
    program, *words = [word for word in command if not re.fullmatch(r"\w+=.*", word)] or ["export"]
    if program.startswith(".") or "/" in program:
        return None if (ROOT / program).exists() or "venv" in program else f"no file {program}"
    if program == "pip":
        return missing_extra(words)
    if program == "dielet":
        return missing_option(words)
    return None if program in PROGRAMS else f"unknown program {program}"


def missing_extra(words: list[str]) -> str | None:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    asked = {extra for word in words for found in re.findall(r"\[(.*?)\]", word) for extra in found.split(",")}
    return f"no extra {asked - known.keys()}" if asked - known.keys() else None


def missing_option(words: list[str]) -> str | None:
    verb = tuple(words[:1]) if words and not words[0].startswith("-") else ()
    shown = help_of(verb)
    if not shown:
        return f"no verb {' '.join(verb)}"
    options = [word.split("=")[0] for word in words[len(verb) :] if re.match(r"--?[a-zA-Z]", word)]
    missing = [option for option in options if not re.search(rf"(?<![\w-]){option}(?![\w-])", shown)]
    return f"no option {missing}" if missing else None


@pytest.mark.parametrize("page", pages_with("console"), ids=title)
def test_commands_of_a_page_exist(page: Path) -> None:
    faults = {" ".join(command): fault(command) for command in commands(page)}
    assert faults
    assert {command: why for command, why in faults.items() if why} == {}


PLACE = re.compile(r"`((?:rust|python|tests|docs|benchmarks|\.ci)/[\w./-]*)`")
LINK = re.compile(r"\]\(([\w./-]+)(?:#[\w-]*)?\)")


def places(page: Path) -> set[str]:
    """Paths that a page names, from the root, but for those with a NAME to fill in."""
    text = page.read_text("utf-8")
    linked = {(page.parent / link).resolve().relative_to(ROOT).as_posix() for link in LINK.findall(text)}
    return {place for place in PLACE.findall(text) if not re.search(r"[A-Z]{3}(?!.*\.md$)", place)} | linked


@pytest.mark.parametrize("page", [page for page in PAGES if page.is_file()], ids=title)
def test_places_that_a_page_names_exist(page: Path) -> None:
    assert [place for place in sorted(places(page)) if not (ROOT / place).exists()] == []


def test_the_first_block_of_the_readme_is_the_two_commands() -> None:
    lines = console_lines(README)
    if not lines:
        pytest.skip("README.md has no console block yet")
    installs = [line for line in lines if line.startswith("pip install")]
    assert installs[:2] == [FIRST, SECOND]
