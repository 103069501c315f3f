"""PY006 stepped-recurrence: a recurrent cell is called once per element of a sequence, from Python.

## What it finds
`nn.LSTMCell`, `nn.GRUCell` or `nn.RNNCell` in a `for` over time, `nn.LSTM` and its kin that get one element and the state of the
turn before in each turn, or a cell written by hand: an element taken by its index, a matrix
product and a gate (`tanh`, `sigmoid`), ten times or more in a row. Or a linear recurrence, as the selective scan of a state space
written out: a state times one element, plus another, and a product.

## Why it costs time
Each turn pays Python and dispatch for every op of the cell, in the forward and again in the backward pass. `nn.LSTM` and its kin
take the whole sequence in one call: one matrix product for all inputs, and the steps in time in one kernel or library call.

## How it is measured
As PY002, for sequences with a cell. The cost is the loop with its backward pass: on a device the idle time in which the host
prepares work, and the loop's kernels; on a CPU-only trace its time inside and between ops, or between ops alone where torch's layer
has no op for all turns there (any but an LSTM in 16 or 32 bits, by the types of products, else by what `advisor collect` says of
the parameters). What stays is one repetition, half of the forward matrix products and a quarter of those of the backward pass: the
product with the state needs the turn before, and so does its gradient. Unit: nanoseconds.

## Example
Slow:

```python
cell = nn.LSTMCell(n, h)
for t in range(len(x)):
    hx, cx = cell(x[t], (hx, cx))
    outputs.append(hx)
```

Faster:

```python
rnn = nn.LSTM(n, h)
outputs, (hx, cx) = rnn(x)
```

## Fix
1. One of torch's cells: the layer over the whole sequence. Its weights are the cell's, under other names.
2. A cell of one's own: take what needs no state (the product with the input) out of the loop, once for all steps; `torch.compile`
   the rest.
3. A linear recurrence: a scan in one kernel, or by sums over time.
4. Turns that do not need one another (samples, heads): one call on the whole tensor.

## Expected gain
About the loop's cost, less what stays one after the other; on a device the layer's kernels are others than the cell's. Cells so
large that a turn is mostly arithmetic gain far less: the same arithmetic has to be done. On the CPU `nn.GRU`, `nn.RNN` and an
`nn.LSTM` in 64 bits call the same ops turn by turn, from C++: 18 to 28 %, 19 to 44 % and 11 to 25 % of the cells' time went, of an
`nn.LSTM` in 32 bits 43 to 92 %.

## When it is wrong
Where an input depends on the output before (attention over the decoder's state, sampling), one call cannot have the whole
sequence; on a device that has enough queued work meanwhile nothing is lost. A cell by hand may be something else that takes
elements: confidence is low; where each turn reads a value before the next, as a solver's does, nothing is claimed.

## Thresholds
- `min_ratio`: share of the used steps that the loop takes on the host from which the rule fires.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html
- https://docs.pytorch.org/docs/stable/generated/torch.compile.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.loops.cells import Cell
from analyzer.facts.loops.recurrence import Recurrence
from analyzer.finding import Advice, Confidence, Figure, Finding, Outcome, Saving, cannot_tell, clear
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import share
from rules.place import location, named
from rules.python.judging import LIST_RATIO, evidence, line_of, what
from rules.python.read_values import reads
from traces.trace import Capability

META = RuleMeta(
    code="PY006",
    name="stepped-recurrence",
    family="python",
    title="Recurrent cell stepped from Python",
    binds=("launch", "python"),
    needs=frozenset({Capability.HOST_OPS}),
    clear_needs=frozenset({Capability.LAUNCHES}),
    thresholds=(
        Threshold("min_ratio", LIST_RATIO, "ratio", "as PY003: worth a word only where it is a low finding at least"),
    ),
    explains=("ID001", "PY001", "CP005"),
    before=("ID001", "PY001", "CP005"),
    references=(
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html",
        "https://docs.pytorch.org/docs/stable/generated/torch.compile.html",
    ),
)
_MAX_FINDINGS = 3


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires for each stepped cell that takes at least `min_ratio` of the used steps."""
    found = facts.loops.recurrences
    costly = [one for one in found if facts.steps.ratio(one.loop.spans.total_ns) >= limits["min_ratio"]]
    if not costly:
        longest = max((facts.steps.ratio(one.loop.spans.total_ns) for one in found), default=0.0)
        yield clear(
            f"cells stepped from Python take at most {share(longest)} of the step, below {share(limits['min_ratio'])}"
        )
        return
    if facts.device.main is not None and not facts.time.launch_bound:
        yield clear("a cell is stepped from Python, but the GPU has enough queued work: launches do not limit the step")
        return
    told = [one for one in costly if one.cell is not None or not reads(one.loop)]
    if not told:
        yield cannot_tell(
            "a Python loop takes elements through layers, but reads a value in each turn, as a solver, a sampler or a simulator "
            "does before it goes on: whether a turn needs the one before decides what one call could do"
        )
        return
    for one in told[:_MAX_FINDINGS]:
        line = line_of(facts, one.loop)
        yield Finding(
            why=f"{_calls(one, named(line))}: {what(facts, one.loop)}.",
            saving=_saving(facts, one),
            fix=_fix(one),
            verify="Record again: one call instead of the repeated sequence; the same weights must give the same output.",
            steps_seen=one.loop.steps_seen,
            confidence=Confidence.LOW if one.cell is None else Confidence.MEDIUM if one.of_layer else Confidence.HIGH,
            evidence=evidence(facts, one.loop),
            location=location(line),
            caveats=_caveats(one),
            title=f"{one.cell} {'layer' if one.of_layer else 'cell'} stepped from Python"
            if one.cell
            else "Scan stepped from Python"
            if one.loop.scans
            else "Layers stepped from Python",
        )


