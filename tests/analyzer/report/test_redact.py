"""PG009: what leaves the machine names nobody and opens nothing."""

import base64

import msgspec
import pytest

from analyzer.report import json, redact
from analyzer.report.redact.paths import relative
from analyzer.report.redact.secrets import without_secrets
from showing import analyses

PROJECT = redact.Project(roots=("/home/alice/proj",), names=("alicesmith", "gpu-box-17"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/home/alice/proj/src/train.py", "src/train.py"),
        ("at /home/alice/proj/train.py(88): main", "at train.py(88): main"),
        ("/home/alice/other/secret.py", "…/secret.py"),
        ("/home/bob", "…"),
        ("/scratch/bob/", "…"),
        ("C:\\Users\\bob\\x\\train.py", "…/train.py"),
        ("\\\\server\\share\\train.py", "…/train.py"),
        ("/opt/v/lib/python3.11/site-packages/torch/nn/linear.py", "torch/nn/linear.py"),
        ("/usr/lib/python3.11/threading.py", "threading.py"),
        ("\\\\?\\C:\\Users\\bob\\x.py", "…/x.py"),
        ("file:///home/bob/a/b.py", "…/b.py"),
        ("PATH=/home/bob/a.sh:/home/carol/b.sh", "PATH=…/a.sh:…/b.sh"),
        ("../../home/bob/x.py", "…/x.py"),
        ("~bob/code/x.py", "…/x.py"),
        ("load ~bob/data now", "load … now"),
        ("~/data", "…"),
        ("~bob.smith/x.py", "…/x.py"),
        ("~5 ms, 3~4/5", "~5 ms, 3~4/5"),
        ("./data/train.py", "./data/train.py"),
        ("64 ms/step, 3/4", "64 ms/step, 3/4"),
        ("kernel<4>[float][/half]", "kernel<4>[float][/half]"),
        ("torch/nn/modules/linear.py(116): forward", "torch/nn/modules/linear.py(116): forward"),
        ("use /dev/shm/x", "use /dev/shm/x"),
        ("https://pytorch.org/docs/stable/data.html", "https://pytorch.org/docs/stable/data.html"),
        ("https://wandb.corp.example/alice/run", "https://[redacted]"),
        ("s3://customer-bucket/data", "s3://[redacted]"),
        ("https://bob:pw@github.com.evil.example/x", "https://[redacted]"),
    ],
)
def test_paths(text, shown):
    assert relative(text, PROJECT) == shown


