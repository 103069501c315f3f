"""Does `advisor tune` find the remedy of planted bottlenecks by itself, and does it measure what the zoo measures?

    python tests/bench/tune.py -o analyzer/tune/README.md              both tables, about an hour
    python tests/bench/tune.py --only zeroed,anomaly                    some presets
    python tests/bench/tune.py --only reference                         the reference loop beside a sweep of all its values

Each preset runs as a script (`loops.py`) under `advisor tune`, which knows nothing of what was planted; then the zoo times it
against its remedy, as `advisor zoo` does. They agree where what the planted remedy brought differs by no more than both errors
(95 %) and the 3 % by which a loop differs from itself from one minute to the next; another change may have brought more. Healthy
presets, on all cores, must gain nothing. The sweep of the reference loop times every number of workers and every way to hold the
data in memory, twice each, in runs as `tune` makes them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT)]

SCRIPT = Path(__file__).with_name("loops.py")
BEGIN, END = "<!-- tune.py: begin -->", "<!-- tune.py: end -->"
# What differs from one minute to the next, as the zoo has it.
LEAST_NOISE = 0.03


@dataclass(frozen=True)
class Planted:
    """A preset: the changes of which one must be found, and the preset that has the remedy."""

    name: str
    changes: tuple[str, ...]
    remedy: str


PLANTED = (
    Planted("slow-transform", ("in-memory",), "batches-of-32"),
    Planted("small-samples", ("in-memory",), "batches-of-128"),
    Planted("waiting-samples", ("in-memory", "workers"), "batches-of-32"),
    Planted("listed-samples", ("in-memory",), "batches-of-32-narrow"),
    Planted("starving-worker", ("workers", "in-memory"), "even-samples"),
    Planted("bursty-samples", ("workers", "prefetch", "in-memory"), "even-samples"),
    Planted("many-workers", ("in-memory", "workers"), "batches-of-32"),
    Planted("new-iterator", ("persistent",), "kept-iterator"),
    Planted("garbage", ("collector",), "no-python"),
    Planted("anomaly", ("anomaly",), "no-anomaly"),
    Planted("per-parameter", ("optimizer",), "fused"),
    Planted("zeroed", ("set-to-none",), "freed"),
    Planted("slow-collate", ("workers",), "batches-of-32"),
)
HEALTHY = ("healthy", "convolutions", "attention", "recurrent", "batches-of-128")


def main() -> int:
    """Exit code 1 where fewer than ten agree, a healthy one gains, or the reference loop is not found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, help="file that holds the two comments")
    parser.add_argument("--only", default="", help="presets, or `reference`, separated by commas")
    parser.add_argument("--budget", type=float, default=6.0, help="minutes for each")
    parser.add_argument("--data", type=Path, help="results so far, a line each: what is there is not run again")
    arguments = parser.parse_args()
    only = tuple(filter(None, arguments.only.split(",")))
    names = [*(one.name for one in PLANTED), *HEALTHY, "reference"]
    rows = _kept(arguments.data)
    for name in (one for one in names if not only or one in only):
        if name not in rows:
            rows[name] = measured(name, arguments.budget)
            if arguments.data is not None:
                with arguments.data.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(rows[name]) + "\n")
        sys.stderr.write(f"{name}: {said(rows[name])}\n")
    text = "\n".join(tables(rows))
    if arguments.output:
        whole = arguments.output.read_text("utf-8")
        head, _, rest = whole.partition(BEGIN)
        arguments.output.write_text(f"{head}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}", "utf-8")
    else:
        sys.stdout.write(text + "\n")
    return 0 if only or sound(rows) else 1


def _kept(path: Path | None) -> dict[str, dict[str, Any]]:
    if path is None or not path.exists():
        return {}
    return {row["name"]: row for row in map(json.loads, path.read_text("utf-8").splitlines())}


def measured(name: str, budget: float) -> dict[str, Any]:
    """What `tune` says of a loop, and the zoo or the sweep of the same."""
    from traces.collect.output.cores import usable_cores

    begun = time.monotonic()
    row: dict[str, Any] = {
        "name": name,
        "date": datetime.now(timezone.utc).date().isoformat(),
        "load": os.getloadavg()[0],
    }
    # On one thread, as the zoo runs them, another one would be something to gain.
    row["tune"] = tuned([name, str(usable_cores())] if name in HEALTHY else [name], budget)
    planted = next((one for one in PLANTED if one.name == name), None)
    if planted is not None and "trials" in row["tune"]:
        row["zoo"] = zoos(planted)
    if name == "reference" and "trials" in row["tune"]:
        row["sweep"] = sweep([name])
    return row | {"seconds": time.monotonic() - begun}