def _calls(one: Recurrence, where: str) -> str:
    cell = one.cell
    if cell is None and one.loop.scans:
        return (
            f"A Python loop{where} multiplies and adds elements turn by turn with a product in each, as a linear recurrence "
            "written out does (the selective scan of a state space)"
        )
    if cell is None:
        return (
            f"A Python loop{where} takes elements through a layer and a gate, as a recurrent cell written by hand does"
        )
    if one.of_layer:
        return f"`{_LAYERS[cell][0]}` is called for one element of a sequence at a time by a Python loop{where}"
    article = "A" if cell == "GRU" else "An"
    return f"{article} {cell} cell is called once per element of a sequence by a Python loop{where}"


def _saving(facts: Facts, one: Recurrence) -> Saving:
    ratio = one.loop.avoidable_ratio
    work = facts.time.launched_in(one.loop.spans)
    if one.steps_itself and one.cell is not None:
        layer, _, _ = _LAYERS[one.cell]
        return Saving(
            claims=one.claims.scaled(ratio),
            basis=f"what lies between the loop's ops, less one repetition: on the CPU `{layer}` calls the same ops turn by turn",
        )
    return Saving(
        claims=one.claims.scaled(ratio),
        kernel_ns=int(max(one.work_ns, 0) * ratio),
        behind=facts.sync.behind(one.loop.spans) | (work.extent & facts.time.idle),
        basis="the loop and its backward pass, less one repetition and the products with the state, which need the turn before",
        # The layer's kernels are others, and may make what is left of the products shorter, too.
        kind=Figure.ESTIMATE,
    )


_UNKNOWN_BITS = (
    "On the CPU `nn.LSTM` in 64 bits calls the same ops turn by turn: then little more than what lies between them goes. "
    "`record_shapes=True` tells which bits these are."
)


def _caveats(one: Recurrence) -> tuple[str, ...]:
    if one.cell is not None:
        depends = (
            "Where an input depends on the output before it (attention, sampling), the sequence is not known at once."
        )
        return (depends, *((_UNKNOWN_BITS,) if one.steps_itself is None else ()))
    return ("The trace does not tell whether each turn needs the one before: the bound is of turns that do not.",)


