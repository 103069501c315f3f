"""What a process hands on to those it starts, so that each of them that runs Python and imports torch is watched too."""

from __future__ import annotations

import os
from collections.abc import Mapping

from .started.sitecustomize import AT_ONCE, SETTINGS

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "started")


def handed_on(settings: str, environment: Mapping[str, str], *, at_once: bool = False) -> dict[str, str]:
    """Variables by which children find the hook.

    Args:
        settings: The file of the settings.
        environment: What they are added to: the user's own `PYTHONPATH` stays, behind ours.
        at_once: Load the hook at a child's start; else where it imports torch.
    """
    before = [folder for folder in environment.get("PYTHONPATH", "").split(os.pathsep) if folder not in ("", FOLDER)]
    told = {SETTINGS: os.path.abspath(settings), "PYTHONPATH": os.pathsep.join([FOLDER, *before])}
    return told | ({AT_ONCE: "1"} if at_once else {})
