"""Which devices kernels were built for, by what their names say: for traces that do not describe their device.

Tensile and the compilers for AMD name the design in a kernel (`_ISA942_`, `gfx942`), and it runs on no other. What NVIDIA's names
say (`sm80`) is the oldest that a kernel runs on.
"""

from __future__ import annotations

from collections.abc import Iterable

from analyzer.hardware.datasheet import Peak
from analyzer.hardware.peaks import PEAKS
from traces.patterns import Pattern

_TARGET = Pattern(r"(?:_ISA|gfx)([1-9][0-9]{1,3}[0-9a-f])(?![0-9A-Za-z])")


def built_for(names: Iterable[str]) -> tuple[Peak, ...]:
    """The devices of the one design that all kernels which name one were built for; none where none does, or several are named.

    Args:
        names: Of kernels.
    """
    found = {f"gfx{match[1]}" for name in names for match in _TARGET.finditer(name)}
    return tuple(peak for peak in PEAKS if found == {peak.target})
