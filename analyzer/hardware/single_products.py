"""Which part of a CPU's products of 32-bit floats is arithmetic: faster units shorten that, and not what a call takes beside it.

A convolution of 2 x 16 x 8 x 8 numbers reaches 4 GFLOP/s on a core that multiplies matrices with 200: of its 150 us 3 are
arithmetic.
"""

from __future__ import annotations

import msgspec

from analyzer.facts import Facts
from analyzer.hardware.call import Work
from analyzer.hardware.limits import device_peaks
from analyzer.hardware.operators import operators
from analyzer.hardware.roofline import first_type
from analyzer.hardware.work import PRODUCTS

# A core with units for bfloat16 has AVX-512: 16 floats, multiplied and added in each cycle, at 1.6 GHz or more.
_LEAST_RATE = 50e9


class SingleProducts(msgspec.Struct, frozen=True):
    """Products of 32-bit floats in the used steps, of known work.

    Args:
        time_ns: How long they take.
        arithmetic_ns: How long their arithmetic takes at the rate below, at most.
        flops_per_s: What they reach, mean; 0 without any.
        best_per_s: The rate that the cores reach at best: as measured on the machine, or of these products the fastest; at least
            what each such core does.
        short_per_s: What the machine reaches with bfloat16, as measured there; None where it was not.
    """

    time_ns: int
    arithmetic_ns: int
    flops_per_s: float
    best_per_s: float
    short_per_s: float | None


def single_products(facts: Facts) -> SingleProducts:
    """Measures them."""
    rows = [
        (one.device_ns, one.work.needed * one.calls)
        for one in operators(facts).rows
        if one.op in PRODUCTS
        and isinstance(one.work, Work)
        and one.device_ns
        and first_type(one.input_types) == "float"
    ]
    _, limits = device_peaks(facts)
    rates = limits.flops_per_s if limits else {}
    least = _LEAST_RATE * max(facts.recording.collected.intra_op_threads or 1, 1)
    best = max([least, rates.get("fp32", 0.0), *(flops / ns * 1e9 for ns, flops in rows)])
    time_ns, flops = sum(ns for ns, _ in rows), sum(flops for _, flops in rows)
    return SingleProducts(
        time_ns=time_ns,
        arithmetic_ns=int(sum(min(ns, flops / best * 1e9) for ns, flops in rows)),
        flops_per_s=flops / time_ns * 1e9 if time_ns else 0.0,
        best_per_s=best,
        short_per_s=rates.get("bf16"),
    )
