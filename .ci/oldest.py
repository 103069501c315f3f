"""Prints the oldest versions that pyproject.toml allows, as constraints: `python .ci/oldest.py > oldest.txt`."""

import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LOWER = re.compile(r"^([A-Za-z0-9-]+)>=([\w.]+)[^;]*(;.*)?$")


def main() -> None:
    """One line for each dependency of the project and of what it is used with; tools for development may be of any version."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    for wanted in (*project["dependencies"], *extras["collect"], *extras["hta"]):
        found = LOWER.match(wanted)
        assert found, f"no lower bound: {wanted}"
        name, version, marker = found.groups()
        print(f"{name}=={version} {marker or ''}".rstrip())


if __name__ == "__main__":
    main()
