"""Analyses built in code, each consistent in itself, for the tests of everything that shows one."""

from __future__ import annotations

import statistics
from typing import Any, get_args

import msgspec

from analyzer import analysis as doc

MS = 1_000_000
CAUSES: tuple[doc.Cause, ...] = get_args(doc.Cause)
NO_WASTE: dict[str, int] = {"device_wait": 9 * MS, "input": 1 * MS, "launch": 2 * MS, "python": 1 * MS}
USUAL: dict[str, int] = {
    "copy": 12 * MS,
    "device_wait": 8 * MS,
    "input": 133 * MS,
    "sync": 37 * MS,
    "transfer_call": 6 * MS,
    "optimizer": 9 * MS,
    "launch": 16 * MS,
    "framework": 12 * MS,
    "python": 4 * MS,
    "unexplained": 1 * MS,
}
CPU_ONLY: dict[str, int] = {"input": 3 * MS, "optimizer": 1 * MS, "python": 1 * MS}
DL001, DL002, SY001, PR001 = "DL001-6d1f", "DL002-6d1f", "SY001-02aa", "PR001-9b3c"
ID001, XF001, OP001, PY001 = "ID001-77e0", "XF001-51c8", "OP001-1d2e", "PY001-c3f4"
NOTHING_TO_CHANGE = "compute-bound: the model itself is 94 % of the step"


def step_row(step: int, start_ns: int, dur_ns: int, waste: dict[str, int], reason: str | None = None) -> doc.StepRow:
    """A step whose causes add up to its wall time: compute owns what `waste` leaves."""
    parts = {**waste, "compute": dur_ns - sum(waste.values())}
    causes = tuple(
        doc.CauseTime(cause=cause, ns=parts.get(cause, 0), ratio=parts.get(cause, 0) / dur_ns) for cause in CAUSES
    )
    return doc.StepRow(step=step, start_ns=start_ns, dur_ns=dur_ns, used=reason is None, reason=reason, causes=causes)


def step_rows(waste: dict[str, int], compute_ns: int, slow: int | None = None) -> tuple[doc.StepRow, ...]:
    """Steps 2 to 8, one after the other: the first left out as warm-up, `slow` waiting 54 ms longer for input."""
    rows: list[doc.StepRow] = []
    start = 0
    for step in range(2, 9):
        own = {**waste, "input": waste["input"] + (54 * MS if step == slow else 0)}
        dur = compute_ns + sum(own.values()) + (step % 3 - 1) * 20_017 + (90 * MS if step == 2 else 0)
        rows.append(step_row(step, start, dur, own, "first recorded step, 22 % longer" if step == 2 else None))
        start += dur
    return tuple(rows)


def summary(
    steps: tuple[doc.StepRow, ...], verdict: doc.Verdict, reachable_ns: int, findings: tuple[doc.FindingDocument, ...]
) -> doc.Summary:
    """Figures that follow from the used steps."""
    used = [row for row in steps if row.used]
    durations = sorted(row.dur_ns for row in used)
    window = sum(durations)
    totals = {cause: sum(row.causes[i].ns for row in used) for i, cause in enumerate(CAUSES)}
    median = int(statistics.median(durations))
    severities = [finding.severity for finding in findings]
    return doc.Summary(
        verdict=verdict,
        step_ns=doc.StepTimes(
            mean=window // len(used), median=median, p95=durations[-1], min=durations[0], max=durations[-1]
        ),
        unprofiled_step_ns=388 * MS,
        reachable_step_ns=reachable_ns,
        window_ns=window,
        used_steps=len(used),
        gpu_busy_ratio=(totals["compute"] + totals["copy"]) / window,
        compute_ratio=totals["compute"] / window,
        launch_lead_ns_median=41_000,
        representative_step=min(used, key=lambda row: abs(row.dur_ns - median)).step,
        waterfall=tuple(doc.CauseTime(cause=cause, ns=totals[cause], ratio=totals[cause] / window) for cause in CAUSES),
        devices=(),
        counts=doc.Counts(**{name: severities.count(name) for name in get_args(doc.SeverityName)}),
    )