def tuned(words: Sequence[str], budget: float) -> dict[str, Any]:
    """The result of `advisor tune` on a loop, as a user would call it; why there is none where it refused."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "analyzer.cli.main", "tune", str(SCRIPT), *words]
        options = ["--folder", f"{folder}/run", "--budget", str(budget), "--format", "json"]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        ran = subprocess.run(
            [*command[:4], *options, *command[4:]],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode:
            return {"refused": ran.stderr.strip()[-600:], "code": ran.returncode}
        found: dict[str, Any] = json.loads(ran.stdout)
        return found


def zoos(planted: Planted) -> dict[str, float]:
    """The gain of the zoo's remedy with half its 95 % interval."""
    from analyzer.cli.commands.zoo.chance import mean_of
    from traces.collect.zoo import PRESETS
    from traces.collect.zoo.session import time_pair

    by_name = {one.name: one for one in PRESETS}
    gain = mean_of(time_pair(by_name[planted.name], by_name[planted.remedy], seconds=0.5).gains)
    return {"gain": gain.value, "half": t95(gain.freedom) * gain.error}


def t95(freedom: float) -> float:
    """Student's t that holds 95 %."""
    from scipy.stats import t

    return float(t.ppf(0.975, freedom))


def sweep(words: Sequence[str]) -> dict[str, float]:
    """The step of each number of workers and each way to hold the data, in ms: the median of two runs."""
    from analyzer.tune.catalogue import BY_NAME, Machine
    from traces.collect.output.cores import usable_cores
    from traces.collect.tune.run import run
    from traces.collect.tune.trial import Asked, Changes, Script

    machine, script = Machine(usable_cores(), False), Script(target=str(SCRIPT), arguments=tuple(words))
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("workers", "in-memory"):
            for value in BY_NAME[name].values(machine):
                changes: Changes = {name: value}
                warmup = 10 + (2 * int(value) if name == "workers" else 0)
                asked = Asked(changes=changes, warmup=warmup, steps=400, least_ns=2_000_000_000, seed=0)
                runs = [run(script, asked, Path(folder) / "log") for _ in range(2)]
                steps = [one.step_ns for one in runs if one.ending == "measured" and name in one.applied]
                if steps:
                    found[f"{name}={value}"] = statistics.median(steps) / 1e6
    return found


def helping(row: dict[str, Any], among: Sequence[str] = ()) -> dict[str, Any] | None:
    """The trial that helped most, of some changes or of all."""
    trials = [
        one for one in row["tune"].get("trials", ()) if one["verdict"] == "helps" and (not among or _of(one) in among)
    ]
    return max(trials, key=lambda one: float(one["measured_ratio"]), default=None)


def _of(trial: dict[str, Any]) -> str:
    """`in-memory` of `in-memory=samples`."""
    return str(trial["change"]).partition("=")[0]


def agrees(row: dict[str, Any]) -> bool:
    """Whether the planted remedy was found, with the zoo's gain within both errors; another change may help more."""
    planted = next(one for one in PLANTED if one.name == row["name"])
    best = helping(row, planted.changes)
    if best is None:
        return False
    half = max(best["high_ratio"] - best["measured_ratio"], best["measured_ratio"] - best["low_ratio"])
    apart = abs(best["measured_ratio"] - row["zoo"]["gain"])
    return bool(apart <= math.hypot(half, row["zoo"]["half"]) + LEAST_NOISE)


def beside_sweep(row: dict[str, Any]) -> tuple[str, float, int, int]:
    """The best of the sweep, how much longer the step found is, and the runs of both: what is tried of loading, and all values."""
    values: dict[str, float] = row["sweep"]
    best = min(values, key=lambda name: values[name])
    trials = [one for one in row["tune"]["trials"] if one["change"].partition("=")[0] in ("workers", "in-memory")]
    found = helping(row)
    chosen = values.get(found["change"], math.inf) if found is not None else math.inf
    return best, chosen / values[best] - 1, sum(max(len(one["tried"]), 1) for one in trials), len(values)