_LAYERS: dict[Cell, tuple[str, str, str]] = {
    "LSTM": ("nn.LSTM", "hx, cx", "(hx, cx)"),
    "GRU": ("nn.GRU", "hx", "hx"),
    "RNN": ("nn.RNN", "hx", "hx"),
}
_COMPILE = Advice(
    "python",
    "step = torch.compile(step)",
    "The turn itself as one function, compiled: fewer and larger kernels, and the order in time stays.",
)


_SCAN = (
    Advice(
        "python",
        "y = selective_scan_fn(u, delta, A, B, C, D)   # mamba_ssm.ops.selective_scan_interface",
        "Where it is Mamba's scan: its library has one kernel for all steps, forward and backward. Models of transformers take it "
        "where `mamba-ssm` and `causal-conv1d` are installed.",
    ),
    Advice(
        "diff",
        "-for t in range(T):\n-    h = a[:, t] * h + b[:, t]\n-    y.append(h)\n"
        "+decay = a.log().cumsum(1)                       # 0 < a\n"
        "+y = decay.exp() * (b / decay.exp()).cumsum(1)   # h begins at 0; in chunks, where `decay` gets large",
        "Each state as a sum over time. In floats of 64 bits, or in chunks of some steps each: the quotient overflows otherwise.",
    ),
    _COMPILE,
)


def _of_layer(cell: Cell) -> tuple[Advice, ...]:
    layer, _, _ = _LAYERS[cell]
    return (
        Advice(
            "diff",
            "-for t in range(T):\n-    output, hidden = rnn(embed(x[t])[None], hidden)\n"
            "-    loss = loss + criterion(head(output[0]), y[t])\n"
            f"+outputs, hidden = rnn(embed(x), hidden)   # {layer} over x: (time, batch), or batch_first=True\n"
            "+loss = T * criterion(head(outputs).flatten(0, 1), y.flatten())",
            "What stands around the layer takes all elements in one call as well: embedding, head, loss.",
        ),
        _COMPILE,
    )


def _fix(one: Recurrence) -> tuple[Advice, ...]:
    if one.loop.scans and one.cell is None:
        return _SCAN
    if one.of_layer and one.cell is not None:
        return _of_layer(one.cell)
    return _of_cell(one.cell)


def _of_cell(cell: Cell | None) -> tuple[Advice, ...]:
    if cell is None:
        return (
            Advice(
                "diff",
                "-for t in range(T):\n-    h = torch.tanh(w_x(x[:, t]) + w_h(h))\n"
                "+inputs = w_x(x)                  # all steps in one product\n"
                "+for t in range(T):\n+    h = torch.tanh(inputs[:, t] + w_h(h))",
                "Where each turn needs the one before: only what needs the state stays in the loop. `nn.RNN` and its kin "
                "take the whole sequence, where one of them is the cell.",
            ),
            _COMPILE,
            Advice(
                "diff",
                "-for i in range(n):\n-    y.append(layer(x[i]))\n+y = layer(x)",
                "Where the turns do not need one another: samples, heads.",
            ),
        )
    layer, state, given = _LAYERS[cell]
    return (
        Advice(
            "diff",
            f"-cell = {layer}Cell(n, h)\n-for t in range(len(x)):\n-    {state} = cell(x[t], {given})\n-    outputs.append(hx)\n"
            f"+rnn = {layer}(n, h)              # its weights are the cell's: rnn.weight_ih_l0 is cell.weight_ih\n"
            f"+outputs, {given} = rnn(x)         # x: (time, batch, n), or batch_first=True",
            "Initial states get a first dimension of 1, one per layer; sequences of several lengths: `pack_padded_sequence`.",
        ),
        _COMPILE,
    )


RULE = Rule(META, check, __doc__)
