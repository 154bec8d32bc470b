"""What people expect around a repository: workflows, hooks and editor settings that name only what is there."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped, unused-ignore]

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def steps(workflow: Path) -> list[dict[str, Any]]:
    jobs = yaml.safe_load(workflow.read_text())["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


def test_there_are_workflows() -> None:
    assert [workflow.name for workflow in WORKFLOWS] == ["ci.yml", "release.yml"]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_what_is_there(workflow: Path) -> None:
    commands = [step["run"] for step in steps(workflow) if "run" in step]
    assert ".ci/run" in commands
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
    for command in commands:
        assert set(re.findall(r"make ([a-z-]+)", command)) <= TARGETS


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_only_publishing_may_prove_who_it_is(workflow: Path) -> None:
    document = yaml.safe_load(workflow.read_text())
    assert document["permissions"] == {"contents": "read"}
    allowed = {name for name, job in document["jobs"].items() if job.get("permissions")}
    assert allowed == ({"publish"} if workflow.name == "release.yml" else set())
    assert "secrets." not in workflow.read_text()


def test_the_release_reads_the_version_where_it_is() -> None:
    (found,) = (
        re.search(r"sed -n '(.*?)'", step["run"]) for step in steps(WORKFLOWS[1]) if "sed" in step.get("run", "")
    )
    assert found is not None
    pattern = found[1].removeprefix("s/").removesuffix("/p").rsplit("/", 1)[0].replace(r"\(", "(").replace(r"\)", ")")
    assert re.findall(pattern, (ROOT / "pyproject.toml").read_text(), re.MULTILINE) == [PROJECT["project"]["version"]]


def test_hooks_run_what_check_runs() -> None:
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    check = MAKEFILE.split("\ncheck:")[1].split("\n\n")[0]
    checked = {command.split()[0] for command in re.findall(r"\$\(RUN\)(.*)", check)}
    hooked = {hook["entry"].removeprefix(".venv/bin/").split()[0] for hook in local["hooks"]}
    assert hooked == checked


def test_editors_wrap_where_the_formatter_does() -> None:
    settings = (ROOT / ".editorconfig").read_text()
    assert f"max_line_length = {PROJECT['tool']['ruff']['line-length']}" in settings


@pytest.mark.parametrize(
    "form", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.name
)
def test_issue_forms_can_be_read(form: Path) -> None:
    document = yaml.safe_load(form.read_text())
    if form.name != "config.yml":
        assert {"name", "description", "body"} <= document.keys()
        fields = [part for part in document["body"] if part["type"] != "markdown"]
        assert len({part["id"] for part in fields}) == len(fields) > 0
