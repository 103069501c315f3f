"""What torch_npu and CANN write beside torch's own events (`trace_view.json`): events without a category, known by their arguments.

msprof documents the layers (hiascend.com, "msprof (Timeline Report)"): tasks of a device's streams state a `Task Type` and a
`Stream Id`; calls of CANN are named by their layer (`Node@launch`, `AscendCL@aclrtMemcpyAsync`); both state one `connection_id`.
Layers that show the same work once more (planes of a collective, an analysis of overlap) are no work of their own.
"""

from __future__ import annotations

from traces.patterns import Pattern
from traces.reader.events import Args, Event
from traces.reader.names.vocabulary import Kind

# Task types that compute: `AI_CORE`, `AI_CPU`, `MIX_AIC`, `KERNEL_AIVEC`, `FFTS_PLUS`, `DVPP`, `DSA`.
_COMPUTES = Pattern(r"AI_|MIX|KERNEL|FFTS|DVPP|DSA|CUBE|VECTOR")
_CALL = Pattern(r"(?:Node@launch|AscendCL@(?:aclrt(?:Synchronize|Memcpy|Memset|Malloc|Free)\w*|aclmdl\w*Execute\w*))$")
_LAYER = Pattern(r"(?:AscendCL|Node|Model|Runtime|Hccl)@")
# What CANN itself derives of the rest.
_DERIVED = frozenset({"Computing", "Communication", "Communication(Not Overlapped)", "Free", "Iteration"})
# Of a communication group, beside the streams of the device.
_FIRST_GROUP_STREAM = 1 << 20


def ascend_kind(event: Event) -> Kind | None:
    """The frame of an event without a category, whose arguments then say where it ran; None where it is none of CANN's.

    Args:
        event: As decoded. Its stream, device and correlation are filled in.
    """
    name, args = event.name or "", event.args
    if args is not None and args.task_type is not None and args.stream_id is not None:
        return _task(name, args)
    if args is not None and args.connection_id is not None:
        args.correlation = args.connection_id
        if name.startswith("hcom_"):
            args.device, args.stream = 0, _FIRST_GROUP_STREAM + (event.tid if isinstance(event.tid, int) else 0)
            return Kind.KERNEL
        return Kind.RUNTIME if _CALL.match(name) else Kind.SKIP
    plane = args is not None and args.plane_task is not None
    return Kind.SKIP if plane or name in _DERIVED or _LAYER.match(name) else None


def _task(name: str, args: Args) -> Kind:
    """What a task of a stream is: a copy, work or a wait; marks and messages of a collective's planes are none."""
    args.device, args.stream, args.correlation = 0, args.stream_id, args.connection_id
    kind = str(args.task_type).upper()
    if "MEMCPY" in kind or name.upper().startswith("MEMCPY"):
        return Kind.COPY
    return Kind.KERNEL if _COMPUTES.search(kind) or name.upper().endswith("WAIT") else Kind.SKIP