@pytest.mark.parametrize(
    "secret",
    [
        "ghp_" + "a1B2" * 9, "hf_" + "abCD" * 6, "sk-" + "a1b2" * 8, "AKIA" + "ABCD" * 4, "glpat-" + "x1y2" * 5,
        "xoxb-123456789012-abcdef", "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", "0123456789abcdef" * 3,
        "bob@corp.example", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fG", "192.168.1.20:29500",
        "10.17.33.201", "172.20.1.2", "fd12:3456:789a:1::7", "gpu-node-042.cluster.corp.example", "node7.internal",
        "ip-10-0-1-23.ec2.internal", "node-3.local", "DESKTOP-J4NEDOE", "bob@gpu-node-042:", "sk_live_" + "4eC3" * 5,
        "203.0.113.7", "2001:db8::8a2e:370:7334", "00:1b:44:11:3a:b7", "+49 170 1234567", "(555) 123-4567", "555-123-4567",
        "+1-202-555-0143", "4111 1111 1111 1111", "5500000000000004", "DE89 3704 0044 0532 0130 00",
        "d41d8cd98f00b204e9800998ecf8427e",
        "GPU-5fb1ad25-7c3f-4f3a-9d8e-0a1b2c3d4e5f", "gpu-a100-node07", "node042", "dgx-12", "compute-0-11", "nid001234", "login-2",
        "train-07.cs.university.edu", "gpu-7.acme-cloud.com",
        "SG.ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf-09kqeF8tAmbihYzrnop", "xapp-1-A01234-123-abcdef01234567",
        "hvs.CAESIJlWabcdefghijklmnop",
        "nvapi-" + "a1B2" * 8, "gsk_" + "abCD" * 8, "r8_" + "abCD" * 8,
        "ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB alice@laptop", "078-05-1120",
        "GOCSPX-" + "aB3_" * 6, "bot123456789:AA" + "aB3" * 11, "i-0a1b2c3d4e5f60718", "gpu7.rack-3.local", "job-abcde-master-0",
        "trainer-7d9c5b8f6d-x2lqz", "raycluster-acme-worker-gpu-x7k2p", "acme-head-x7k2p",
        "qwe73er91tyz52ui8op60as35dfgh12x", "QWE73ER91TYZ52UI8OP60AS35DFGH12X", "aB3dE5gH7-K9mN1pQ3sT5vW7yZ9bD1fG_jK2lM4nO6p",
    ],
)  # fmt: skip
def test_secrets_by_their_shape(secret):
    assert (secret if "::" in secret else secret.partition(":")[0]) not in without_secrets(
        f"kernel with {secret} inside"
    )


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("WANDB_API_KEY=abc123 python", "abc123"), ("--api-key abc123", "abc123"), ("password: 'a b'", "a b"),
        ("AWS_SECRET_ACCESS_KEY=xyz", "xyz"), ("HOSTNAME=node7", "node7"), ("Authorization: Bearer abcdefgh1", "abcdefgh1"),
        ("hf_token=abc", "abc"), ("Authorization: Basic amFuZTpodW50ZXI", "amFuZ"), ("run(--password hunter2)", "hunter2"),
        ("AccountName=corp;AccountKey=Zm9vYmFy==", "Zm9vYmFy"), ("blob?sv=1&sig=abCD12%2Fsecretsig%3D", "secretsig"),
        ('{"password": "hunter2"}', "hunter2"), ("{'HF_KEY': 'abc'}", "abc"), ("pwd=hunter2", "hunter2"),
        ("db_pwd: hunter2", "hunter2"), ("password => hunter2", "hunter2"), ("password: |\n  hunter2", "hunter2"),
        ("[('WANDB_API_KEY', 'hunter2'), ('A', 'b')]", "hunter2"), ("('password', \"hunter2\")", "hunter2"),
        ("<db:password>hunter2</db:password>", "hunter2"), ("machine a login bob password hunter2", "hunter2"),
        ("Set-Cookie: session=hunter2; Path=/", "hunter2"), ("Passwort: hunter2", "hunter2"),
        ('{\\"password\\": \\"hunter2\\"}', "hunter2"), ("{'user_name': 'bob b'}", "bob"), ("signing_key=abc", "abc"),
    ],
)  # fmt: skip
def test_secrets_by_their_name(text, hidden):
    shown = without_secrets(text)
    assert hidden not in shown
    assert "[redacted]" in shown


def base64_of(text):
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("password%3Dhunter2", "hunter2"), ("pass%77ord=hunter2", "hunter2"), ("a?next=%2Flogin%3Fpassword%3Dhunter2", "hunter2"),
        ("password%253Dhunter2", "hunter2"), ("ghp%5F" + "a1B2" * 9, "a1B2"), ("bob%40corp.example", "bob"),
        ("%2Fhome%2Fbob%2Fproj%2Fx.py", "bob"), ("file:%2F%2F%2Fhome%2Fbob%2Fx.py", "bob"), ("203%2E0%2E113%2E9", "%2E113"),
        ("\\/home\\/bob\\/x.py", "bob"),
        (base64_of('{"password": "hunter2"}'), "eyJ"), (base64_of("HF_TOKEN=hunter22"), "SEZf"),
        (base64_of("ghp_" + "a1B2" * 9), "Z2hw"),
        (base64_of("/home/bob/secret/x.py").rstrip("="), "L2hv"), ("a=" + base64_of("by bob@corp.example ?>"), "YnkgYm9i"),
        ("\uff50assword=hunter2", "hunter2"), ("pass\u200bword=hunter2", "hunter2"), ("pass\u00adword=hunter2", "hunter2"),
    ],
)  # fmt: skip
def test_secrets_in_other_writings(text, hidden):
    shown = redact.cleaner(PROJECT)(f"kernel with {text} inside")
    assert hidden not in shown
    assert shown.startswith("kernel with ")
    assert shown.endswith(" inside")


