"""Heads of attention computed one after another, as a finding of PY003."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.loops.heads import HeadLoop
from analyzer.finding import Advice, Confidence, Figure, Finding
from rules.place import location, named
from rules.python.judging import evidence, line_of, what
from rules.python.layer_turns import saving_of_turns

_PROJECTED = Advice(
    "diff",
    " # __init__\n-self.heads = nn.ModuleList([Head(size) for _ in range(heads)])\n"
    "+self.qkv = nn.Linear(width, 3 * heads * size, bias=False)   # the bias as the heads have it\n"
    " # forward\n-out = torch.cat([head(x) for head in self.heads], dim=-1)\n"
    "+q, k, v = self.qkv(x).unflatten(-1, (3, heads, size)).permute(2, 0, 3, 1, 4)\n"
    "+out = F.scaled_dot_product_attention(q, k, v, is_causal=True)   # attn_mask= or neither, as the heads mask\n"
    "+out = out.transpose(1, 2).flatten(2)",
    "One product makes the queries, keys and values of all heads, and one op attends. It divides scores by the root of `size`: "
    "`scale=` says another factor. Weights of a checkpoint: one after another along dimension 0, those of all queries first.",
)
_SLICED = Advice(
    "diff",
    "-parts = [attend(q[..., h], k[..., h], v[..., h]) for h in range(heads)]\n-out = torch.cat(parts, dim=-1)\n"
    "+q, k, v = (t.unflatten(-1, (heads, size)).transpose(1, 2) for t in (q, k, v))   # (batch, heads, length, size)\n"
    "+out = F.scaled_dot_product_attention(q, k, v)                # is_causal= or attn_mask=, as the heads mask\n"
    "+out = out.transpose(1, 2).flatten(2)",
    "Heads are a dimension of the batched product. It divides scores by the root of `size`: `scale=` says another factor.",
)
_OR_LAYERS = (
    "Without recorded shapes layers of attention, each of which takes what the one before gave, look the same where nothing is "
    "added or normalised between them and all are joined: those stay."
)
_FASTER = "One large op may take less than many small ones beside that"


def heads_finding(facts: Facts, one: HeadLoop) -> Finding:
    """How many heads, what they take, and what all but one of them cost beside their products."""
    loop, line = one.loop, line_of(facts, one.loop)
    own = ", each with projections of its own," if one.projects else ""
    return Finding(
        why=f"{one.heads} heads of attention{own} are computed one after another{named(line)} and joined: {what(facts, loop)}.",
        saving=saving_of_turns(facts, one, kind=Figure.ESTIMATE, besides=_FASTER),
        fix=(_PROJECTED if one.projects else _SLICED,),
        verify="Record again: each layer attends in one op; with the weights put together the output must be the same.",
        steps_seen=loop.steps_seen,
        confidence=Confidence.MEDIUM if one.apart else Confidence.LOW,
        evidence=evidence(facts, loop),
        location=location(line),
        caveats=() if one.apart else (_OR_LAYERS,),
        title="Attention heads one by one",
    )
