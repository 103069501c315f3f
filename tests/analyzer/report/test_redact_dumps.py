"""Secrets as programs write them out: in configurations, environments, headers and connections. And what only looks so."""

from __future__ import annotations

import pytest

from analyzer.report import redact

CLEAN = redact.cleaner(redact.Project())


@pytest.mark.parametrize(
    "text",
    [
        '{"clientSecret": "hunter2"}', '{"accessToken":"hunter2"}', "dbPassword=hunter2",
        'clientSecret: "hunter2"', "nextToken=hunter2",
        'password=\\"hunter2\\"', '{\\"a\\": {\\"password\\": \\"hunter2\\"}}', "token=\\\\'hunter2\\\\'",
        '{"password": {"v": "hunter2"}}', "password={'v': ['x', 'hunter2']}", '{"SECRET": ["x", "hunter2"]}',
        "{'creds': ('bob', 'hunter2')}", '{"credentials": {"value": "hunter2"',
        '{"name": "DB_PASSWORD", "value": "hunter2"}', "name: DB_PASSWORD, value: hunter2", "- name: HF_TOKEN\n  value: hunter2",
        "{'Key': 'api_key', 'Value': 'hunter2'}", '{\\"name\\": \\"password\\", \\"value\\": \\"hunter2\\"}',
        "os.environ['HF_TOKEN']='hunter2'", 'config["db"]["password"] = "hunter2"',
        "ENV PASSWORD hunter2", "setenv DB_PASSWORD hunter2", "set -x HF_TOKEN hunter2",
        "Authorization: Token hunter2", "{'Authorization': 'ApiKey hunter2'}",
        "jdbc:oracle:thin:bob/hunter2@//db:1521/x",
        "password\\u003dhunter2", "\\u0070assword=hunter2", "password&#61;hunter2", "pass\\x77ord=hunter2",
        "password=&quot;hunter2&quot;",
        "pw=hunter2", "FERNET_KEY: hunter2", "license_key=hunter2", "connection_string=hunter2", "conn_str: hunter2",
        "passwordHash: hunter2", "password_hash=hunter2",
        "contraseña: hunter2", "密码: hunter2", "パスワード=hunter2", "пароль: hunter2", "mot de passe: hunter2",
    ],
)  # fmt: skip
def test_a_secret_that_is_written_out(text: str) -> None:
    shown = CLEAN(f"op {text}")
    assert "hunter2" not in shown
    assert "[redacted]" in shown
    assert shown.startswith("op ")


@pytest.mark.parametrize(
    ("private", "text"),
    [
        ("node-a17", "MASTER_ADDR=node-a17"), ("gpu17", "MASTER_ADDR='gpu17.cluster'"), ("xr12", "SLURMD_NODENAME=xr12"),
        ("xr", "SLURM_JOB_NODELIST=xr[1-7,9]"), ("carol", "SLURM_JOB_USER=carol"), ("acme", "SLURM_JOB_ACCOUNT=acme"),
        ("carol", "environ({'PATH': '/bin', 'USER': 'carol'})"), ("xr12", '{"HOSTNAME": "xr12"}'),
        ("carol", "[('LOGNAME', 'carol')]"),
        ("xr12", '{\\"MASTER_ADDR\\": \\"xr12\\"}'),
        ("2f:1", "tcp://[64:ff9b::2f:1]:29500"), ("64:ff9b", "on [64:ff9b::1f:2]:29500"),
        ("trainer7", "trainer7.prod.acme.tech"), ("dgx-a3", "dgx-a3.acme.cloud"), ("1234567", "0711 1234567"),
        ("1234567", "0711/1234567"),
        ("123456789012", "arn:aws:iam::123456789012:role/acme"), ("acme", "arn:aws-cn:s3:::acme/x"),
        ("glrt", "glrt-abcdefghij1234567890"), ("ATATT", "ATATT3xFfGF0abcdefghijkl_mnop-qrstuvwxyz=12AB34CD"),
        ("acme", "https://github.com/acme-bank/fraud"), ("acme", "https://acme.github.io/fraud"), ("acme", "https://huggingface.co/acme/m"),
        ("acme", "wandb.ai/acme/fraud/runs/ab12"), ("acme", "docker.io/acme/fraud:1.2"), ("acme", "acme.jfrog.io/repo"),
        ("acme", "registry.acme.io:5000/team/img:tag"),
        ("acme", "git@github.com:acme/private.git"),
        ("203.0", "ip=203.0.113.7"), ("203.0", "addr = 203.0.113.7"), ("203.0", "to=203.0.113.7"), ("203.0", "peer <203.0.113.7>"),
        ("203.0", "kernel<203.0.113.7, int>"), ("203.0", "rank->203.0.113.7"), ("203.0", "recv 203.0.113.7"),
        ("203.0", "203.0.113.7."), ("10.0.0", "at 10.0.0.3."), ("00:1A", "card 00:1A:2B:3C:4D:5E: up"),
        ("carol", "username=carol"), ("carol", "user=carol"), ("carol", "{'user': 'carol'}"), ("carol", '{"author": "carol c"}'),
        ("xr12", "hostname: xr12"), ("xr12", "node_name = xr12"), ("carol", "..\\carol\\x.py"),
        ("carol", "cn=carol,ou=people,dc=acme,dc=com"), ("acme", "CN=Carol C, OU=x, DC=acme"),
    ],
)  # fmt: skip
def test_who_and_where(private: str, text: str) -> None:
    shown = CLEAN(f"op {text} end")
    assert private not in shown
    assert shown.startswith("op ")
    assert shown.endswith(" end")


@pytest.mark.parametrize(
    "text",
    [
        "MASTER_ADDR=localhost MASTER_PORT=29500", "MASTER_ADDR=127.0.0.1", "nextToken", "tokenIds = [1, 2]", "secretary: 5",
        "void f<float const&, int&>(float const&)", "a && b", "x[1:2:3]", "x[::2]", "config['key'] = value",
        'cache["tokens"] = x',
        "name: conv1, value: 3", "export the TOKEN ids", "the HF_TOKEN is unset",
        "https://github.com/pytorch/pytorch/issues/1", "https://huggingface.co/docs/accelerate", "nvcr.io/nvidia/pytorch:24.01-py3",
        "model.ai.block/forward", "encoder.org2/conv", "models/net.com.py", "train.py:88", "a.py:12 / b",
        "aten::_foreach_add_", "0100 1", "0x0711 1234",
        "torch==2.3.0.1", "nccl<2.21.5.1", "torch >=2.3.0", "hostname=localhost", "user=3.2 s", "x=1,y=2", "c=1,o=2", "..\\n",
        "SORT_KEY: ", "DataLoader.address=3", "[1, 2]:3", "SetKeyOperator<KeyValue>",
    ],
)  # fmt: skip
def test_what_only_looks_so_stays(text: str) -> None:
    assert CLEAN(text) == text


@pytest.mark.slow
def test_long_strings_take_no_long_time() -> None:
    for piece in (
        "password={", "password=[(", "aB", "aBPassword", "name: ", "name: a_key value", "['a_key'] = ", "A_USER", "authorization: ",
        "jdbc:", "a.com", "[::", "ENV ", "cn=a,", "a-", "a:b", "password a1", "username=", "..\\", '\\\\"', "&#", "\\u00",
    ):  # fmt: skip
        assert CLEAN(piece * 5_000)
