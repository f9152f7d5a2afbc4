"""Run what CI runs in the active environment: `nox`. Other sessions are chosen by `nox -s NAME`.

The commands are those of `.ci/run`, which installs the project in a new environment before it runs them.
"""

from pathlib import Path

import nox

nox.options.default_venv_backend = "none"
nox.options.sessions = ["checks"]

INSTALL = 'python -m pip install --quiet -e ".[test]"\n'
CHECKS = (Path(__file__).parent / ".ci" / "run").read_text(encoding="utf-8").partition(INSTALL)[2].splitlines()


@nox.session
def checks(session: nox.Session) -> None:
    """Run the tests, the linter and the type checker, as CI does, all of them even if one fails."""
    failed = []
    for command in CHECKS:
        try:
            session.run(*command.split(), external=True)
        except nox.command.CommandFailed:
            failed.append(command)
    if failed:
        session.error(f"failed: {', '.join(failed)}")


@nox.session
def lint(session: nox.Session) -> None:
    """Run the linter and the type checker, and make the pages of the docstrings again."""
    for command in ("python docs/make_api.py", *CHECKS[1:]):
        session.run(*command.split(), external=True)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation site."""
    session.run("python", "docs/build.py", *session.posargs, external=True)


@nox.session
def release(session: nox.Session) -> None:
    """Run what is long, before a release."""
    session.run("pytest", "-m", "calibration", *session.posargs, external=True)


@nox.session
def coverage(session: nox.Session) -> None:
    """Report the lines that tests of units reach; leaves are run as Python, so that their lines count."""
    tests = session.posargs or ["tests/unit", "tests/cli"]
    env = {"NUMBA_DISABLE_JIT": "1"}
    session.run("coverage", "run", "-m", "pytest", "-n", "0", *tests, env=env, external=True, success_codes=[0, 1])
    session.run("coverage", "combine", external=True)
    session.run("coverage", "report", external=True)
