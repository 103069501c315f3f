"""One world with known ground truth for every rule: what it must fire on, and the nearest world in which it must not.

The worlds are those of the rules' own tests; this is the list of them, so that all rules can be run on all worlds.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from analyzer.facts import Facts
from analyzer.rule import Rule
from building.builders import TraceBuilder
from jobs.among import among
from rules import RULES

HERE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Scenario:
    """Calls of one function of a rule's test file.

    Args:
        fires: Arguments of a world in which the rule must fire.
        quiet: Arguments of one close to it in which it must not: after the fix, or with another cause.
        world: Name of the function.
    """

    fires: Mapping[str, Any] = field(default_factory=dict)
    quiet: Mapping[str, Any] = field(default_factory=dict)
    world: str = "world"


GB = 1_000_000_000
# A world's name and its arguments, as the test file of the rule has them.
SCENARIOS: dict[str, Scenario] = {
    "CO001": Scenario({"name": "on_device_all_to_all_v_kernel"}, {"name": "block_all_reduce_sum_f32_f32_kernel"}),
    "CO002": Scenario(quiet={"alone": 10_000, "beside": 24_000}),
    "CO003": Scenario({"late_us": 8_000}, {"late_us": 5_100}, "ranks"),
    "CO004": Scenario({"sent": 120, "summed": 160, "busy": 500}, {"name": "DistributedDataParallel.forward"}),
    "CO005": Scenario(quiet={"elements": 1_000_000}),
    "CO006": Scenario(quiet={"name": "nccl:all_reduce"}),
    "CO007": Scenario({}, {"slow": 1.0}, "ranks"),
    "CO008": Scenario({}, {"pp": 2, "microbatches": 12}, "ranks"),
    "CO009": Scenario({}, {"tokens": 1.0}, "ranks"),
    "CO010": Scenario({"beside": 1_400}, {"beside": 1_400, "other_sizes": True}),
    "CO011": Scenario(quiet={"name": "OtherNorm"}),
    "CP001": Scenario(quiet={"threads": 4}),
    "CP002": Scenario(quiet={"kind": "c10::BFloat16"}),
    "CP003": Scenario(quiet={"allocating": 0}),
    "CP004": Scenario(quiet={"kind": "float", "prepared": "double"}),
    "CP005": Scenario(quiet={"op": 38}),
    "DL001": Scenario(quiet={"busy_while_loading": True, "steps": 6}),
    "DL002": Scenario(quiet={"workers": 4}),
    "DL003": Scenario(quiet={"waits": (500.0,) * 6}),
    "DL004": Scenario(quiet={"late": range(12)}),
    "DL005": Scenario(quiet={"waits": (500, 60_000, 500, 60_000, 500, 500, 500)}),
    "DL006": Scenario(quiet={"step": 100_000}),
    "DL007": Scenario(quiet={"workers": 2, "cores": 16}),
    "DL008": Scenario(quiet={"workers": 3}),
    "DL009": Scenario(quiet={"lengths": (39, 40)}),
    "DL010": Scenario(quiet={"draws": "aten::mul"}),
    "GR001": Scenario(quiet={"in_optimizer": True}),
    "GR002": Scenario(quiet={"frames": ("0/0", "0/0")}),
    "GR003": Scenario(quiet={"steps": frozenset()}),
    "GR004": Scenario(quiet={"works": 3_000}),
    "GR005": Scenario(quiet={"ops": (("aten::mm", "volta_sgemm_64x64_nt"), ("aten::_softmax", "cunn_SoftMaxForward"))}),
    "GR006": Scenario(quiet={"bias": False}),
    "GR007": Scenario(quiet={"names": ("pow", "mean", "relu", "add", "rsqrt", "mul")}),
    "ID001": Scenario({"behind": 9}, {"blocking": True}),
    "ID002": Scenario(quiet={"idle": 1_000, "collective": True}),
    "ID003": Scenario(quiet={"slow": (0, 1, 2, 3, 4, 5)}),
    "ID004": Scenario(quiet={"long_ms": 14}),
    "ID005": Scenario(quiet={"name": "train.py(20): write"}),
    "IN001": Scenario(quiet={"gap": 120}),
    "IN002": Scenario(quiet={"captured": 8}),
    "IN003": Scenario(quiet={"texts": 256}),
    "IN004": Scenario(quiet={"prompt_dur": 4_000}),
    "IN005": Scenario(quiet={"single": 2}),
    "IN006": Scenario(quiet={"cached": True}),
    "IN007": Scenario(quiet={"recorded": False}),
    "KE001": Scenario(quiet={"side_by_side": 3}),
    "KE002": Scenario(quiet={"name": "some_other_transpose"}),
    "KE003": Scenario(quiet={"name": "some_other_kernel"}),
    "KE004": Scenario(quiet={"other": 0}),
    "KE005": Scenario(quiet={"dur": 130}),
    "KE006": Scenario(quiet={"kind": "plain"}),
    "KE007": Scenario(quiet={"clocks": (1_980, 1_965)}),
    "KE008": Scenario(quiet={"factors": (1.0,) * 9}),
    "KE009": Scenario(quiet={"dur": 60}),
    "KE010": Scenario(quiet={"factor": "WARPS"}),
    "KE011": Scenario(quiet={"searched": [0]}),
    "KE012": Scenario(quiet={"dur": 30}),
    "KE013": Scenario(quiet={"dur": 10}),
    "KE014": Scenario(quiet={"marks": "0"}),
    "KE015": Scenario(quiet={"dur": 150, "forward_only": True}),
    "ME001": Scenario({"marked": False, "call": 30_000}, {"marked": False, "call": 30_000, "only": frozenset({0, 1})}),
    "ME002": Scenario({"allocated": [60 * GB, 80 * GB, 70 * GB]}, {"allocated": [10 * GB] * 3}),
    "ME003": Scenario(
        {"allocated": [20 * GB] * 3, "reserved": [60 * GB] * 3}, {"allocated": [20 * GB] * 3, "reserved": [30 * GB] * 3}
    ),
    "ME004": Scenario({"allocated": [GB + 100_000_000 * index for index in range(5)]}, {"allocated": [GB] * 5}),
    "ME005": Scenario({"peak": 10 * GB}, {"peak": 10 * GB, "blocks": 8.0}, "small"),
    "OP001": Scenario(quiet={"name": "FusedAdam", "ops": ("aten::add_",)}),
    "OP002": Scenario(quiet={"passes": ("aten::_fused_adam_",)}),
    "OP003": Scenario(quiet={"fills": False}),
    "OP004": Scenario(quiet={"norms": 3}),
    "OP005": Scenario(quiet={"on_device": True}),
    "OP006": Scenario(quiet={"tied": True}),
    "PG001": Scenario({"steps": 0}, {"steps": 3}, "marked"),
    "PG002": Scenario({}, {"every_step": True}, "warming"),
    "PG003": Scenario({"steps": 2}, {"steps": 3}, "steady"),
    "PG004": Scenario({"events": 700}, {"events": 100}, "stacked"),
    "PG005": Scenario({"lost": 10}, {"lost": 0}, "losing"),
    "PG006": Scenario({}, {"first": 10_000}, "steps"),
    "PG007": Scenario({"lost": 20}, {"lost": 0}, "unlinked"),
    "PG008": Scenario({}, {"dur": 100}, "flushing"),
    "PG009": Scenario({"host_name": "turing.example.org"}, {"trace_id": "0123"}),
    "PG011": Scenario({"torch": "1.13.1"}, {"torch": "2.9.0"}),
    "PR001": Scenario(quiet={"fast": 7_000}),
    "PR002": Scenario(quiet={"tf32": 5_000}),
    "PR003": Scenario(quiet={"name": "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_align8"}),
    "PR004": Scenario({"types": ["c10::BFloat16", "float", "Scalar"]}, {"types": ["float", "float", "Scalar"]}),
    "PR005": Scenario(quiet={"name": "volta_sgemm_64x64_nt", "types": ["float", "float"]}),
    "PR006": Scenario(quiet={"name": "void kgemm_4bit_inference_naive<__nv_bfloat16, 128, 16>(p)"}),
    "PY001": Scenario(quiet={"busy": True}),
    "PY002": Scenario(quiet={"samples": 3}),
    "PY003": Scenario(quiet={"tensors": 3}),
    "PY004": Scenario(quiet={"recorded": False, "slow": (0, 1, 2, 3, 4, 5)}),
    "PY005": Scenario(quiet={"slow": (0,)}),
    "PY006": Scenario(quiet={"unit": ("aten::linear", "aten::tanh"), "each": 30}),
    "PY007": Scenario(quiet={"tensors": 5}),
    "PY008": Scenario(quiet={"node": "SoftDTWBackward0"}),
    "SY001": Scenario(quiet={"refill": 100}),
    "SY002": Scenario(quiet={"pinned": True}),
    "SY003": Scenario(quiet={"wait": 20}),
    "SY004": Scenario(quiet={"waits": False}),
    "SY005": Scenario(quiet={"blocking": 0}),
    "SY006": Scenario(quiet={"below": True}),
    "XF001": Scenario(quiet={"pinned": True}),
    "XF002": Scenario(quiet={"dur": 80_000, "compute": 1_000}),
    "XF003": Scenario(quiet={"copies": 3}),
    "XF004": Scenario(quiet={"filling": "aten::add"}),
    "XF005": Scenario(quiet={"op": "aten::mul"}),
    "XF006": Scenario(quiet={"kind": "unsigned char"}),
    "XF007": Scenario(quiet={"waiting": False}),
    "XF008": Scenario(quiet={"rate": 100_000}),
}
# Worlds of several ranks are measurements already.
OF_RANKS = frozenset({"CO003", "CO007", "CO008", "CO009"})

RULE_BY_CODE: dict[str, Rule] = {rule.meta.code: rule for rule in RULES}


@cache
def tests_of(code: str) -> ModuleType:
    """The rule's own test file as a module."""
    module = RULE_BY_CODE[code].check.__module__
    _, family, name = module.split(".")
    path = HERE / "rules" / family / f"test_{name}.py"
    spec = importlib.util.spec_from_file_location(f"scenario_{code}", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def world(code: str, *, fires: bool = True) -> TraceBuilder:
    """The world of a rule whose world is a trace."""
    scenario = SCENARIOS[code]
    make: Callable[..., TraceBuilder] = getattr(tests_of(code), scenario.world)
    return make(**(scenario.fires if fires else scenario.quiet))


@cache
def facts_of(code: str, *, fires: bool = True) -> Facts:
    """Measurements of the world of a rule, made once: nothing changes them."""
    scenario = SCENARIOS[code]
    if code in OF_RANKS:
        ranks: Sequence[Facts] = getattr(tests_of(code), scenario.world)(
            **(scenario.fires if fires else scenario.quiet)
        )
        return among(ranks[0], *ranks[1:])
    return Facts(world(code, fires=fires).trace())
