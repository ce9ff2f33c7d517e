"""A bar shows on a terminal, for work that takes a while, and nowhere else."""

import io
import sys

from ranklens.cli import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(monkeypatch, stream, *, patience=0.0, quiet=False):
    """Return what three steps of work print on `stream` as standard error."""
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stream)
        patch.setattr(progress, "PATIENCE_S", patience)
        with progress.bar("measuring", quiet=quiet) as move:
            for done in range(1, 4):
                if move is not None:
                    move(done, 3)
    return stream.getvalue()


def test_slow_work_shows_how_far_it_is(monkeypatch):
    text = shown(monkeypatch, Terminal())
    assert "measuring" in text
    assert "3/3" in text


def test_quick_work_shows_nothing(monkeypatch):
    assert shown(monkeypatch, Terminal(), patience=3600.0) == ""


def test_quiet_work_and_pipes_show_nothing(monkeypatch):
    assert shown(monkeypatch, Terminal(), quiet=True) == ""
    assert shown(monkeypatch, io.StringIO()) == ""


def test_quick_steps_are_drawn_a_few_times(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE_S", 0.0)
    with progress.bar("comparing", quiet=False) as move:
        for done in range(1, 20_001):
            move(done, 20_000)
    assert "20000/20000" in stream.getvalue()
    assert stream.getvalue().count("comparing") < 2_000
