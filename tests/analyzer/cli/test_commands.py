import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import analyzer
from analyzer.cli import installation
from analyzer.cli.collecting.told import summary
from analyzer.cli.main import COMMANDS, advisor, main
from analyzer.cli.streams.terminal import style_for

ROOT = Path(analyzer.__file__).parents[1]
HEAVY = ("pandas", "numpy", "torch", "textual", "msgspec", "hta")


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new process in which the packages are found."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, timeout=60, check=False
    )


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["explain", "--help"]])
def test_help_imports_nothing_heavy(arguments):
    done = python(
        f"import sys; from analyzer.cli.main import main; code = main({arguments!r});"
        f"print('LOADED', [name for name in {HEAVY!r} if name in sys.modules], code)"
    )
    assert done.stdout.splitlines()[-1] == "LOADED [] 0", done.stderr


def test_closed_pipe_is_no_error():
    code = "from analyzer.cli.main import main; import sys; sys.exit(main(['collect', '--help']))"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = f'{sys.executable} -c "{code}" | true'
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=env, timeout=60, check=False)
    assert done.stderr == ""


@pytest.mark.parametrize("name", COMMANDS)
def test_help_line_is_the_command_s_own(name):
    command = advisor.get_command(advisor.make_context("advisor", [name]), name)
    assert command is not None
    assert command.get_short_help_str(200) == COMMANDS[name]


def test_unknown_command_names_the_nearest(capsys):
    assert main(["explian", "x"]) == 2
    assert "Did you mean explain?" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["explain", ""],
        ["compare", "before.json", ""],
        ["baseline", "save", "main", ""],
        *([command, "", "-o", "out.json"] for command in ("annotate", "repair", "slim", "summarize")),
    ],
)
def test_an_empty_name_is_not_this_folder(capsys, tmp_path, monkeypatch, arguments):
    """As where the variable of `advisor explain "$TRACE"` is not set: all below the working folder was read as a job."""
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert "the name of a trace is empty" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["collect", "tune"])
def test_an_option_of_the_script_is_led_behind_the_dashes(capsys, command):
    assert main([command, "-o", "trace.json", "train.py", "--lr", "0.1"]) == 2
    assert f"advisor {command} train.py -- --lr ..." in capsys.readouterr().err
    assert main([command, "--lr", "0.1"]) == 2
    assert "-- --lr" not in capsys.readouterr().err


def test_a_path_alone_is_led_to_explain(capsys, tmp_path):
    trace = tmp_path / "trace.json"
    trace.touch()
    assert main([str(trace)]) == 2
    assert "advisor explain PATH" in capsys.readouterr().err


def test_rules_lists_the_catalogue(world, capsys):
    assert main(["rules"]) == 0
    out = capsys.readouterr().out
    assert "  DL001  loader bound" in out
    assert "3 rules." in out


def test_rules_as_json(world, capsys):
    assert main(["rules", "--format", "json"]) == 0
    first = json.loads(capsys.readouterr().out)[0]
    assert first["code"] == "DL001"
    assert first["thresholds"] == [{"name": "share_ratio", "value": 0.1, "unit": "ratio", "why": "measured"}]


@pytest.mark.parametrize("word", ["DL001", "dl001", "loader-bound", " Loader-Bound"])
def test_rule_shows_its_page(world, capsys, word):
    assert main(["rule", word]) == 0
    out = capsys.readouterr().out
    assert out.startswith("DL001 loader-bound: what it is.\nloader bound · loader-bound · data loading\n\n## Why")
    assert "\nThe GPU waits, and waits.\n" in out
    assert "\nloader =  DataLoader(dataset)\n" in out
    assert out.endswith("- one\n- two\n\n")


