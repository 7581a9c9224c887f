r"""What secrets look like wherever they stand: issuers' prefixes, key blocks, URL passwords.

Each pattern is linear in the text: runs are possessive (``++``) or bounded, and begin only where
the character before does not belong to them, so a megabyte chosen by an enemy costs no more than a
megabyte of log. A pattern that ordinary words could meet asks for more than its prefix (length,
digits, a decodable body): ``sk-learn-experiment`` and ``Basic understanding`` are no secrets.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from expr_tracker.interruption import is_from_signal

__all__ = ["KEY_BLOCK_BEGIN", "KEY_BLOCK_END", "REDACTED", "is_plain_word", "without_shapes"]

#: What stands in a secret's place.
REDACTED: Final = "[redacted]"

KEY_BLOCK_BEGIN: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
KEY_BLOCK_END: Final = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")

#: Issuers' own prefixes: the longest form of each is unlike any word.
_ISSUED: Final = re.compile(
    r"(?<![A-Za-z0-9_-])(?:"
    r"(?:AKIA|ASIA|AROA|AIDA|AGPA|ANPA|AIPA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"  # AWS
    r"|gh[oprsu]_[A-Za-z0-9]{20,}+|github_pat_[A-Za-z0-9_]{20,}+"  # GitHub
    r"|gl[a-z]{2,5}-[A-Za-z0-9_-]{20,}+"  # GitLab
    r"|xox[a-z]-[A-Za-z0-9-]{10,}+|xapp-[A-Za-z0-9-]{10,}+"  # Slack
    r"|hf_[A-Za-z0-9]{20,}+"  # Hugging Face
    r"|dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}+"  # Docker
    r"|nvapi-[A-Za-z0-9_-]{20,}+|gsk_[A-Za-z0-9]{20,}+|xai-[A-Za-z0-9]{20,}+"  # NVIDIA, Groq, xAI
    r"|lsv2_(?:pt|sk)_[A-Za-z0-9_]{20,}+|hvs\.[A-Za-z0-9_-]{20,}+"  # LangSmith, Vault
    r"|wandb_v[0-9]_[A-Za-z0-9_]{20,}+"
    r"|AIza[A-Za-z0-9_-]{30,}+|ya29\.[A-Za-z0-9_-]{20,}+"  # Google
    r"|[rs]k_(?:live|test)_[A-Za-z0-9]{16,}+|whsec_[A-Za-z0-9]{20,}+"  # Stripe
    r"|npm_[A-Za-z0-9]{30,}+|pypi-[A-Za-z0-9_-]{50,}+"
    r"|SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,}+"  # SendGrid
    r"|dapi[0-9a-f]{32}|do[opr]_v1_[0-9a-f]{32,}+|r8_[A-Za-z0-9]{30,}+"
    r"|[0-9]{8,12}:AA[A-Za-z0-9_-]{30,}+"  # Telegram
    r"|eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]*+"  # RFC 7519
    r")"
)
#: A text without any of these has nothing of the above: twenty looks for a substring take 1 us, the
#: pattern on a line of a console 20.
_ISSUED_STEMS: Final = (
    "AKIA", "ASIA", "AROA", "AIDA", "AGPA", "ANPA", "AIPA", "ABIA", "ACCA", "ghp_", "gho_",
    "ghr_", "ghs_", "ghu_", "github_pat_", "gl", "xox", "xapp-", "hf_", "wandb_v", "AIza",
    "ya29.", "k_live_", "k_test_", "whsec_", "npm_", "pypi-", "SG.", "dapi", "_v1_", "r8_", ":AA",
    "eyJ", "dckr_", "nvapi-", "gsk_", "xai-", "lsv2_", "hvs.",
)  # fmt: skip
#: OpenAI, Anthropic and those who copied them. The prefix alone is also how words begin.
_SK: Final = re.compile(
    r"(?<![A-Za-z0-9_-])sk-(?P<issuer>(?:proj|ant|admin|svcacct|or)-)?(?P<body>[A-Za-z0-9_-]{16,}+)"
)
_SK_RUN: Final = re.compile(r"[A-Za-z0-9]{16,}")

#: RFC 6750 and RFC 7617.
_BEARER: Final = re.compile(r"(?i)(?<![a-z0-9_-])(bearer\s{1,8})([a-z0-9._~+/=-]{6,}+)")
#: ``curl -u user:password``.
_CURL_USER: Final = re.compile(
    r"(?<![\w-])((?:-u|--user|-U|--proxy-user)[ =]{1,4}[\"']?[^\s:\"']{1,128}+:)([^\s\"']++)"
)
_BASIC: Final = re.compile(r"(?i)(?<![a-z0-9_-])(basic\s{1,8})([a-z0-9+/]{6,}+={0,2})")

#: ``scheme://user:password@``. The password ends at the last ``@`` before the path.
_USER_INFO: Final = re.compile(r"(://[^\s/?#\"'<>:@]*+:)([^\s/?#\"'<>]++)")
#: A password with a raw slash is no valid URL, yet people write it. A port is not a password.
_USER_INFO_SLASH: Final = re.compile(
    r"(://[^\s/?#\"'<>:@]{0,128}:)(?![0-9]{1,5}(?:[/?#\s]|$))([^\s\"'<>@]{1,256}+)@"
)
#: A token in the place of the user: long and with digits, so ``git@`` and ``x-access@`` stay.
_USER_ONLY: Final = re.compile(r"(?i)(https?://)([a-z0-9_.~%-]{20,}+)@")
#: Addresses that are themselves the right to post, and signatures in a query.
_CAPABILITY: Final = re.compile(
    r"(?i)(hooks\.slack\.com/(?:services|workflows)/|/open-apis/bot/v2/hook/"
    r"|discord(?:app)?\.com/api/webhooks/|/cgi-bin/webhook/send\?key="
    r"|[?&](?:x-amz-signature|x-amz-security-token|x-goog-signature|signature|sig)=)"
    r"([^\s\"'<>&]{4,}+)"
)


#: Names, paths and numbers: nothing that parts a name from its value or begins an address.
_PLAIN_WORD: Final = re.compile(r"[\w./-]*+")
#: ``xoxb-`` and ten more: the shortest of all shapes.
_SHAPE_CHARACTERS_MIN: Final = 15


def is_plain_word(text: str) -> bool:
    """Say whether ``text`` is one word and so holds no secret, neither named nor by its shape.

    Most keys and short values are; to find out costs a tenth of the search.
    """
    return _PLAIN_WORD.fullmatch(text) is not None and (
        len(text) < _SHAPE_CHARACTERS_MIN
        or not ("sk-" in text or any(stem in text for stem in _ISSUED_STEMS))
    )


def without_shapes(text: str) -> str:
    """Return ``text`` with everything that looks like a secret by itself replaced."""
    text = _without_key_blocks(text)
    if "://" in text:
        text = _USER_INFO.sub(_without_password, text)
        text = _USER_INFO_SLASH.sub(rf"\1{REDACTED}@", text)
        text = _USER_ONLY.sub(_without_user_token, text)
    if "://" in text or "?" in text or "&" in text:
        text = _CAPABILITY.sub(rf"\1{REDACTED}", text)
    if any(stem in text for stem in _ISSUED_STEMS):
        text = _ISSUED.sub(REDACTED, text)
    if "sk-" in text:
        text = _SK.sub(_without_sk, text)
    if "curl" in text:
        text = _CURL_USER.sub(rf"\1{REDACTED}", text)
    lowered = text.lower()
    if "bearer" in lowered:
        text = _BEARER.sub(_without_bearer, text)
    if "basic" in lowered:
        text = _BASIC.sub(_without_basic, text)
    return text


def _without_key_blocks(text: str) -> str:
    """Replace private keys in PEM (RFC 7468); one without its end reaches to the text's end."""
    if "-----BEGIN " not in text:
        return text
    kept: list[str] = []
    position = 0
    while (begin := KEY_BLOCK_BEGIN.search(text, position)) is not None:
        kept += [text[position : begin.start()], REDACTED]
        end = KEY_BLOCK_END.search(text, begin.end())
        position = len(text) if end is None else end.end()
    kept.append(text[position:])
    return "".join(kept)


def _without_password(match: re.Match[str]) -> str:
    password, at, rest = match[2].rpartition("@")
    return f"{match[1]}{REDACTED}@{rest}" if at and password else match[0]


def _without_user_token(match: re.Match[str]) -> str:
    return f"{match[1]}{REDACTED}@" if _has_digit(match[2]) else match[0]


def _without_sk(match: re.Match[str]) -> str:
    if match["issuer"] is not None:
        return REDACTED if _has_digit(match["body"]) else match[0]
    run = _SK_RUN.search(match["body"])
    return REDACTED if run is not None and _has_digit(run[0]) else match[0]


def _without_bearer(match: re.Match[str]) -> str:
    # "bearer authentication" is a word; a token has a digit or is longer than words are.
    is_token = _has_digit(match[2]) or len(match[2]) >= 32
    return match[1] + REDACTED if is_token else match[0]


def _without_basic(match: re.Match[str]) -> str:
    try:
        body = base64.b64decode(match[2], validate=True)
    except (binascii.Error, ValueError) as error:
        if is_from_signal(error):
            raise
        return match[0]
    return match[1] + REDACTED if b":" in body and body.isascii() else match[0]


def _has_digit(text: str) -> bool:
    return any(character.isdigit() for character in text)