@pytest.mark.parametrize(
    "text",
    [
        "%40 = mlir.op %2F, %10", "100%25 of it", "a\\/b", "fused_%3A_op", base64_of("just ordinary words"),
        "kérnel_ﬁne …/x.py",
        "_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastIZZZNS0_23direct_copy_kernel",
        "vectorized_elementwise_kernel", "AutogradNotImplementedFallback", "family 👩\u200d🔬 op",
    ],
)  # fmt: skip
def test_other_writings_of_nothing_private_stay(text):
    assert redact.cleaner(PROJECT)(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "OMP_NUM_THREADS=8 python train.py", "tokenizer = AutoTokenizer()", "64 tokens a second",
        "_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastIZZZNS0_23direct_copy_kernel",
        "sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel",
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >",
        "triton_poi_fused__to_copy_add_native_batch_norm_relu_12d3d4d5d6de", "cuDNN 9.1.0.70", "@torch.compile",
        "_SingleProcessDataLoaderIter.__next__", "DL002-6d1f", "Memcpy HtoD (Pageable -> Device)",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "threading.local", "config.internal",
        "CUDA 12.4.1.2", "a::fd::b", "sk_test_kernel", "module.lan.x", "f(x)@y: z",
        "embed('token', 'position')", "attention('query', 'key', 'value')", "gather<token>(x)",
        "copy_<token>y<float>", "128-64-1024-64",
        "NCCL version 2.21.5.1", "torch==2.3.0.1", "worker-0", "gpu0", "node 3", "cuda:0", "rank0", "nn.Module.net.forward",
        "layers.2.net.de",
        "kernel_1234567890123", "key=value pairs", "{'key_padding_mask': None}", "step 1234567890", "1700000000000.123 us",
        "model.0.io",
        "batched_transpose_16x64_pack_1x4_ediv_1x2_half", "graph fal4xpiah2v6blbfmwwonu52dvevbsmlh743q5tkclrt4gcqpzea",
        "csnycnrbzs72outt2tsdz3c5t3xx5ef3nudyysa67cyguktywij5.py",
        "sm80_xmma_dgrad_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_stage4_warpsize2x2x1_g1_tensor16x8x8",
        "cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4", "flash-fwd-kernel", "multi-head-8", "multi-head-fused",
        "Cijk_Ailk_Bljk_HHS_BH_MT128x128x64_MI16x16x16x1_SN_1LDSB0_APM1_ABV0_ACED0_AF0EM1",
        "[[64, 3, 224, 224], [64, 3, 7, 7]]", "0x7f8d3093e6c0", "2025-11-22 05:15:07", "12:30:45", "555-1234", "64x128-3",
    ],
)  # fmt: skip
def test_names_of_kernels_and_settings_stay(text):
    assert relative(without_secrets(text), PROJECT) == text


def test_a_private_key_goes_as_a_whole():
    # Nothing of it looks secret by itself.
    for end in ("\n-----END RSA PRIVATE KEY-----", ""):
        text = f"before -----BEGIN RSA PRIVATE KEY-----\nshort\nlines{end}"
        assert without_secrets(text) == "before [redacted]"


