"""Read the names of measures as people write them, and print them in one form."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from ranklens.core import UnknownNameError
from ranklens.core.errors import nearest_names
from ranklens.metrics.arguments import check_arguments, check_cutoff, read_arguments
from ranklens.metrics.catalogue import BY_SPELLING, CATALOGUE, IMPLIED_ARGUMENTS, NEED_CUTOFF, folded
from ranklens.metrics.definitions import BadMeasureError, Definition, Measure, plain_text
from ranklens.metrics.functions import find_plugin, function_measure, plugin_names

MeasureLike = str | Measure | Callable[..., Any]

# Name, cutoff and the arguments that the spelling implies.
_Candidate = tuple[str, str | None, dict[str, Any]]

_FORM = re.compile(
    r"(?P<base>[^@()]*?)\s*(?:\((?P<before>[^()]*)\))?\s*(?:@\s*(?P<cutoff>[^@()]*?))?\s*(?:\((?P<after>[^()]*)\))?"
)
_TREC_CUTOFF = re.compile(r"(?P<base>.*?)(?P<mark>[._])(?P<cutoff>\d+(?:\.\d+)?)")
_RANX_LEVEL = re.compile(r"(?P<rest>.*)-[lL](?P<rel>\d+)")
_WRITTEN_CUTOFF = re.compile(r"@\s*(\d+(?:\.\d+)?)")
_SEVERAL = re.compile(r"(?P<base>.*[._@])(?P<cutoffs>[\d.]+(?:,[\d.]+)+)(?P<after>\(.*\))?")


def parse_measure(measure: MeasureLike) -> Measure:
    """Read one measure.

    Parameters
    ----------
    measure : str, Measure or callable
        A name in the spelling of ir_measures (``AP(rel=2)@100``), trec_eval (``map_cut_100``, ``P.10``) or
        ranx (``ndcg@10``, ``rbp.95``, ``map@100-l2``), in any case; a plain function (see
        `ranklens.metrics.functions`); or a `Measure`, which is returned.

    Returns
    -------
    Measure
        Its `name` is the canonical one.

    Raises
    ------
    UnknownNameError
        When there is no such measure; the nearest known ones are listed.
    BadMeasureError
        When the measure is known, but not with this cutoff or these parameters (a ValueError).

    Examples
    --------
    >>> [parse_measure(name).name for name in ("ndcg_cut_10", "map", "Recip_Rank", "ap(REL=2)@100", "rbp.95")]
    ['nDCG@10', 'AP', 'RR', 'AP(rel=2)@100', 'RBP(p=0.95)']
    """
    if isinstance(measure, Measure):
        return measure
    if isinstance(measure, str):
        return _parse_text(measure.strip())
    if callable(measure):
        return function_measure(measure)
    raise BadMeasureError(f"a measure is a name or a function, got {measure!r}")


def parse_measures(measures: MeasureLike | Iterable[MeasureLike]) -> tuple[Measure, ...]:
    """Read one or several measures; a repeated one counts once, and ``P.5,10`` is two.

    Raises
    ------
    BadMeasureError
        When there is none, or two different ones have the same name.

    Examples
    --------
    >>> [measure.name for measure in parse_measures(["P.5,10", "MAP", "ap"])]
    ['P@5', 'P@10', 'AP']
    """
    if isinstance(measures, (str, Measure)) or callable(measures):
        measures = [measures]
    if not isinstance(measures, Iterable):
        raise BadMeasureError(f"measures are names or functions, such as ['nDCG@10', 'AP'], got {measures!r}")
    found: dict[str, Measure] = {}
    for item in measures:
        for part in with_one_cutoff(item) if isinstance(item, str) else [item]:
            measure = parse_measure(part)
            known = found.setdefault(measure.name, measure)
            if known.definition.kernel is not measure.definition.kernel:
                raise BadMeasureError(f"two different measures are named {measure.name}; rename one of them")
    if not found:
        raise BadMeasureError("no measure was given; ask for one, such as nDCG@10")
    return tuple(found.values())


def known_measures(*, plugins: bool = True) -> list[tuple[str, str]]:
    """Return the name and the definition of every known measure, in a line each.

    Parameters
    ----------
    plugins : bool
        Whether to add the measures that other installed packages offer.

    Examples
    --------
    >>> known_measures(plugins=False)[0][0], known_measures(plugins=False)[-1]
    ('nDCG@k', ('NumRelRet@k', 'number of relevant documents among the retrieved top k (parameters: rel=1)'))
    """
    found = [find_plugin(folded(name)) for name in plugin_names()] if plugins else []
    return [_described(definition) for definition in (*CATALOGUE, *filter(None, found))]


def with_one_cutoff(name: str) -> list[str]:
    """Take a name of several cutoffs, as trec_eval reads it, apart.

    Examples
    --------
    >>> with_one_cutoff("ndcg_cut.5,10"), with_one_cutoff("AP(rel=2)")
    (['ndcg_cut.5', 'ndcg_cut.10'], ['AP(rel=2)'])
    """
    several = _SEVERAL.fullmatch(name.strip())
    if several is None:
        return [name]
    return [f"{several['base']}{k}{several['after'] or ''}" for k in several["cutoffs"].split(",")]


def _parse_text(asked: str) -> Measure:
    level = _RANX_LEVEL.fullmatch(asked)
    form = _FORM.fullmatch(level["rest"] if level else asked)
    if form is None:
        raise _unknown(asked, asked.partition("@")[0].partition("(")[0])
    candidates = _candidates(form["base"], form["cutoff"])
    definition, base, cutoff, given = _recognised(candidates, BY_SPELLING.get, find_plugin)
    if definition is None:
        raise _unknown(asked, base)
    given |= IMPLIED_ARGUMENTS.get(folded(base), {}) | ({"rel": level["rel"]} if level else {})
    given |= read_arguments(f"{form['before'] or ''},{form['after'] or ''}", asked)
    cutoff = given.pop("cutoff", cutoff)
    if cutoff is None and folded(base) in NEED_CUTOFF:
        raise BadMeasureError(f"{asked} needs a cutoff; write {asked}_10, or {definition.name} for none")
    return _checked(definition, cutoff, given, asked)


def _checked(definition: Definition, cutoff: str | None, given: dict[str, Any], asked: str) -> Measure:
    if definition.name == "NumRet" and "rel" in given:
        definition = BY_SPELLING["numrelret"]
    level = check_cutoff(definition, cutoff, asked)
    return Measure(definition, level, check_arguments(definition, given, asked))


def _candidates(base: str, cutoff: str | None) -> list[_Candidate]:
    """Return the ways to read a name: as it stands, and with a cutoff as in ``P_10`` or ``P.10``."""
    whole: _Candidate = (base, cutoff, {})
    found = _TREC_CUTOFF.fullmatch(base) if cutoff is None else None
    if found is None:
        return [whole]
    if found["mark"] == "." and folded(found["base"]) == "rbp":
        return [whole, (found["base"], None, {"p": f"0.{found['cutoff']}"})]
    return [whole, (found["base"], found["cutoff"], {})]


def _recognised(
    candidates: list[_Candidate], *finders: Callable[[str], Definition | None]
) -> tuple[Definition | None, str, str | None, dict[str, Any]]:
    for find in finders:
        for base, cutoff, given in candidates:
            definition = find(folded(base))
            if definition is not None:
                return definition, base, cutoff, given
    return None, *candidates[-1]


def _described(definition: Definition) -> tuple[str, str]:
    suffix = {"rank": "@k", "recall": "@r", None: ""}[definition.level]
    parameters = ", ".join(
        key if default is None else f"{key}={plain_text(default)}"
        for key, default in definition.parameters.items()
    )
    takes = f" (parameters: {parameters})" if parameters else ""
    return f"{definition.name}{suffix}", f"{definition.summary}{takes}"


def _unknown(asked: str, base: str) -> UnknownNameError:
    spellings = {name: d.name for d in CATALOGUE for name in (d.name, *d.aliases)}
    spellings |= {name: name for name in plugin_names()}
    near = dict.fromkeys(spellings[name] for name in nearest_names(base, spellings))
    advice = dict.fromkeys(filter(None, (_advised(name, asked) for name in near)))
    hint = f"did you mean {', '.join(advice)}?" if advice else None
    return UnknownNameError("measure", asked, sorted(set(spellings.values()), key=str.lower), hint)


def _advised(name: str, asked: str) -> str | None:
    """Return a known measure with the first cutoff that was written, if it can be read so."""
    cutoff = _WRITTEN_CUTOFF.search(asked)
    for text in (f"{name}@{cutoff[1]}" if cutoff else name, name, f"{name}@10"):
        try:
            _parse_text(text)
        except ValueError:
            continue
        return text
    return None
