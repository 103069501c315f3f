"""Programs that generate text: a prompt, then pass after pass of one token, told in each of the ways in which traces tell it."""

from __future__ import annotations

from building.builders import CUDA_DEVICE, TraceBuilder

PRODUCT = "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_32x6_tn"
VECTOR = "void gemv2T_kernel_val<int, int, __nv_bfloat16, __nv_bfloat16, float, 128, 16, 4, 4, false>"
ATTENTION = "void pytorch_flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>>"
DECODING = "void vllm::paged_attention_v2_kernel<__nv_bfloat16, 128, 16, 128>"
BY_TOKEN = "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>"
HIDDEN, HEADS, WIDTH, WORDS = 4096, 32, 128, 32_000


class Generating:
    """One prompt, then passes that add a token to each text.

    Args:
        form: How it is told: `vllm`, `requests` (older vLLM), `sglang`, `words`, `phases` (words around all passes), `functions`,
            `shapes`, `softmax` (attention written out), `lookup` (shapes of the embedding only), `modules`, `kernels` or `none`.
        prompt: Tokens of the prompt; 0 where none was recorded.
        cached: Tokens that the cache holds before the first pass.
        passes: Passes that decode.
        texts: Texts in each.
        gap: Idle time of the device behind each pass, us.
        dur: Time of the kernels of a pass, us, of which the first half is attention.
        prompt_dur: The same of the prompt.
        kernel: Name of the products.
        attention: Name of the attention.
        attention_part: Share of the pass in attention.
        captured: Tokens of the replayed graph; 0 where kernels are launched one by one.
        encodes: Whether every pass is as long as the prompt, as of a model that only encodes.
        chooses: Whether a token is chosen behind each pass.
        trains: Whether an optimizer steps.
        device: As `TraceBuilder` has it.
    """

    def __init__(
        self, *, form: str = "vllm", prompt: int = 1024, cached: int = 0, passes: int = 8, texts: int = 8, gap: float = 1_000,
        dur: float = 3_000, prompt_dur: float = 4_000, kernel: str = PRODUCT, attention: str = ATTENTION,
        attention_part: float = 0.25, captured: int = 0, encodes: bool = False, chooses: bool = True, trains: bool = False,
        device: str | None = "cuda",
    ) -> None:  # fmt: skip
        self.builder = TraceBuilder(device)
        self.form, self.texts, self.kernel, self.attention, self.part = form, texts, kernel, attention, attention_part
        self.captured, self.chooses, self.device = captured, chooses, device
        at = 0.0
        for number in range(passes + bool(prompt)):
            reads = bool(prompt) and number == 0
            lasts = prompt_dur if reads else dur
            begun = at
            at = self._pass(at, prompt if reads or encodes else 1, cached + prompt + number, lasts, reads=reads)
            if form == "phases" and reads:
                self.builder.annotation("prefill", begun, at - begun)
                decoding = at
            at += gap
        if form == "phases":
            self.builder.annotation("decode", decoding, at - decoding)
        if trains:
            self.builder.optimizer(at, 100)

    def _pass(self, at: float, tokens: int, keys: int, lasts: float, *, reads: bool) -> float:
        """One pass whose kernels begin 100 us behind the host; returns when they end."""
        builder, end = self.builder, at + 100 + lasts
        self._named(at, end - at, tokens, reads=reads)
        shapes = self.form in ("shapes", "softmax", "lookup")
        if self.form in ("shapes", "softmax", "lookup", "modules", "phases", "none"):
            dims = {"Input Dims": [[WORDS, HIDDEN], [self.texts, tokens], [], [], []]} if shapes else {}
            builder.op("aten::embedding", at + 1, 5, **dims)
            self._attention(at + 10, tokens, max(keys, tokens))
        part = lasts * self.part
        self._launch(at + 12, at + 100, part, self.attention)
        builder.op("aten::linear", at + 20, 10)
        self._launch(at + 22, at + 100 + part, lasts - part, self.kernel)
        if self.chooses and self.form not in ("vllm", "requests", "sglang", "kernels"):
            builder.op("aten::argmax", at + 40, 5)
        return end

    def _named(self, at: float, dur: float, tokens: int, *, reads: bool) -> None:
        builder, texts = self.builder, self.texts
        prompts = texts if reads else 0
        if self.form == "vllm":
            said = f"context_{prompts}({prompts * tokens})_generation_{texts - prompts}({(texts - prompts) * tokens})"
            builder.annotation(f"execute_{said}", at, 60)
        elif self.form == "requests":
            builder.annotation(f"execute_new_{prompts}_cached_{texts - prompts}", at, 60)
        elif self.form == "sglang":
            said = f"EXTEND bs={texts} toks={texts * tokens}" if reads else f"DECODE bs={texts}"
            builder.annotation(f"step[{said}]", at, 60)
        elif self.form == "words":
            builder.annotation("prefill" if reads else "decode", at, 60)
        elif self.form == "functions":
            builder.python(f"generate.py({70 if reads else 78}): {'prefill' if reads else 'decode_one_token'}", at, 60)
        elif self.form == "modules":
            builder.python("nn.Module: LlamaForCausalLM_0", at, 38)

    def _attention(self, at: float, tokens: int, keys: int) -> None:
        asks = [self.texts, HEADS, tokens, WIDTH]
        if self.form == "shapes":
            stored = [self.texts, HEADS, keys, WIDTH]
            self.builder.op(
                "aten::scaled_dot_product_attention", at, 5, **{"Input Dims": [asks, stored, stored, [], [], [], []]}
            )
        elif self.form == "softmax":
            self.builder.op("aten::_softmax", at, 5, **{"Input Dims": [[self.texts, HEADS, tokens, keys], [], []]})
        else:
            self.builder.op("aten::scaled_dot_product_attention", at, 5)

    def _launch(self, at: float, start: float, dur: float, name: str) -> None:
        if self.device is None:
            return
        if not self.captured:
            self.builder.launch(at, kernel_start=start, kernel_dur=dur, name=name, op=None)
            return
        call = self.builder.runtime("cudaGraphLaunch", at, 5)
        blocks = self.captured / int(CUDA_DEVICE["numSms"])
        self.builder.kernel(BY_TOKEN, start, 2, correlation=call, **{"blocks per SM": blocks})
        self.builder.kernel(name, start + 2, dur - 2, correlation=call)


def generating(**settings: object) -> TraceBuilder:
    """The trace of such a program."""
    return Generating(**settings).builder  # type: ignore[arg-type]


def prompted(kernel: float, *, waits: bool, queued: bool = True) -> TraceBuilder:
    """A pass over a prompt with a long kernel, then 20 of 3 ms for a token; the host waits for each answer, or for nothing."""
    builder = TraceBuilder()
    length = kernel + 15_000 if waits else 3_000
    builder.step(0, 0, length)
    builder.launch(100, kernel_start=200, kernel_dur=kernel)
    free = 200 + kernel
    for number in range(20):
        at = length + number * 3_000
        builder.step(number + 1, at, 3_000)
        for index in range(5):
            free = max(free, at + index * 100 + 10) if queued else at + index * 100 + 10
            builder.launch(at + index * 100, kernel_start=free, kernel_dur=90)
            free += 90
    return builder
