"""Secrets that no sign announces: in command lines, sentences, pairs, and addresses without a domain. And what only looks so."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from analyzer.report import redact
from analyzer.report.redact.secrets import without_secrets
from running.recorded import ROOT

CLEAN = redact.cleaner(redact.Project())


@pytest.mark.parametrize(
    "text",
    [
        "mysql -u root -phunter2 shop", "mysqldump --opt -p hunter2", "zz -phunter2", "'-phunter2'", "-phunter2", "x\n-phunter2",
        "sshpass -p hunter2 ssh gpu", "sshpass -phunter2 ssh gpu", 
        "docker login -u bob -p hunter2 reg", "redis-cli -h a -a hunter2",
        "ldapsearch -x -D cn=a -w hunter2", "curl -s -u bob:hunter2 x", "sqlcmd -S a -P hunter2", "wget --user=bob:hunter2 x",
        "the secret is hunter2", "my password was: hunter2", "api key is hunter2", "Das Passwort ist hunter2",
        "CREATE USER bob IDENTIFIED BY 'hunter2'",
        "(HF_TOKEN, hunter2)", "[(WANDB_API_KEY, hunter2), (A, b)]", "(password, hunter2)", "[secret, hunter2]",
        "password -> hunter2", "HF_TOKEN -> hunter2", "secret → hunter2", "db_password := hunter2", "password == hunter2",
        "passwd != hunter2",
        "password = SecretStr('hunter2')", "token = SecretStr(\"hunter2\")", "password=b'hunter2'", "password = '''hunter2'''",
        "password hunter2hunter2", "wandb: api_key hunter2hunter2", "auth_token hunter2hunter2", "password='hunter2",
        'secret="hunter2 a',         "scott:hunter2!@db01:5432", "//scott:hunter2@db01/x",
        "passwords=x, password=['a', 'hunter2']", "--password ['hunter2']",
    ],
)  # fmt: skip
def test_a_secret_without_a_sign(text: str) -> None:
    assert "hunter2" not in CLEAN(text)
    assert "[redacted]" in CLEAN(text)


@pytest.mark.parametrize(
    "text",
    [
        "bob@gpubox", "ssh bob@workstation", "run by bob@gpu-box", "bob@WORKSTATION", "bob [at] example", "bob[at]example.org",
        "bob (at) example (dot) org", "bob at example dot org", "bob {at} example.org", "bob@corp.example", "+bob@corp.example",
    ],
)  # fmt: skip
def test_somebody_without_a_domain(text: str) -> None:
    shown = CLEAN(text)
    assert "bob" not in shown.replace("run by", "")
    assert not any(word in shown.lower() for word in ("gpubox", "workstation", "gpu-box", "example"))


@pytest.mark.parametrize(
    "text",
    [
        "gcc -pthread -pipe -pg x.c", "find . -print0", "docker run -p 8080:80 x", "python -p fp16", "x -pbf16", 
        "a -p 1", "mysql -p -u root",
        "-policy=DQN(4,2)\n+policy=DQN(4,2,8)", "x\n-pol2 = Adam(w)", "-pbar1.close()",
        "password reset", "password sha256(x)", "nn.Module:forward@conv", "alpine:3.19@sha256",
        "f(password, salt)", "copy<token, secret>", "attention(query, key, value)", "embed('token', 'position')",
        "the password is required", "secret is not set", "the token is emitted", "key is a tensor",
        "token = model(token, cache)", "next_token = logits.argmax(-1)", "done |= token == end", 
        "for each token: more with each",
        "std::token::x", "token -> logits", "Memcpy HtoD (Pageable -> Device)", "f(token) -> int",
        "q@k", "query@key", "memcpy@GLIBC_2.14", "malloc@plt", "mAP@IoU", "recall@top", "actions/checkout@v4", "x@cuda0", 
        "pass@one",
        "-@trainer.on(Events.STARTED)", "+@torch.compile", "q @ k.transpose(-2, -1)", "f@decorator(x)",
        "x[at] + y", "at::native::add at dot", "dot at aten", "aten::dot at step 3",
    ],
)  # fmt: skip
def test_what_only_looks_so_stays(text: str) -> None:
    assert CLEAN(text) == text


@pytest.mark.slow
def test_long_strings_take_no_long_time() -> None:
    for piece in (
        "mysql ",
        "sshpass -p ",
        "password is ",
        "password=[",
        "password='",
        "bob [at] ",
        "bob at ",
        "bob@",
        "-p",
        "(password, ",
        "a.b(",
    ):
        assert without_secrets(piece * 20_000)


def _said() -> Iterator[tuple[str, str]]:
    """Every text of the packages whose words stand in reports, but docstrings and what fields are called."""
    for folder in ("rules", "analyzer/page", "analyzer/verdict", "analyzer/finding", "analyzer/hardware"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            tree = ast.parse(path.read_text("utf-8"))
            documented = {
                id(node.body[0].value)
                for node in ast.walk(tree)
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
                and node.body
                and isinstance(node.body[0], ast.Expr)
            }
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
                    yield path.relative_to(ROOT).as_posix(), node.value


@pytest.mark.slow
def test_nothing_that_is_advised_is_taken_for_private() -> None:
    said = list(_said())
    assert len(said) > 5_000
    assert {(place, text, CLEAN(text)) for place, text in said if CLEAN(text) != text} == set()