def test_a_terminal_shows_the_page_drawn(world, capsys, monkeypatch):
    monkeypatch.setattr("analyzer.cli.commands.rule.is_terminal", lambda stream: True)
    assert main(["rule", "DL001"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("DL001 loader-bound: what it is.\nloader bound · loader-bound · data loading\n")
    # Rich before 15 puts headings in the middle.
    assert "Why it costs time" in [line.strip() for line in out.splitlines()]
    assert "loader =  DataLoader(dataset)" in out
    assert "#" not in out
    assert "`" not in out


def test_unknown_rule_names_the_nearest(world, capsys):
    assert main(["rule", "DL01"]) == 2
    assert "Did you mean DL001" in capsys.readouterr().err


def test_collect_reports_every_wrong_option(capsys):
    assert main(["collect", "--batch-size", "0", "--active", "0"]) == 2
    error = capsys.readouterr().err
    assert "--batch-size must be at least 1" in error
    assert "--active must be at least 1" in error


def test_collect_says_what_it_wrote_and_what_comes_next(capsys, monkeypatch, tmp_path):
    import traces.collect as package
    from traces.collect.script.session import Verdict

    asked = []

    def record(config, progress, say):
        asked.append(config)
        progress(1, 2, "training")
        say("epoch 1: loss 0.5")
        return package.CollectResult(
            path=config.output, events=12_345, steps=6, bytes=1_200_000, profiled_step_ns=1, unprofiled_step_ns=None
        )

    monkeypatch.setattr(package, "collect", record)
    monkeypatch.setattr("analyzer.cli.commands.collect.judge", lambda path: Verdict(usable=True))
    assert main(["collect", "-o", "t.json", "--num-workers", "2", "--pin-memory"]) == 0
    assert capsys.readouterr().out == (
        "epoch 1: loss 0.5\nwrote t.json: 12,345 events, 6 steps, 1.2 MB\nnext: advisor explain t.json\n"
    )
    assert (asked[0].num_workers, asked[0].pin_memory, asked[0].batch_size) == (2, True, 64)


@pytest.mark.parametrize(("calibrating", "shapes"), [(["--calibrate"], True), ([], False)])
def test_what_is_calibrated_has_shapes_to_be_set_beside(calibrating, shapes, monkeypatch):
    """Rates of operators follow from their shapes: without them what was measured stood beside nothing."""
    asked = []
    monkeypatch.setattr(
        "analyzer.cli.commands.collect._collect_script", lambda config, calibrates: asked.append(config) or 0
    )
    assert main(["collect", *calibrating, "train.py"]) == 0
    assert asked[0].shapes is shapes


def test_summary_of_a_small_file():
    assert summary(Path("t.json"), 10, 1, 2_000) == "wrote t.json: 10 events, 1 step, 2 kB"


def test_foreign_package_is_named(monkeypatch, tmp_path):
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "__init__.py").touch()
    code = "import sys; from analyzer.cli.main import main; sys.exit(main(['--version']))"
    done = python(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}")
    assert done.returncode == 70
    assert str(tmp_path / "rules") in done.stderr
    assert "fix:" in done.stderr


def test_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(installation, "_place", lambda name: None)
    assert "is missing" in (installation.foreign_package() or "")


@pytest.mark.parametrize(
    ("columns", "width"), [("60", 60), ("9", 40), ("4000", 160), ("wide", 100), ("0", 100), ("", 100)]
)
def test_piped_text_is_as_wide_as_columns_says(columns, width):
    assert style_for(io.StringIO(), {"COLUMNS": columns}).width == width


def test_missing_dependency_is_a_message():
    code = (
        "import sys; sys.modules['rich'] = None; from analyzer.cli.main import main; sys.exit(main(['explain', 'x']))"
    )
    done = python(code)
    assert done.returncode == 70
    assert done.stderr.startswith("advisor: error: ")
    assert "Traceback" not in done.stderr


def test_a_script_keeps_its_status_and_its_output(capsys, monkeypatch):
    from traces.collect.script.session import Recording, ScriptConfig, ScriptResult, Verdict

    asked: list[ScriptConfig] = []
    good = Recording(Path("t.json"), 9, 6, 100, "loader", 3_000_000, 2_000_000, Verdict(usable=True))

    def run(config, judge, say):
        asked.append(config)
        return ScriptResult(status=7, recordings=[good])

    monkeypatch.setattr("traces.collect.script.session.collect_script", run)
    assert main(["collect", "--active", "4", "train.py", "--", "--epochs", "3"]) == 7
    assert asked == [ScriptConfig(target="train.py", arguments=("--epochs", "3"), active=4, compress_from=20_000_000)]
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        "advisor: wrote t.json: 9 events, 6 steps, 0 kB",
        "advisor: note: no optimizer stepped, steps are taken from the DataLoader's batches",
        "advisor: a step took 3.00 ms with the profiler, 2.00 ms without (1.5 times as long)",
        "advisor: next: advisor explain t.json",
    ]


