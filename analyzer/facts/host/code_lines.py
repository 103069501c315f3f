"""Which frames of a stack are the user's own: those of torch, installed packages and the standard library nobody can edit."""

from __future__ import annotations

import sys
from pathlib import PurePosixPath

import msgspec

from traces.patterns import Pattern

_FRAME = Pattern(r"(?P<file>[^()]+?\.(?:py|ipynb))\((?P<line>\d+)\): (?P<function>.+)")
_NOTEBOOK = Pattern(r"(?P<file>(?:<ipython-input[^>]*>|/tmp/ipykernel[^(]*))\((?P<line>\d+)\): (?P<function>.+)")
# torch cuts the part of a path that is on sys.path: `torch/nn/modules/module.py`, `train.py`. What is left of an installed package
# begins with its name, so the usual ones are known by name.
_PACKAGES = """
torch torchvision torchaudio torchtext torchdata functorch triton torch_xla apex deepspeed megatron fairscale xformers
flash_attn transformers datasets tokenizers accelerate peft timm diffusers huggingface_hub sentence_transformers lightning
pytorch_lightning lightning_fabric torchmetrics ignite fastai composer streaming webdataset nvidia dali numpy scipy pandas
sklearn PIL cv2 skimage albumentations matplotlib seaborn plotly tqdm rich wandb tensorboard tensorboardX mlflow comet_ml
click typer hydra omegaconf yaml requests urllib3 fsspec h5py zarr pyarrow joblib numba dask ray einops jaxtyping pydantic
IPython ipykernel ipywidgets traitlets tornado jupyter_client zmq pytest _pytest pluggy vllm sglang aiter setuptools pip
importlib_metadata packaging attr attrs psutil sympy networkx jinja2 regex sentencepiece safetensors
ipykernel_launcher pydevd debugpy six typing_extensions threadpoolctl decorator cloudpickle dill
"""
_PACKAGE_NAMES = frozenset(_PACKAGES.split())
_INSTALLED = Pattern(
    r"(?:^|[/\\])(?:site-packages|dist-packages)[/\\]|(?:^|[/\\])[Ll]ib(?:64)?[/\\]python\d|^<frozen|^<string>|^<built-in"
    r"|(?:^|[/\\])\.?venv[/\\]|[/\\]python\d+\.zip[/\\]|\.egg[/\\]"
    # The collector's own frames, also where it runs from a checkout, which is no installed package.
    r"|(?:^|[/\\])trace_advisor_hook[/\\]"
    # The standard library of Windows, in an installation and in an environment of conda.
    r"|[/\\](?:Python\d*|(?:ana|mini)conda\d?|envs[/\\][^/\\]+)[/\\][Ll]ib[/\\]"
    # What compilers and loaders of models write while the program runs; a script that lies in /tmp has its folder cut off.
    r"|^/tmp/(?!ipykernel)|^/var/folders/|[/\\]\.cache[/\\]|torchinductor_|^<torch_package"
)


class CodeLine(msgspec.Struct, frozen=True):
    """A place in the user's code.

    Args:
        file: Path relative to the project, as far as the trace tells.
        line: The line that ran: from a `Call stack`, or sampled; None where only the function is known.
        function: Function name.
        begins: The line where the function begins, as `python_function` events have it; None where it is unknown.
    """

    file: str
    line: int | None
    function: str
    begins: int | None = None

    @property
    def place(self) -> str:
        """`train.py:88`; `train.py, from line 80` where only the beginning of the function is known."""
        if self.line is not None:
            return f"{self.file}:{self.line}"
        return self.file if self.begins is None else f"{self.file}, from line {self.begins}"

    def beginning(self) -> CodeLine:
        """The same function, its line taken for where it begins: torch records a function by its first line.

        A module's frame was open before the recording: its line is the one at which the profiler was started, and says nothing.
        """
        return CodeLine(self.file, None, self.function, None if self.function == "<module>" else self.line)


def parse_frame(name: str) -> CodeLine | None:
    """A frame of Python code that is not known to be torch's, an installed package's or the standard library's, else None.

    A relative path may still be an installed package's: `OwnCode` tells.
    """
    match = _FRAME.match(name) or _NOTEBOOK.match(name)
    if match is None:
        return None
    file = match["file"].replace("\\", "/")
    top = file.split("/", 1)[0].removesuffix(".py")
    # Most frames are of these, and the pattern takes longer.
    if not file.startswith("/") and (top in _PACKAGE_NAMES or top in sys.stdlib_module_names):
        return None
    if _INSTALLED.search(name):
        return None
    return CodeLine(file, int(match["line"]), match["function"])


def relative(files: list[str]) -> dict[str, str]:
    """Absolute paths cut to what lies below their common folder, so that no home directory gets into a report."""
    absolute = [PurePosixPath(file) for file in files if file.startswith("/") or file[1:3] == ":/"]
    shared: tuple[str, ...] = ()
    if absolute:
        shared = absolute[0].parent.parts
        for path in absolute:
            parts = path.parent.parts
            same = [left == right for left, right in zip(shared, parts, strict=False)]
            shared = shared[: same.index(False) if False in same else len(same)]
    cut = {str(path): str(PurePosixPath(*path.parts[len(shared) :])) for path in absolute}
    return {file: cut.get(str(PurePosixPath(file)), file) for file in files}
