"""Runs somebody's script and records some of its steps: the part of advisor that lives in the script's own process.

`python trace_advisor_hook/__main__.py SETTINGS.json [-m] SCRIPT ARGS...`. Standard library and torch only, torch only once the
script itself has imported it, so that what a script sets up before (devices, threads) still counts. Nothing is written to stdout;
what happened goes to `status-PID.json` in the folder that the settings name, where the parent process reads it.

The package is loaded by its path, under the name of its folder: it leaves nothing on `sys.path` and hides no module of the
script's. Its files import each other relatively, as nothing else of ours can be imported there.
"""
