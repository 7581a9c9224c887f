"""What is taken for a secret and what is left alone, row by row; and a whole run with secrets in it.

A row is what somebody wrote into a configuration, an argument list or a line of output. In the first
table ``SECRET`` stands for the value that must not reach the disk; the rows of the second come out
as they went in.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from expr_tracker.capture.redaction import LineRedactor, redact, redact_argv, redact_text

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "s3cr3t-X9"

#: Members of a configuration.
SECRET_MEMBERS: list[dict[str, Any]] = [
    {"bearer": SECRET},
    {"BEARER": SECRET},
    {"auth_bearer": SECRET},
    {"bearerToken": SECRET},
    {"jwt": SECRET},
    {"session_key": SECRET},
    {"x-auth-token": SECRET},
    {"private_token": SECRET},
    {"basic_auth": f"me:{SECRET}"},
    {"auth": ["me", SECRET]},
    {"auth": ("me", SECRET)},
    {"auth": {"token": SECRET}},
    {"headers": {"Authorization": f"Bearer {SECRET}"}},
    {"headers": [f"X-Api-Key: {SECRET}"]},
    {"API key": SECRET},
    {"connection_string": f"Server=h;User Id=me;Password={SECRET};"},
    {"env": [{"name": "API_KEY", "value": SECRET}]},
    {"aws": {"aws_session_token": SECRET}},
    {"many": [{"deep": {"password": [SECRET]}}]},
    {"headers": [("X-Api-Key", SECRET)]},
    {"headers": [["Accept", "*/*"], ["Authorization", SECRET], ["Cookie", {"id": SECRET}]]},
    {"params": [("password", SECRET), ("n", 3)]},
    {"calls": [("auth", ("me", SECRET)), ("env", [("API_KEY", SECRET)])]},
    {"calls": [["--user", f"me:{SECRET}"], [f"token={SECRET}", "x"]]},
    {f"https://me:{SECRET}@host/x": "main"},
    {f"api_key={SECRET}": {"deep": 1}},
    {"args": ["-u", f"me:{SECRET}", "https://h"]},
    {"tokens": {"hf": SECRET, "train": "300B"}},
    {"tokens": [{"github": SECRET}]},
    {"keys": {"openai": SECRET}},
    {"PWD": SECRET},
    {"odbc": f"DRIVER=x;UID=u;PWD={SECRET}"},
    {"odbc": f"DRIVER=x;PWD={SECRET};UID=u"},
]
#: Text anywhere: a value of a configuration, an argument, a line of output.
SECRET_TEXTS = [
    f"token={SECRET}",
    f"token={SECRET} lr=0.1",
    f"run.py token={SECRET}",
    f"token: {SECRET}",
    f"bearer={SECRET}",
    f"bearer: {SECRET}",
    f"Bearer {SECRET}",
    f"Authorization: Bearer {SECRET}",
    f"authorization: bearer {SECRET}",
    f"Authorization: Token {SECRET}",
    f"authorization=Bearer {SECRET}",
    f"curl -H 'Authorization: Bearer {SECRET}' https://h",
    f"curl -u me:{SECRET} https://h",
    f"curl --user 'me:{SECRET}' https://h",
    f"UID=u;PWD={SECRET};",
    f"Server=h;Uid=u;Pwd={SECRET}",
    f"X-Api-Key: {SECRET}",
    f"password: {SECRET}",
    f"Password: {SECRET}",
    f"password:{SECRET}",
    f"user=me password={SECRET} host=h",
    f"db pwd={SECRET}",
    f"PASSWORD={SECRET}; x",
    f"API key: {SECRET}",
    f"api key = {SECRET}",
    f"Secret key: {SECRET}",
    f"access token: {SECRET}",
    f"api_key: {SECRET}\nlr: 0.1",
    f"token: '{SECRET}'",
    f"https://h/?token={SECRET}",
    f"https://me:{SECRET}@h/p",
    f"https://h/#access_token={SECRET}",
    f"mongodb+srv://me:{SECRET}@h",
    f"export TOKEN={SECRET} && run",
    f'{{"api_key": "{SECRET}"}}',
    f'{{"a": {{"token": "{SECRET}"}}}}',
    f'{{"token":"{SECRET}","n":1}}',
    f'{{\\"password\\": \\"{SECRET}\\"}}',
    f"{{'secret': '{SECRET}'}}",
    f'{{"api_key":\n  "{SECRET}"}}',
    f'{{"password": {{"first": "{SECRET}"}}}}',
    f'{{"password": ["{SECRET}", "{SECRET}"]}}',
    f'[{{"name": "API_KEY", "value": "{SECRET}"}}]',
    f'{{"auth": ["me", "{SECRET}"]}}',
    json.dumps({"inner": json.dumps({"password": [SECRET]})}),
]
SECRET_ARGUMENTS = [
    ["--token", SECRET],
    [f"--token={SECRET}"],
    [f"token={SECRET}"],
    [f"bearer={SECRET}"],
    ["--bearer", SECRET],
    ["--auth", f"me:{SECRET}"],
    ["--hf-token", SECRET],
    [f"env.API_KEY={SECRET}"],
    [f"+trainer.logger.token={SECRET}"],
    ["--set", f"password={SECRET}"],
    ["--header", f"Authorization: Bearer {SECRET}"],
    [f'{{"token":"{SECRET}"}}'],
    ["--config", f'model={{"api_key": "{SECRET}"}}'],
    ["curl", "-u", f"me:{SECRET}", "https://h"],
    ["curl", "--user", f"me:{SECRET}/:@x"],
    [f"--user=me:{SECRET}"],
    ["-U", f"me:{SECRET}"],
    ["--proxy-user", f"me:{SECRET}"],
    ["sh", "-c", f"export TOKEN={SECRET} && run"],
]

INNOCENT_MEMBERS: list[dict[str, Any]] = [
    {"use_cls_token": True},
    {"num_tokens": 4},
    {"max_tokens": 5},
    {"total_tokens": 1_000_000_000},
    {"n_tokens": "300B"},
    {"tokens": ["a", "b"]},
    {"token_type": "bearer"},
    {"tokens": {"train": "300B", "valid": "1B"}},
    {"tokens": ["<s>", "<|reserved_special_token_12|>", "internationalization"]},
    {"tokens": "data/fineweb_train_000001.bin"},
    {"train_tokens": ["s3://bucket/tokens-000001.bin"]},
    {"keys": ["name", "id"]},
    {"keys": {"primary": "id", "sort": "name"}},
    {"betas": [["adam", 0.9], ["sgd", 0.0]]},
    {"columns": [["name", "text"], ["size", "int64"]]},
    {"argv": ["docker", "run", "-u", "1000:1000", "--user", "me", "-u", "http://h:80/p"]},
    {"PWD": "/home/me"},
    {"PWD": "~/x"},
    {"PWD": "C:\\work"},
    {"train.jsonl": 1, "a b: c": 2, "lr=0.1": 3},
    {"bearer": False},
    {"bearer_format": "opaque"},
    {"tokenizer": "gpt2"},
    {"auth": "none"},
    {"auth": "oauth"},
    {"auth": {"kind": "oauth"}},
    {"auth": ["none", ""]},
    {"jwt_algorithm": "HS256"},
    {"session": "train"},
    {"cookie_cutter": "template"},
    {"signature": "f(x)"},
    {"text": '{"lr":0.1,  "n_tokens": 5}'},
    {"text": "[1,2 ,3]"},
    {"text": "{not json"},
]
INNOCENT_TEXTS = [
    "use_cls_token=true",
    "PWD=/home/me",
    "cd /x; PWD=$HOME/y make",
    "OLDPWD=/home/me",
    "num_tokens=4",
    "max_tokens=5",
    "max_tokens: 512",
    "tokens=1234567",
    "total_tokens: 1000000000",
    "token_type=bearer",
    "token_type: bearer",
    "tokenizer=gpt2",
    "tokenizer: bert-base-uncased",
    "pad_token=<pad>",
    "eos_token: </s>",
    "next token: cat",
    "a token of thanks",
    "bearer of news",
    "the bearer token expired",
    "the bearer: John",
    "password reset",
    "password_length=12",
    "sort key: name",
    "primary key = id",
    "the key: name",
    "key=value",
    "author=me",
    "auth_type=basic",
    "Basic block",
    "forward_pass: 12.5ms",
    "pin_memory=True",
    "public_key=abc",
    "token_embedding=wte",
    "tokens/s=12345.6",
    "credentials_path=/a/b",
    "secret_name=prod/db",
    "api_key_env=OPENAI_API_KEY",
    "token_ids: [1, 2]",
    "docker run -u 1000:1000 image",
    "curl -o out https://h:8080/",
    "docker run -u me:group image",
    "--max-tokens 5",
    "--tokenizer gpt2 --lr 0.1",
]


def test_the_table_has_rows_both_ways() -> None:
    assert len(SECRET_MEMBERS) + len(SECRET_TEXTS) + len(SECRET_ARGUMENTS) >= 60
    assert len(INNOCENT_MEMBERS) + len(INNOCENT_TEXTS) >= 60


@pytest.mark.parametrize("member", SECRET_MEMBERS, ids=repr)
def test_a_member_of_a_configuration_loses_its_secret(member: dict[str, Any]) -> None:
    once = redact(member)
    assert SECRET not in repr(once)
    assert redact(once) == once


@pytest.mark.parametrize("text", SECRET_TEXTS)
def test_text_loses_its_secret_wherever_it_stands(text: str) -> None:
    assert SECRET not in redact_text(text)
    assert SECRET not in repr(redact({"note": text, "list": [1, text], "argv": ["x", text]}))
    assert SECRET not in repr(redact_argv(["x", text]))
    line = LineRedactor()
    for one in text.split("\n") if "\n " not in text else [text]:
        assert SECRET not in line(one)


@pytest.mark.parametrize("argv", SECRET_ARGUMENTS, ids=" ".join)
def test_arguments_lose_their_secret(argv: list[str]) -> None:
    redacted = redact_argv(["program", *argv, "--lr", "0.1"])
    assert SECRET not in repr(redacted)
    assert redacted[0] == "program"
    assert redacted[-2:] == ["--lr", "0.1"]


@pytest.mark.parametrize("member", INNOCENT_MEMBERS, ids=repr)
def test_an_innocent_member_stays(member: dict[str, Any]) -> None:
    assert redact(member) == member


@pytest.mark.parametrize("text", INNOCENT_TEXTS)
def test_innocent_text_stays(text: str) -> None:
    assert redact_text(text) == text
    assert redact({"note": text}) == {"note": text}
    assert redact_argv(["x", text]) == ["x", text]


# --- a whole run ---------------------------------------------------------------------------------

letters = st.text(
    "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789", min_size=40, max_size=40
)
#: Shapes that are known wherever they stand; the digit is what tells some of them from words.
PREFIXES = ["ghp_", "github_pat_", "glpat-", "hf_", "sk-", "sk-proj-", "npm_", "AIza", "r8_"]
#: Forms that give a secret away by its name.
FORMS = [
    "api_key={}",
    "Authorization: Bearer {}",
    "password: {}",
    '{{"token": "{}"}}',
    "https://me:{}@host/path",
    "curl -u me:{} https://host",
    "export DB_PASSWORD={}",
]

PROGRAM = """
import json, os, subprocess, sys
plan = json.load(sys.stdin)
sys.argv = ["train.py", *plan["argv"]]
os.environ.update(plan["environment"])
import expr_tracker as et
run = et.init(project="p", name="n", dir="runs", capture_console=True, config=plan["config"],
              notes=plan["notes"], tags=plan["tags"])
