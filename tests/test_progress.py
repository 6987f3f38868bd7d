from __future__ import annotations

from graphmem.progress import progress_bar, progress_steps


def test_steps_show_all_and_the_one_under_way(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    with progress_steps("rows", 3) as steps:
        advance = steps.begin("reading [a] file")
        advance(4, 9)
        steps.finish()
        steps.begin("asking")(7, 8)
        steps.finish()
    shown = capsys.readouterr()
    assert shown.out == ""
    for words in ("rows", "2/3", "asking", "7/8"):
        assert words in shown.err


def test_a_bar_shows_names_as_they_are(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    with progress_bar("reading [bold] file") as advance:
        advance(1, 2)
    assert "reading [bold] file" in capsys.readouterr().err


def test_nothing_is_shown_where_nobody_looks(capsys):
    with progress_steps("rows", 1) as steps, progress_bar("reading") as advance:
        steps.begin("asking")(1, 2)
        steps.finish()
        advance(1, 2)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.strip() == ""


def test_a_log_gets_a_line_for_each_step_that_is_told_of(capsys, monkeypatch):
    with progress_steps("rows", 2) as steps:
        steps.finish("one [bold] row")
        assert capsys.readouterr().err == "one [bold] row\n"
        steps.finish()
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress_steps("rows", 1) as steps:
        steps.finish("one row")
    assert "one row" not in capsys.readouterr().err