@pytest.mark.parametrize(("with_ns", "told"), [(2_090_000, ""), (2_110_000, " (1.1 times as long)"), (1_000_000, "")])
def test_as_long_is_not_called_longer(with_ns: int, told: str, capsys):
    """`1.0 times as long` was."""
    from analyzer.cli.collecting.told import tell
    from traces.collect.script.session import Recording, ScriptConfig, Verdict

    made = Recording(Path("t.json"), 9, 6, 100, "optimizer", with_ns, 2_000_000, Verdict(usable=True))
    tell(made, ScriptConfig(target="train.py"))
    assert f"ms with the profiler, 2.00 ms without{told}\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ("fit.py --stop -- --lr 3", {"target": "fit.py", "arguments": ("--lr", "3"), "stop": True}),
        ("--stop launchit --wait 7 run fit.py -m x", {"target": "launchit", "program": True, "stop": True,
                                                     "arguments": ("--wait", "7", "run", "fit.py", "-m", "x")}),
        ("-- launchit --num 2 fit.py", {"target": "launchit", "program": True, "arguments": ("--num", "2", "fit.py")}),
        ("python -m pkg.fit --stop 3", {"target": "pkg.fit", "module": True, "arguments": ("--stop", "3"),
                                        "python": Path("python")}),
        ("-m launchit --stop -- a", {"target": "launchit", "module": True, "arguments": ("a",), "stop": True}),
    ],
)  # fmt: skip
def test_options_behind_a_launcher_are_its_own(monkeypatch, tmp_path, words, asked):
    from traces.collect.script.session import ScriptConfig, ScriptResult

    for name in ("launchit", "python"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    given: list[ScriptConfig] = []
    monkeypatch.setattr(
        "traces.collect.script.session.collect_script",
        lambda config, judge, say: given.append(config) or ScriptResult(status=7, problem="none"),
    )
    assert main(["collect", *words.split()]) == 7
    assert given == [ScriptConfig(compress_from=20_000_000, **asked)]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["train.py"], 4, "nothing was recorded: no steps\n  fix: more"),
        (["-m", "train", "--batch-size", "3"], 2, "--batch-size shapes the reference loop"),
        (["-m", "train", "--batch-size", "3"], 2, "advisor collect -m train -- --batch-size ..."),
        (["my train.py", "--epochs", "3"], 2, "advisor collect 'my train.py' -- --epochs ..."),
        (["--stop"], 2, "--stop needs a script"),
        (["-m", ""], 2, "the name of the script is empty"),
    ],
)
def test_a_script_that_cannot_be_recorded(capsys, monkeypatch, arguments, code, message):
    from traces.collect.script.session import ScriptResult

    monkeypatch.setattr(
        "traces.collect.script.session.collect_script",
        lambda config, judge, say: ScriptResult(problem="no steps", fix="more"),
    )
    assert main(["collect", *arguments]) == code
    assert message in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_behind_stdout_is_no_bug_of_ours():
    code = "from analyzer.cli.main import program; import sys; sys.argv[1:] = ['rules']; program()"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
            timeout=60,
            check=False,
        )
    assert done.returncode == 2
    assert "no room" in done.stderr
    assert "bug" not in done.stderr
