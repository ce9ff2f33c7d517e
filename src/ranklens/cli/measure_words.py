"""``-m nDCG@10 AP RR``: several measures after one option, as people type them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

FLAGS = ("-m", "--measures")
_SEPARATOR = re.compile(r"(?:\s|,(?!\d[\d.]*(?:[\s,(]|$)))+(?![^(]*\))")


class MeasuringCommand(click.Command):
    """A command whose ``-m`` takes all the words that follow, up to the next option or existing file."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        from ranklens.cli.inputs import is_input

        return super().parse_args(ctx, spread(args, is_input))


def spread(words: Sequence[str], is_input: Callable[[str], bool]) -> list[str]:
    """Give every measure an option of its own.

    Examples
    --------
    >>> spread(["q", "r", "-m", "AP", "RR", "--seed", "1"], lambda word: False)
    ['q', 'r', '-m', 'AP', '-m', 'RR', '--seed', '1']
    """
    out: list[str] = []
    after_flag = False
    for i, word in enumerate(words):
        if word == "--":
            return [*out, *words[i:]]
        follows = i > 0 and words[i - 1] in FLAGS
        if follows:
            after_flag = True
        elif (word.startswith("-") and word != "-") or (after_flag and is_input(word)):
            after_flag = False
        elif after_flag:
            out.append(FLAGS[0])
        out.append(word)
    return out


def measures_of(options: Mapping[str, Any], default: Sequence[str]) -> Sequence[str]:
    """Return what ``-m`` asked for, or the default without it.

    Raises
    ------
    click.UsageError
        When ``-m`` was given and names nothing.
    """
    names = split_names(options["measures"])
    if options["measures"] and not names:
        raise click.UsageError("-m names no measure; write for example -m nDCG@10")
    return names or default


def split_names(texts: Sequence[str]) -> list[str]:
    """Split measures that were written as one word, at blanks and commas outside parentheses; drop repeats.

    A comma before a mere number adds a cutoff, as in trec_eval.

    Examples
    --------
    >>> split_names(["nDCG@10,AP(rel=2)", "RR P.5,10", "AP(rel=2)"])
    ['nDCG@10', 'AP(rel=2)', 'RR', 'P.5', 'P.10']
    """
    from ranklens.metrics.names import with_one_cutoff

    words = [word for text in texts for word in _SEPARATOR.split(text.strip()) if word]
    return list(dict.fromkeys(name for word in words for name in with_one_cutoff(word)))