def finding(identity: str, title: str, severity: str, ms: float, **changes: Any) -> doc.FindingDocument:
    """A finding of the example trace, with sensible values for what a test does not care about."""
    rule = identity.split("-")[0]
    values: dict[str, Any] = {
        "id": identity,
        "rule": rule,
        "name": title.lower().replace(" ", "-"),
        "family": "data_loading" if rule.startswith("DL") else "sync",
        "title": title,
        "severity": severity,
        "confidence": "high",
        "saving": saving(ms),
        "steps": doc.SeenSteps(seen=6, of=6),
        "rank": 0,
        "explained_by": (),
        "location": None,
        "why": f"{title}: measured {ms} ms in every step.",
        "caveats": (),
        "evidence": (),
        "fix": (doc.Advice(language="text", code="Do less of it.", note=""),),
        "verify": f"advisor explain after.json --select {rule}",
        "references": (),
    }
    return doc.FindingDocument(**{**values, **changes})


def saving(ms: float, basis: str = "device-idle time owned by this cause", *overlaps: str) -> doc.SavingDocument:
    """An upper bound of `ms` on the example's step of 412 ms."""
    return doc.SavingDocument(
        ns_per_step_max=int(ms * MS), ratio_max=ms / 412, basis=basis, overlaps_with=tuple(overlaps)
    )


def bars(title: str, unit: doc.Unit, **values: float) -> doc.Bars:
    """Bars named by keyword, underscores for spaces."""
    items = tuple(doc.Bar(label=label.replace("_", " "), value=value) for label, value in values.items())
    return doc.Bars(title=title, unit=unit, bars=items)


def example_findings(steps: tuple[doc.StepRow, ...]) -> tuple[doc.FindingDocument, ...]:
    """Eight findings, one explained by a more specific one and one under 2 %."""
    fix = doc.Advice
    idle = "GPU idle while the main thread is inside the loader's __next__; assumes loading hides fully behind compute"
    train = doc.Location(file="train.py", line=88, function="train_epoch")
    loader = doc.Intervals(title="GPU waits for input in step 4", step=4, spans=((0, 133 * MS), (401 * MS, 402 * MS)))
    place = CAUSES.index("input")
    waited = tuple(float(row.causes[place].ns) for row in steps if row.used)
    waits = doc.Series(title="input wait", unit="ns", values=waited)
    calls = doc.Table(
        title="blocking calls per step",
        columns=tuple(
            doc.Column(title=title, unit=unit)
            for title, unit in (("call", "text"), ("calls", "count"), ("blocked", "ns"), ("of step", "ratio"))
        ),
        rows=(("cudaStreamSynchronize", 3, 63 * MS, 0.153), ("cudaMemcpyAsync", 1, 2_400_000.0, 0.0058)),
    )
    loader_why = (
        "The GPU has nothing to do for 142 ms of each 412 ms step while the main thread is inside "
        "`_SingleProcessDataLoaderIter.__next__`."
    )
    workers = (
        fix(
            language="diff",
            code=" loader = DataLoader(\n-    dataset, batch_size=64,\n+    dataset, batch_size=64, num_workers=8,\n"
            "+    persistent_workers=True,\n )",
            note="Start with the number of cores per process.",
        ),
        fix(language="text", code="Decode once, keep the tensors in memory.", note="Where the data fit in memory."),
    )
    in_turn = f"{loader_why} Batches are decoded one after the other in the training process (`num_workers=0`)."
    tf32 = (fix(language="python", code='torch.set_float32_matmul_precision("high")', note=""),)
    shell = (
        fix(language="shell", code="advisor collect --model cnn --compile -o compiled.json", note="Compare both."),
    )
    tiny = bars("kernels per step", "count", shorter_than_10_us=11_204, all=12_431)
    copies = bars("copied per step", "bytes", pageable=38_535_168, pinned=0)
    item = (
        fix(language="diff", code="-running += loss.item()\n+running += loss.detach()", note="Read it every 50 steps."),
    )
    found = (
        finding(DL001, "DataLoader leaves the GPU waiting", "high", 142, location=train, why=loader_why,
                saving=saving(142, idle, DL002), explained_by=(DL002,), evidence=(waits,)),
        finding(DL002, "DataLoader has no workers", "high", 142, location=train, saving=saving(142, idle, DL001),
                why=in_turn, fix=workers, caveats=("On 2 cores workers can make a small loop slower.",),
                evidence=(loader, waits, bars("per step", "ns", GPU_idle_in_loader=142e6, GPU_busy=177e6)),
                references=("https://pytorch.org/docs/stable/data.html",)),
        finding(SY001, "loss.item() stalls every step", "medium", 37, evidence=(calls,), fix=item, confidence="medium",
                location=doc.Location(file="train.py", line=101, function=None),
                why="`aten::_local_scalar_dense` calls `cudaStreamSynchronize` 3 times per step and drains the queue."),
        finding(PR001, "FP32 matmuls without Tensor Cores", "low", 30, family="precision", confidence="medium",
                fix=tf32, saving=saving(30, "kernel time, discounted for idle time"),
                evidence=(bars("of matmul time", "ratio", sgemm=0.94, tensor_core=0.06),)),
        finding(ID001, "Launches cannot keep the GPU busy", "low", 28, family="idle", fix=shell, confidence="medium",
                saving=saving(28, "device-idle time inside launch calls and ops", OP001), evidence=(tiny,)),
        finding(XF001, "Copies from pageable memory", "info", 18, family="transfer", evidence=(copies,)),
        finding(OP001, "Optimizer runs a kernel per tensor", "info", 9, family="optimizer",
                saving=saving(9, "device-idle time inside Optimizer.step", ID001)),
        finding(PY001, "Garbage collection inside steps", "info", 4, family="python",
                steps=doc.SeenSteps(seen=2, of=6)),
    )  # fmt: skip
    return tuple(msgspec.structs.replace(one, rank=number) for number, one in enumerate(found, 1))


