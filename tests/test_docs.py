"""The docs say what the program does: every command and option is in them, and their Python runs."""

import re
from pathlib import Path

import pytest
import typer

from veridical import cli
from veridical.cli.app import COMMANDS, app

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def leaves():
    """(words of a command, its click command), subcommands too."""
    root = typer.main.get_command(app)
    for name in COMMANDS:
        command = root.get_command(None, name)
        inner = getattr(command, "commands", None)
        if inner:
            yield from ((f"{name} {sub}", found) for sub, found in inner.items())
        else:
            yield name, command


@pytest.mark.parametrize(("name", "command"), list(leaves()), ids=lambda value: value if isinstance(value, str) else "")
def test_every_command_is_documented_and_helps_with_an_example(name, command, capsys):
    assert f"veridical {name}" in (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert cli.run([*name.split(), "--help"]) == 0
    assert "Example: veridical" in capsys.readouterr().out


def test_every_option_of_every_command_is_documented():
    """In its command's section, or where those of several commands are: at the top and with `score`."""
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    top, *sections = re.split(r"^## veridical ([a-z]+)$", text, flags=re.MULTILINE)
    by_name = dict(zip(sections[::2], sections[1::2], strict=True))
    missing = {
        f"{name} {option}"
        for name, command in leaves()
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
        if option.startswith("-") and option != "--help"
        if option not in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", top + by_name[name.split()[0]] + by_name["score"])
    }
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_docs_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_python_of_the_readme_runs(capsys):
    for block in re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, "README.md", "exec"), {})
    assert "1862" in capsys.readouterr().out


def test_import_is_light():
    import subprocess
    import sys

    code = "import veridical, sys; print(*sorted(m for m in sys.modules if m.split('.')[0] in HEAVY))"
    heavy = "HEAVY = {'spacy', 'numpy', 'aiohttp', 'pyarrow', 'torch', 'rich', 'typer', 'msgspec'}; "
    done = subprocess.run([sys.executable, "-c", heavy + code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
