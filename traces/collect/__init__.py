"""The collector: runs the reference training loop under torch.profiler and writes one trace file.

Importing this package costs no torch: the options can be shown and checked at once, torch is
imported by `collect` when the run starts.
"""

from traces.collect.api import record
from traces.collect.reference.config import DEVICES, MODELS, CollectConfig
from traces.collect.reference.result import CollectResult, Progress, Say
from traces.collect.reference.run import collect

__all__ = ["DEVICES", "MODELS", "CollectConfig", "CollectResult", "Progress", "Say", "collect", "record"]