def check(rule: str, state: doc.StateName, title: str, reason: str) -> doc.CheckDocument:
    """What became of one rule."""
    name = title.lower().replace(" ", "-")
    return doc.CheckDocument(rule=rule, name=name, title=title, family="any", state=state, reason=reason)


def example_checks(findings: tuple[doc.FindingDocument, ...]) -> tuple[doc.CheckDocument, ...]:
    """Every state a check can have."""
    others = (
        check("CO001", "not_applicable", "Communication is exposed", "one process, no collectives"),
        check("ID002", "suppressed", "Host Python leaves the GPU idle", "ID001 owns the same time"),
        check("ME001", "cannot_tell", "Allocator works inside steps", "needs profile_memory=True"),
        check("ME002", "cannot_tell", "Memory grows from step to step", "needs profile_memory=True"),
        check("OP003", "clear", "Gradients are zeroed by kernels", "zero_grad takes 0.3 % of the step"),
        check("PG001", "clear", "The trace has too few steps", "6 used steps"),
        check("PG003", "crashed", "Kernels were lost", "ZeroDivisionError: division by zero"),
        check("PY002", "disabled", "Python overhead between ops", "not selected"),
        check("SY002", "clear", "Explicit synchronisation in steps", "0 calls"),
    )
    fired = (check(one.rule, "fired", one.title, f"at most {one.saving.ratio_max:.1%}") for one in findings)
    return tuple(sorted((*fired, *others), key=lambda one: one.rule))


def timeline() -> doc.Timeline:
    """Step 4: one wait for input, then forward, backward, optimizer; a device lane with two bursts."""

    def lane(name: str, kind: Any, *spans: tuple[int, int, str, doc.Cause]) -> doc.Lane:
        return doc.Lane(name=name, kind=kind, spans=tuple(
            doc.Span(start_ns=start * MS, dur_ns=(end - start) * MS, label=label, cause=cause)
            for start, end, label, cause in spans
        ))  # fmt: skip

    main = lane(
        "thread 4711 (main)", "host", (0, 133, "_SingleProcessDataLoaderIter.__next__", "input"),
        (133, 139, "cudaMemcpyAsync", "transfer_call"), (140, 196, "forward", "framework"), (196, 200, "", "python"),
        (290, 345, "aten::item", "sync"), (346, 380, "Optimizer.step#AdamW.step", "optimizer"),
        (380, 401, "cudaStreamSynchronize", "sync"),
    )  # fmt: skip
    autograd = lane("thread 4720 (autograd)", "host", (200, 288, "autograd::engine", "framework"))
    gpu = lane(
        "GPU 0", "device", (136, 148, "Memcpy HtoD (Pageable -> Device)", "copy"), (150, 215, "forward", "compute"),
        (222, 318, "backward", "compute"), (352, 381, "multi_tensor_apply_kernel", "compute"),
    )  # fmt: skip
    return doc.Timeline(step=4, dur_ns=403 * MS, lanes=(main, autograd, gpu))


