"""Which names hold secrets: ``api_key`` does, ``pad_token_id`` does not.

A name is taken apart into lower-case words (``wandbApiKey``, ``WANDB-API-KEY`` and
``wandb.api_key`` are all *wandb api key*), and words decide, never parts of words: *monkey* is not
a *key* and *author* is not an *authorization*. A secret kind of name is no secret when its last
word says that it only describes one (``password_length``, ``token_file``, ``api_key_env``).

The hard word is *token*. In machine learning it is a piece of text far more often than a
credential, so it counts only at the end of a name (``token_dim`` does not), in the singular unless
a credential's word stands before it (``api_tokens``), and never after a word of text modelling
(``pad_token``, ``use_cls_token``).
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import Final

__all__ = [
    "has_secret_stem",
    "is_directory_name",
    "is_group_name",
    "is_header_name",
    "is_key_like_name",
    "is_login_name",
    "is_secret_name",
    "is_token_name",
    "is_tokens_name",
]

#: Every name that this module calls secret, key-like or a login holds one of these.
_STEMS: Final = (
    "pass", "pwd", "pw", "secret", "token", "key", "cred", "auth", "cookie", "bearer",
    "jwt",
)  # fmt: skip
_KEY_LIKE_STEMS: Final = ("login", "wandb")

#: The end of a name says what it holds; a longer name (a megabyte is legal) costs no more.
_NAME_CHARACTERS_MAX: Final = 256

#: Digits only separate: ``password2``, ``s3_secret`` and ``OAuth2Token`` mean what they say.
_WORD: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")


def _words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: A secret wherever they stand in the name.
_SECRETS: Final = frozenset(
    {
        "authorization",
        "cookie",
        "cookies",
        "credential",
        "credentials",
        "creds",
        "passcode",
        "passphrase",
        "passwd",
        "password",
        "passwords",
        "pwd",
        "secret",
        "secrets",
    }
)
#: The same, run together with other words: ``PGPASSWORD``, ``openaiapikey``, ``clientsecret``.
_SECRET_ENDINGS: Final = (
    "accesskey",
    "accesstoken",
    "apikey",
    "apitoken",
    "authtoken",
    "bearertoken",
    "bottoken",
    "clientsecret",
    "credentials",
    "hftoken",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "refreshtoken",
    "secretkey",
    "sessiontoken",
)
#: ``<word> key`` and ``<word> keys`` are secrets after these; ``sort_key`` and ``key`` are not.
_KEY_OWNERS: Final = _words_of(
    "access account anthropic api auth aws azure comet crypt decryption deploy encryption gcp "
    "github gpg hf hmac huggingface jwt license master neptune openai pgp private secret service "
    "session shared signing ssh storage subscription wandb webhook"
)
#: ``<word> tokens`` are secrets after these; all other tokens in the plural are text.
_TOKEN_OWNERS: Final = _words_of(
    "access api auth bearer bot github hf huggingface oauth personal refresh secret session slack"
)
#: A name with one of these before *token* speaks of text (``eos_token``, ``cost_per_token``).
_TEXT_WORDS: Final = _words_of(
    "action additional assistant audio begin blank bos boi cls class concept context cost decoder "
    "distillation dummy encoder end eoi eom eos eot extra fake first global image img "
    "initializer input instance lang language last latent learnable mask max memory min n newline "
    "next num number object output pad padding patch per placeholder position prev prompt query "
    "register sentinel sep separator sot source speaker special start stop sub system target text "
    "think time tool trigger unk unknown use video vision vocab word"
)
#: Last words of names that describe a secret without holding it.
_DESCRIPTIONS: Final = _words_of(
    "age algorithm arn column count cutter dim dir directory enabled endpoint env envvar expires expiry "
    "field file filename format index jar kind len length lifetime name names path pattern policy "
    "prefix provider regex required rotation scope scopes size strength ttl type uri url var "
    "variable version"
)
#: ``<word> pass`` is a password after these, and so is ``pass`` alone; ``forward_pass`` is not.
_PASS_OWNERS: Final = _words_of(
    "admin db database ftp http mail mysql pg postgres proxy redis root smtp sudo user"
)
#: Names of groups whose members carry the owner: ``{"tokens": {"hf": ...}}``.
_GROUPS: Final = frozenset({"key", "keys", "tokens"})
#: The shell's variables for the working directory, not passwords.
_WORKING_DIRECTORY_NAMES: Final = frozenset({"PWD", "OLDPWD"})


def has_secret_stem(text: str) -> bool:
    """Say whether a name in ``text`` can be secret at all; most lines of a console end here."""
    lowered = text.lower()
    return any(stem in lowered for stem in (*_STEMS, *_KEY_LIKE_STEMS))


def is_secret_name(name: str) -> bool:
    """Say whether a value under ``name`` is to be taken for a secret."""
    return _is_secret(name[-_NAME_CHARACTERS_MAX:])


def is_key_like_name(name: str) -> bool:
    """Say whether 40 hexadecimal digits beside ``name`` are an access key rather than a digest."""
    return not {"key", "wandb", "login"}.isdisjoint(_words(name))


def is_header_name(name: str) -> bool:
    """Say whether ``name`` is a header whose secret reaches to the end of its line."""
    return not {"authorization", "cookie"}.isdisjoint(_words(name))


def is_token_name(name: str) -> bool:
    """Say whether ``name`` ends in *token* or *bearer*, in free text maybe ordinary words."""
    return _last_word(name) in {"token", "bearer"}


def is_login_name(name: str) -> bool:
    """Say whether ``user:password`` may stand under ``name``, as under ``basic_auth``."""
    return _last_word(name) in {"auth", "userpwd"}


def is_group_name(name: str) -> bool:
    """Say whether a member of what stands under ``name`` is to be judged with ``name`` behind it.

    ``hf`` is no secret name, ``hf_tokens`` is; so is *hf* under *tokens*.
    """
    return _last_word(name) in _GROUPS


def is_tokens_name(name: str) -> bool:
    """Say whether ``name`` ends in *tokens*, and no word of text modelling stands before it."""
    return _last_word(name) == "tokens" and _TEXT_WORDS.isdisjoint(_words(name))


def is_directory_name(name: str) -> bool:
    """Say whether ``name`` is ``PWD``: a directory to a shell, a password in an ODBC string."""
    return name.lstrip("-") == "PWD"


@lru_cache(maxsize=1024)
def _is_secret(name: str) -> bool:
    words = _words_in(name)
    if not words or words[-1] in _DESCRIPTIONS or name.lstrip("-") in _WORKING_DIRECTORY_NAMES:
        return False
    if any(word in _SECRETS or word.endswith(_SECRET_ENDINGS) for word in words):
        return True
    if any(owner in _KEY_OWNERS and word in {"key", "keys"} for owner, word in pairwise(words)):
        return True
    return _is_secret_at_the_end(words)


def _is_secret_at_the_end(words: tuple[str, ...]) -> bool:
    *before, last = words
    owner = before[-1] if before else None
    if last == "token":
        return _TEXT_WORDS.isdisjoint(before)
    if last in {"bearer", "jwt"}:
        return True
    if last == "tokens":
        return owner in _TOKEN_OWNERS
    if last == "pass":
        return owner is None or owner in _PASS_OWNERS
    return last == "pw"


def _last_word(name: str) -> str | None:
    words = _words(name)
    return words[-1] if words else None


def _words(name: str) -> tuple[str, ...]:
    return _words_in(name[-_NAME_CHARACTERS_MAX:])


# A run's names repeat: a console that prints the same key a million times splits it once.
@lru_cache(maxsize=1024)
def _words_in(name: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORD.findall(name))
