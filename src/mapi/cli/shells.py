"""What shells ask beyond what click answers: a value that begins with a minus.

``--sort -metr`` is half a value, which click takes for half an option. The completer of an option whose
values may fall says so of each candidate: it is ``signed``.
"""

from __future__ import annotations

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)

__all__ = ["learn"]


class _WithSigns(ShellComplete):
    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        # Bash makes three words of `--sort=name`.
        if args[-1:] == ["="] and args[-2:-1] and args[-2][:1] == "-":
            args = args[:-1]
        if incomplete[:1] == "-" and args and args[-1][:1] == "-":
            found = super().get_completions(args, incomplete[1:])
            if any(one.signed for one in found):
                return [CompletionItem(f"-{one.value}", help=one.help) for one in found]
        return super().get_completions(args, incomplete)


class _Bash(_WithSigns, BashComplete): ...


class _Zsh(_WithSigns, ZshComplete): ...


class _Fish(_WithSigns, FishComplete): ...


def learn() -> None:
    """Let click answer the shells that it knows in our way."""
    for kind in (_Bash, _Zsh, _Fish):
        add_completion_class(kind)