def half_idle(**changes: Any) -> doc.Analysis:
    """The example whose device works a quarter of its spans: many short kernels with gaps too short to be drawn."""
    base = example()
    lanes = tuple(
        msgspec.structs.replace(
            lane,
            spans=tuple(msgspec.structs.replace(span, busy_ns=span.dur_ns // 4) for span in lane.spans),
        )
        for lane in base.timeline.lanes
    )
    return msgspec.structs.replace(base, timeline=msgspec.structs.replace(base.timeline, lanes=lanes), **changes)


def trace_info(**changes: Any) -> doc.TraceInfo:
    """An H100 trace of seven steps with shapes and stacks."""
    info = doc.TraceInfo(
        name="trace.json.gz", sha256="4be1" * 16, bytes=18_874_368, events=412_345, ranks=(0,),
        device=doc.DeviceInfo(kind="cuda", name="NVIDIA H100 80GB HBM3", count=1),
        versions=doc.Versions(torch="2.5.1", cuda="12.4", rocm=None, python="3.11.9"),
        profiler=doc.ProfilerOptions(stacks=True, shapes=True, memory=False, flops=False),
        steps=doc.Steps(source="ProfilerStep", count=7, used=6, excluded=(
            doc.ExcludedStep(step=2, reason="first recorded step, 22 % longer"),)),
    )  # fmt: skip
    return msgspec.structs.replace(info, **changes)


def example(**changes: Any) -> doc.Analysis:
    """A run on one GPU that waits for input; `changes` replace top-level parts."""
    steps = step_rows(USUAL, 165 * MS, slow=6)
    findings = example_findings(steps)
    verdict = doc.Verdict(
        bound_by="input", ratio=142 / 412, text="input-bound: the GPU waits for data in 34 % of the step"
    )
    checks = example_checks(findings)
    caution = (doc.Reason(code="PG002", message="The profiler adds 6 % to each step.", count=1),)
    repair = doc.Repair(
        kind="truncated",
        count=1,
        first_offset=18_870_001,
        first_event=412_345,
        message="the last event was cut off; left out",
    )
    whole = doc.Analysis(
        schema_version=doc.SCHEMA_VERSION, tool=doc.Tool(name="trace-advisor", version="0.1.0"), trace=trace_info(),
        trust=doc.Trust(verdict="caution", reasons=caution), repairs=(repair,),
        summary=summary(steps, verdict, 148 * MS, findings), findings=findings, checks=checks, steps=steps,
        timeline=timeline(), slowest=msgspec.structs.replace(timeline(), step=6, dur_ns=457 * MS),
    )  # fmt: skip
    return msgspec.structs.replace(whole, **changes)


def healthy(**changes: Any) -> doc.Analysis:
    """A compute-bound run: no findings, every check passed but one."""
    steps = step_rows(NO_WASTE, 230 * MS)
    verdict = doc.Verdict(bound_by="compute", ratio=230 / 243, text=NOTHING_TO_CHANGE)
    figures = msgspec.structs.replace(summary(steps, verdict, 243 * MS, ()), unprofiled_step_ns=None)
    checks = tuple(one for one in example_checks(()) if one.state in ("clear", "cannot_tell", "not_applicable"))
    plain = example(slowest=None, findings=(), checks=checks, steps=steps, repairs=(), summary=figures)
    return msgspec.structs.replace(plain, trust=doc.Trust(verdict="ok", reasons=()), **changes)


def cpu_only(**changes: Any) -> doc.Analysis:
    """A run without an accelerator: no device figures, no device lane."""
    steps = step_rows(CPU_ONLY, 5 * MS)
    verdict = doc.Verdict(bound_by="input", ratio=0.3, text="input-bound: loading takes 30 % of the step")
    found = (finding(DL001, "The loop waits for the DataLoader", "high", 3, saving=doc.SavingDocument(
        ns_per_step_max=3 * MS, ratio_max=0.3, basis="time in the loader's __next__", overlaps_with=())),)  # fmt: skip
    figures = summary(steps, verdict, 7 * MS, found)
    figures = msgspec.structs.replace(
        figures, gpu_busy_ratio=None, launch_lead_ns_median=None, unprofiled_step_ns=7_400_000
    )
    trace = trace_info(name="cpu.json", device=doc.DeviceInfo(kind="cpu", name=None, count=0))
    lanes = tuple(lane for lane in timeline().lanes if lane.kind == "host")
    base = example(
        slowest=None, trace=trace, findings=found, summary=figures, steps=steps, checks=example_checks(found)
    )
    line = doc.Timeline(step=figures.representative_step, dur_ns=403 * MS, lanes=lanes)
    return msgspec.structs.replace(base, timeline=line, **changes)


def no_steps(**changes: Any) -> doc.Analysis:
    """No step marks in the trace: the whole of it is taken as one step, so every confidence is low."""
    base = example()
    steps = (step_row(0, 0, 412 * MS, {**USUAL, "input": 142 * MS}),)
    found = tuple(
        msgspec.structs.replace(one, confidence="low", steps=doc.SeenSteps(seen=1, of=1), evidence=())
        for one in base.findings
    )
    figures = summary(steps, base.summary.verdict, 148 * MS, found)
    figures = msgspec.structs.replace(figures, representative_step=None, unprofiled_step_ns=None)
    reasons = (
        doc.Reason(code="PG001", message="No ProfilerStep marks: call prof.step() once per iteration.", count=1),
    )
    whole = msgspec.structs.replace(
        base, slowest=None, trace=trace_info(steps=doc.Steps(source="whole-trace", count=1, used=1, excluded=())), findings=found,
        steps=steps, summary=figures, trust=doc.Trust(verdict="caution", reasons=reasons),
    )  # fmt: skip
    return msgspec.structs.replace(whole, timeline=msgspec.structs.replace(base.timeline, step=None), **changes)


def unusable(**changes: Any) -> doc.Analysis:
    """Read, but not to be trusted: kernels were lost, so there are no findings."""
    base = example()
    reasons = (doc.Reason(code="PG003", message="8,120 of 12,431 launches have no kernel.", count=8_120),)
    verdict = doc.Verdict(bound_by="unknown", ratio=0.0, text="unknown: this trace cannot be the base of advice")
    figures = msgspec.structs.replace(
        summary(base.steps, verdict, base.summary.step_ns.mean, ()), unprofiled_step_ns=None
    )
    checks = tuple(check(one.rule, "suppressed", one.title, "the trace is unusable") for one in base.checks)
    trust = doc.Trust(verdict="unusable", reasons=reasons)
    return msgspec.structs.replace(base, trust=trust, summary=figures, findings=(), checks=checks, **changes)


HOSTILE_NAMES = (
    "kernel<4>[float][/half]", "\x1b[31mred\x1b[0m\x1b]0;title\x07", "</script><img src=x onerror=alert(1)>",
    "`tick` ```fence", "\u202egnp.exe", "nul\x00byte", "emoji \U0001f525 wide \u6f22\u5b57", "[bold]@click=app.quit[/]",
    "two\nlines\r\tcontrol\x9b31m",
    "x" * 10_240, "::error file=a::b | c", "#123 @torch.compile <lambda> \ud7ff",
)  # fmt: skip


def hostile(**changes: Any) -> doc.Analysis:
    """The example with names a trace may hold but no terminal, markup or web page may interpret."""
    base = example()
    names = iter(HOSTILE_NAMES * 100)
    replace = msgspec.structs.replace

    def spoil(one: doc.FindingDocument) -> doc.FindingDocument:
        evil = " / ".join(HOSTILE_NAMES)
        fixes = tuple(replace(fix, code=f"{next(names)}\n{fix.code}", note=next(names)) for fix in one.fix)
        columns = (doc.Column(title=next(names), unit="text"),)
        table = doc.Table(title=next(names), columns=columns, rows=tuple((name,) for name in HOSTILE_NAMES))
        chart = bars(next(names), "text", **{next(names): 1})
        return replace(
            one, why=evil, caveats=(evil,), fix=fixes, evidence=(*one.evidence, table, chart), verify=next(names),
            location=doc.Location(file=next(names), line=1, function=next(names)),
        )  # fmt: skip

    trace = trace_info(name=HOSTILE_NAMES[1], device=doc.DeviceInfo(kind="cuda", name=HOSTILE_NAMES[0], count=1))
    lanes = tuple(
        replace(lane, name=next(names), spans=tuple(replace(span, label=next(names)) for span in lane.spans))
        for lane in base.timeline.lanes
    )
    checks = tuple(replace(one, reason=next(names)) for one in base.checks)
    trust = doc.Trust(
        verdict="caution", reasons=tuple(doc.Reason(code=None, message=n, count=1) for n in HOSTILE_NAMES)
    )
    repairs = tuple(doc.Repair(kind=name, count=1, first_offset=None, message=name) for name in HOSTILE_NAMES)
    spoilt = replace(
        base,
        trace=trace,
        findings=tuple(spoil(one) for one in base.findings),
        checks=checks,
        trust=trust,
        repairs=repairs,
    )
    slowest = replace(base.timeline, step=6, lanes=lanes)
    return replace(spoilt, timeline=replace(base.timeline, lanes=lanes), slowest=slowest, **changes)
