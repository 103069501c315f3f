"""The zoo: small loops with one known bottleneck each, their remedies, and healthy ones.

What the rules say of their traces, and what the remedies bring, is compared by `advisor zoo`.
"""

from traces.collect.zoo import compiled, device, efficiency, host, loading, ranks
from traces.collect.zoo.preset import Preset

PRESETS: tuple[Preset, ...] = (
    *loading.PRESETS,
    *host.PRESETS,
    *compiled.PRESETS,
    *ranks.PRESETS,
    *device.PRESETS,
    *efficiency.PRESETS,
)

__all__ = ["PRESETS", "Preset"]