for line in plan["lines"]:
    print(line)
    print(line, file=sys.stderr)
et.define_metric("loss", summary=plan["notes"])
et.log({"loss": 1.0})
et.log_artifact("train.py", metadata=plan["config"])
et.finish()
et.init(project="p", name="n", dir="runs", config={"other": plan["notes"]}, capture=False)
et.finish()
"""


@given(st.lists(letters, min_size=len(PREFIXES), max_size=len(PREFIXES), unique=True))
@settings(max_examples=3, suppress_health_check=list(HealthCheck))
def test_no_planted_secret_is_in_any_file_of_a_run(
    tmp_path_factory: pytest.TempPathFactory, bodies: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("run")
    (folder / "train.py").write_text("print()\n")
    shaped = [prefix + "a1" + body for prefix, body in zip(PREFIXES, bodies, strict=True)]
    named = [form.format(f"q7{body}") for form, body in zip(FORMS, bodies, strict=False)]
    texts = [f"see {secret} there" for secret in shaped] + named
    plan = {
        "argv": ["--wandb-key", f"q7{bodies[0]}", *texts, "--lr", "0.1"],
        "environment": {"MY_TOKEN": f"q7{bodies[1]}", "API_KEY": shaped[0]},
        "config": {
            "bearer": f"q7{bodies[2]}",
            "texts": texts,
            "json": json.dumps({"password": [f"q7{bodies[3]}"]}),
            "one by one": {str(number): text for number, text in enumerate(texts)},
            "use_cls_token": True,
            "num_memory_tokens": 4,
        },
        "notes": "; ".join(texts),
        "tags": texts,
        "lines": texts,
    }
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(plan),
        cwd=folder,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    files = [path for path in (folder / "runs").rglob("*") if path.is_file()]
    assert {"config.json", "environment.json", "console.jsonl", "run.json", "about.json"} <= {
        path.name for path in files
    }
    leaks = leaks_in(files, [*shaped, *(f"q7{body}" for body in bodies)])
    assert leaks == []
    config = json.loads((folder / "runs" / "p" / "n" / "config._attempt1.json").read_text())
    assert config["use_cls_token"] is True
    assert config["num_memory_tokens"] == 4
    assert "me:[redacted]@host/path" in config["one by one"][str(len(PREFIXES) + 4)]


def leaks_in(files: list[Path], secrets: list[str]) -> list[tuple[str, str]]:
    return [
        (path.name, secret)
        for path in files
        for secret in secrets
        if secret in path.read_bytes().decode("utf-8", "replace")
    ]
