"""Matrix work on 16-bit floats where the processor has no units for them: torch then multiplies them without its fast path."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice, Confidence, Figure, Finding, Saving
from analyzer.spans.intervals import IntervalSet
from analyzer.units import duration, share
from rules.framework_words import thirty_two_bits
from rules.purpose import by_purpose

# Units by which oneDNN multiplies 16-bit floats, or does so by 32-bit ones hardly slower.
_UNITS = frozenset({"avx512f", "avx512_bf16", "amx_bf16"})
# Of a ResNet's weights a third are those of convolutions, which autocast converts; programs that convert none have none.
_CONVERTS = 0.25
# With AVX2 alone a convolution took 13 times as long in bfloat16, products of matrices 25 to 87 times, float16 alike (torch 2.15).
_SAVED = 0.9
_PLAIN = Advice(
    "diff",
    '-with torch.autocast("cpu", dtype=torch.bfloat16):\n-    loss = criterion(model(inputs), targets)\n'
    "+loss = criterion(model(inputs), targets)",
    "Where the model itself was turned: without `model.to(torch.bfloat16)` or `torch_dtype=torch.bfloat16`.",
)
_PLAIN_RUN = Advice("diff", "-model = model.to(torch.bfloat16)\n+model = model.float()", "Without autocast, likewise.")


def multiplied(facts: Facts) -> IntervalSet | None:
    """Matrix work that is on 16-bit floats, by input types, or by weights that are converted; None where neither shows it.

    None as well where the processor has such units, or nobody recorded what it has.
    """
    features, work = facts.recording.collected.cpu_features, facts.kernels.cpu_work
    if features is None or "avx2" not in features or features & _UNITS:
        return None
    if work.typed:
        return work.short or None
    converted = facts.kernels.converted_weights_ratio
    return work.matrix if converted is not None and converted >= _CONVERTS else None


def finding(facts: Facts, time: IntervalSet) -> Finding:
    """That the processor is slow at it, and how to do without."""
    typed, converted = facts.kernels.cpu_work.typed, facts.kernels.converted_weights_ratio or 0.0
    ratio = share(facts.steps.ratio(time.total_ns))
    taken = f"takes {duration(facts.steps.per_step(time.total_ns))} of {facts.steps.each} ({ratio})"
    what = (
        f"Matrix work on 16-bit floats {taken}"
        if typed
        else f"Matrix work {taken}, and {share(converted)} of the weights are converted in each step, as autocast to 16 bits does"
    )
    said = thirty_two_bits(facts)
    words = "A trainer's default may be bfloat16, as TRL's is." if said is not None else ""
    return Finding(
        why=f"{what}; the processor has no units for such floats (AVX2 alone), so that they are multiplied without the fast path "
        "that 32-bit floats have.",
        saving=Saving(
            time.scaled(_SAVED),
            basis="nine tenths of the matrix work: in 32-bit floats a convolution took a thirteenth of the time, products less",
            kind=Figure.ESTIMATE,
        ),
        fix=by_purpose(facts, (_PLAIN_RUN,), (Advice("diff", said, words) if said is not None else _PLAIN,)),
        verify="Record again: the matrix ops should become much shorter; then run `advisor compare`.",
        steps_seen=facts.steps.count_with(time),
        confidence=Confidence.MEDIUM if typed else Confidence.LOW,
        caveats=(
            "Newer processors multiply bfloat16 with AVX2 as well (AVX-NE-CONVERT), which the recording does not tell.",
        ),
        title="16-bit floats without units for them",
    )