def spoilt(text):
    """The example with a text in every place where a trace can put one."""
    base = analyses.example()
    replace = msgspec.structs.replace
    finding = replace(
        base.findings[1], why=f"why {text}", caveats=(text,), verify=text, title=text,
        location=replace(base.findings[1].location, file=text, function=text),
        fix=(replace(base.findings[1].fix[0], code=text, note=text),),
        evidence=(analyses.bars(text, "ns", **{text: 1.0}),),
    )  # fmt: skip
    lanes = tuple(
        replace(lane, name=text, spans=tuple(replace(span, label=text) for span in lane.spans))
        for lane in base.timeline.lanes
    )
    checks = tuple(replace(check, reason=text) for check in base.checks)
    trace = replace(base.trace, name="gpu-box-17_4711.1700000000.pt.trace.json.gz")
    return replace(base, findings=(finding,), checks=checks, trace=trace, timeline=replace(base.timeline, lanes=lanes))


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("/home/alice/elsewhere/train.py", "alice"), ("by alicesmith", "alicesmith"), ("on gpu-box-17", "gpu-box-17"),
        ("ghp_" + "a1B2" * 9, "ghp_"), ("/home/al ice/my project/train.py", "ice/my"),
    ],
)  # fmt: skip
def test_every_string_of_the_document_is_looked_at(text, hidden):
    shown = json.render(redact.redact(spoilt(text), PROJECT))
    assert hidden not in shown or text.startswith("/home/al ice")
    assert "gpu-box-17" not in shown
    assert "worker_4711.1700000000.pt.trace.json.gz" in shown


@pytest.mark.parametrize(
    "secret", ["ghp_" + "a1B2" * 9, "HF_TOKEN=abc", "/home/alice/elsewhere", "0123456789abcdef" * 2]
)
def test_a_report_that_is_read_back_hides_nothing_under_our_own_keys(secret: str) -> None:
    base = analyses.example()
    first = base.findings[0]
    saving = msgspec.structs.replace(first.saving, overlaps_with=(secret,))
    found = msgspec.structs.replace(first, id=secret, explained_by=(secret,), saving=saving)
    made = msgspec.structs.replace(
        base,
        schema_version=secret,
        trace=msgspec.structs.replace(base.trace, sha256=secret),
        findings=(found, *base.findings[1:]),
    )
    assert secret not in json.render(redact.redact(made, PROJECT))


def test_a_path_with_blanks_is_one_path_where_it_stands_alone():
    shown = redact.redact(spoilt("/home/al ice/my project/train.py"), redact.Project())
    assert shown.findings[0].location.file == "train.py"


def test_the_folder_of_the_findings_is_the_project_where_we_are_elsewhere():
    base = analyses.example()
    files = ("/data/bob/proj/train.py", "/data/bob/proj/models/net.py")
    findings = tuple(
        msgspec.structs.replace(one, location=msgspec.structs.replace(base.findings[1].location, file=file))
        for one, file in zip(base.findings[1:3], files, strict=True)
    )
    shown = redact.redact(msgspec.structs.replace(base, findings=findings), redact.Project())
    assert [one.location.file for one in shown.findings] == ["train.py", "models/net.py"]


def test_nothing_else_changes():
    base = analyses.example()
    assert redact.redact(base, redact.Project(roots=("/work",), names=("main", "train"))) == base


def test_redacting_twice_changes_nothing_more():
    once = redact.redact(spoilt("/home/bob/x/train.py HF_TOKEN=abc"), PROJECT)
    assert redact.redact(once, PROJECT) == once


@pytest.mark.slow
def test_long_strings_take_no_long_time():
    for text in (
        "%41" * 60_000,
        "\\" * 200_000,
        "=" * 200_000,
        "\\/" * 60_000,
        "QUJD" * 50_000,
        "password:" * 20_000,
        "login a " * 20_000,
    ):
        assert redact.cleaner(PROJECT)(text)
    for text in ("x" * 200_000, "/" * 200_000, "a/" * 100_000, "a@" * 100_000, "key" * 60_000, "-" * 200_000):
        assert relative(without_secrets(text), PROJECT)