def sound(rows: dict[str, dict[str, Any]]) -> bool:
    """Whether all that is promised holds."""
    agreed = sum(agrees(rows[one.name]) for one in PLANTED if "zoo" in rows.get(one.name, {}))
    quiet = all(helping(rows[name]) is None for name in HEALTHY)
    _, over, tried, of = beside_sweep(rows["reference"])
    return agreed >= 10 and quiet and over <= 0.10 and tried <= of / 2


def said(row: dict[str, Any]) -> str:
    """A row in a line."""
    if "refused" in row["tune"]:
        return f"refused ({row['tune']['code']}): {row['tune']['refused'].splitlines()[-1]}"
    planted = next((one.changes for one in PLANTED if one.name == row["name"]), ())
    best = helping(row, planted) or helping(row)
    change = f"{best['change']} {percent(best['measured_ratio'])}" if best else "nothing helps"
    zoo = f", zoo {percent(row['zoo']['gain'])}, {'agrees' if agrees(row) else 'DIFFERS'}" if "zoo" in row else ""
    return f"{change}{zoo}, {row['seconds']:.0f} s"


def tables(rows: dict[str, dict[str, Any]]) -> Iterator[str]:
    """The tables, as Markdown."""
    from traces.collect.output.cores import usable_cores

    days = sorted({row["date"] for row in rows.values()})
    loads = [row["load"] for row in rows.values()]
    yield (
        f"Written by `python tests/bench/tune.py -o analyzer/tune/README.md` on {' and '.join(days)}: {usable_cores()} cores, "
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, load {min(loads):.1f} to {max(loads):.1f} "
        "beside other programs."
    )
    yield ""
    yield "| planted | rules | found by `tune` | promised | measured | 95 % interval | the zoo's remedy | agree | helps more |"
    yield "|---|---|---|---|---|---|---|---|---|"
    yield from (planted_row(rows[one.name]) for one in PLANTED if one.name in rows)
    agreed = [one.name for one in PLANTED if "zoo" in rows.get(one.name, {}) and agrees(rows[one.name])]
    yield ""
    yield f"The remedy was found and its gain agrees with the zoo's in {len(agreed)} of {sum(one.name in rows for one in PLANTED)}."
    healthy = [rows[name] for name in HEALTHY if name in rows]
    if healthy:
        yield ""
        yield "| healthy | tried | that helps |"
        yield "|---|---|---|"
        for row in healthy:
            tried = ", ".join(one["change"] for one in row["tune"].get("trials", ()) if one["verdict"] != "not run")
            best = helping(row)
            yield f"| {row['name']} | {tried or 'nothing to try'} | {best['change'] if best else 'nothing'} |"
    if "sweep" in rows.get("reference", {}):
        row = rows["reference"]
        quickest, over, runs, of = beside_sweep(row)
        best = helping(row)
        yield ""
        chose = (
            f"chose {best['change']}, a step {percent(over)} longer than that of" if best else "chose nothing, beside"
        )
        yield (
            f"Reference loop: `tune` {chose} the best of the sweep ({quickest}, {row['sweep'][quickest]:.2f} ms), with {runs} "
            f"values run of {of}."
        )


def planted_row(row: dict[str, Any]) -> str:
    """A preset's row: the planted change, or what became of it; and what helped more than that."""
    zoo = f"{percent(row['zoo']['gain'])} ± {percent(row['zoo']['half'])}" if "zoo" in row else "-"
    planted = next(one for one in PLANTED if one.name == row["name"])
    trials = [one for one in row["tune"].get("trials", ()) if _of(one) in planted.changes]
    found, most = helping(row, planted.changes) or next(iter(trials), None), helping(row)
    more = f"{most['change']}: {percent(most['measured_ratio'])}" if most is not None and most is not found else "-"
    if found is None:
        return f"| {row['name']} | - | not tried | - | - | - | {zoo} | no | {more} |"
    told = found["change"] if found["verdict"] == "helps" else f"{found['change']}: {found['verdict']}"
    measured = "-" if found["measured_ratio"] is None else percent(found["measured_ratio"])
    between = "-" if found["low_ratio"] is None else f"{percent(found['low_ratio'])} to {percent(found['high_ratio'])}"
    agree = "yes" if "zoo" in row and agrees(row) else "no"
    rules, promised = ", ".join(found["rules"]), percent(found["promised_ratio"])
    return f"| {' | '.join([row['name'], rules, told, promised, measured, between, zoo, agree, more])} |"


def percent(ratio: float) -> str:
    """`64.1%`."""
    return f"{ratio:.1%}"


if __name__ == "__main__":
    raise SystemExit(main())
