"""What must and must not be found in recorded traces: the calibration table of the design (rules.md section 4), and our samples."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from running.recorded import SAMPLES, SHARED


@dataclass(frozen=True)
class Expected:
    """One line of the table.

    Args:
        name: File name without its ending.
        idle: Idle share of W0; None where there is no device.
        main: Main causes of the idle time, as shares of W0.
        lead_us: Median launch lead over W0, microseconds.
        fires: Codes that must fire, whatever their severity.
        quiet: Codes or prefixes that must not.
    """

    name: str
    idle: float | None = None
    main: tuple[tuple[str, float], ...] = ()
    lead_us: float | None = None
    fires: tuple[str, ...] = ()
    quiet: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The file: ours where there is one of this name."""
        ours = SAMPLES / f"{self.name}.json.gz"
        return ours if ours.is_file() else SHARED / ours.name


TABLE = (
    Expected(
        "kineto_resnet50_workers0_a.pt.trace",
        idle=0.440,
        main=(("input", 0.339),),
        lead_us=9_756,
        fires=("DL001", "DL002", "OP001", "OP003", "PR001", "XF001"),
        quiet=("ID001", "SY", "CO"),
    ),
    Expected(
        "kineto_resnet50_workers4_a.pt.trace",
        idle=0.276,
        main=(("framework", 0.119), ("optimizer", 0.054), ("transfer_call", 0.045)),
        lead_us=2_652,
        fires=("OP001", "OP003", "PR001", "PG006"),
        quiet=("DL001", "DL002"),
    ),
    Expected(
        "kineto_resnet50_workers0_d_barelist.pt.trace",
        idle=0.501,
        main=(("input", 0.220),),
        lead_us=4_027,
        fires=("DL001",),
    ),
    Expected(
        "kineto_resnet50_autograd_workers0.pt.trace",
        idle=0.815,
        lead_us=2_614,
        fires=("PG001", "PG002"),
        quiet=("ME001",),
    ),
    Expected(
        "hta_a100_ddp_resnet",
        idle=0.764,
        main=(("framework", 0.554), ("python", 0.099), ("optimizer", 0.066)),
        lead_us=2,
        fires=("ID001", "KE002"),
    ),
    Expected(
        "tracelens_mi300x_ddp_resnet", idle=0.049, lead_us=27_008, fires=("CO001", "CO002", "KE002"), quiet=("ID001",)
    ),
    Expected("hta_v100_resnet_ns", idle=0.026, lead_us=76_429, fires=("PR001",), quiet=("ID", "OP001")),
    Expected("hta_cpu_only_gloo_rank34", fires=("CO001", "PG003")),
)

# Known by how they were made (traces/samples/ORIGIN.md): which network, how many workers, one optimizer call per parameter.
OF_SAMPLES = (
    Expected("baseline", fires=("DL001", "DL002", "DL006", "OP001"), quiet=("DL003", "DL008", "CO", "SY", "XF", "PR")),
    Expected("cnn_workers0", fires=("DL001", "DL002", "DL006", "OP001"), quiet=("DL003", "DL008", "CO", "SY", "XF")),
    Expected("cnn_workers2", fires=("OP001",), quiet=("DL", "CO", "SY", "XF", "PR")),
)
