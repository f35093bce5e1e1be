"""Options of `simulate` and `study`: flat on the command line, fields of a simulation in its document."""

import json
import re
from argparse import ArgumentParser
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from planner import catalog
from planner.catalog import files
from planner.management import simulation_options
from planner.simulating import document
from planner.simulating.schema import Run
from tests.planner.documents import BASE, shipped
from tests.planner.test_commands import refusal, said

SMALL = ("--requests", "500", "--replications", "2", "--load", "0.5")


def made(*arguments):
    """The document that options make, without its scenario."""
    parser = ArgumentParser()
    simulation_options.add_options(parser)
    return simulation_options.simulation(vars(parser.parse_args(arguments)), {}) | {"scenario": ...}


def without_scenario(*arguments):
    return {field: value for field, value in made(*arguments).items() if field != "scenario"}


def test_without_options_only_the_load_is_said():
    assert without_scenario() == {"load": 0.85}


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("--rate 2.5", "rate_rps", 2.5),
        ("--no-failover", "failover", False),
        ("--choice prefix_affine --ageing 0.5", "prefill", {"choice": "prefix_affine", "ageing": 0.5}),
        ("--batch-tokens 8192", "prefill", {"batch_tokens": 8192}),
        ("--chunk-tokens 512", "prefill", {"chunk_tokens": 512}),
        ("--iterations", "decode", {"iterations": True}),
        ("--iterations --step 0.02 1e-4 1e-9 --decode-memory 6e11", "decode",
            {"iterations": True, "base_s": 0.02, "request_s": 1e-4, "token_s": 1e-9, "memory_bytes": 6e11}),
        ("--connections 16 --window-bytes 4e6 --loss 1e-5", "tcp",
            {"connections": 16, "window_bytes": 4e6, "loss": 1e-5}),
        ("--path 0.6 0.02 --path 0.4", "paths", [{"share": 0.6, "rtt_s": 0.02}, {"share": 0.4}]),
        ("--brown-out 60 120 1e9", "brown_out", {"begin_s": 60, "end_s": 120, "bps": 1e9}),
        ("--background 0.2", "weather", {"background": {"kind": "constant", "share": 0.2}}),
        ("--background-day 0.3 0.1 14", "weather",
            {"background": {"kind": "diurnal", "mean_share": 0.3, "amplitude": 0.1, "peak_hour": 14}}),
        ("--fluctuation 0.1 60 --outages 3600 30", "weather",
            {"fluctuation": {"sd_share": 0.1, "relaxation_s": 60}, "outages": {"mean_up_s": 3600, "mean_down_s": 30}}),
        ("--fluctuation 0.1 60 1", "weather",
            {"fluctuation": {"sd_share": 0.1, "relaxation_s": 60, "most_share": 1}}),
        ("--window 1 2 1e9 --window 5 6 0", "weather",
            {"windows": [{"begin_s": 1, "end_s": 2, "bps": 1e9}, {"begin_s": 5, "end_s": 6, "bps": 0}]}),
        ("--fault prfaas 60 120 1 --fault pd_d 300 400", "faults",
            [{"place": "prfaas", "begin_s": 60, "end_s": 120, "instances": 1},
             {"place": "pd_d", "begin_s": 300, "end_s": 400}]),
        ("--failures pd_p 86400 600", "failures", [{"place": "pd_p", "mean_up_s": 86_400, "mean_down_s": 600}]),
        ("--spares pd_p 1 --spares pd_d 2 30", "spares",
            [{"place": "pd_p", "instances": 1}, {"place": "pd_d", "instances": 2, "ready_s": 30}]),
        ("--roles", "roles", {}),
        ("--roles --role-delay 30 --role-least 2 1 --role-keeps-t", "roles",
            {"delay_s": 30, "least_prefill": 2, "least_decode": 1, "retunes": False}),
        ("--prompts trace --jitter 0.5", "prompts", {"source": "trace", "jitter_s": 0.5}),
        ("--prompts chat --systems 4 --turns 6 --think 20", "prompts",
            {"source": "sessions", "kind": "chat", "systems": 4, "mean_turns": 6, "think_s": 20}),
        ("--prompts agents --first-tokens 500 --added-tokens 90 --answer-tokens 70", "prompts",
            {"source": "sessions", "kind": "agents", "first": 500, "added": 90, "output": 70}),
        ("--caches 1e12 5e11 --cache-routing own --no-copies --block-tokens 256 --state-every 4 --forget-answers",
            "caches", {"pd_bytes": 1e12, "prfaas_bytes": 5e11, "routing": "own", "copies": False, "block_tokens": 256,
             "state_every": 4, "keeps_answers": False}),
    ],
)  # fmt: skip
def test_an_option_is_a_field_of_the_document(line, field, value):
    found = without_scenario(*line.split())
    assert found == ({"load": 0.85} if field != "rate_rps" else {}) | {field: value}
    Run.model_validate(found | {"scenario": {}})


def test_every_option_says_a_field_that_a_simulation_has():
    fields = set(Run.model_fields)
    assert {option.path.split(".")[0] for group in simulation_options.OPTIONS.values() for option in group} <= fields


def test_options_win_over_a_file_which_may_hold_any_field(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text(
        "rate_rps: 2.0\nrequests: 700\nprefill: {choice: shortest_queue, ageing: 3.0}\nscenario: other\n"
        "weather: {recording: {interval_s: 60, bps: [1e10, 2e10]}, outages: {mean_up_s: 100, mean_down_s: 1}}\n"
        "roles: {period_s: 30}\ncaches: {pd_bytes: 1, prfaas_bytes: 2, copies: false}\n"
    )
    found = made(
        "--run", str(path), "--load", "0.5", "--ageing", "1", "--background", "0.1", "--roles", "--caches", "3", "4"
    )
    assert found["load"] == 0.5
    assert "rate_rps" not in found
    assert found["requests"] == 700
    assert found["prefill"] == {"choice": "shortest_queue", "ageing": 1}
    assert found["weather"].keys() == {"recording", "outages", "background"}
    assert found["roles"] == {"period_s": 30}
    assert found["caches"] == {"pd_bytes": 3, "prfaas_bytes": 4, "copies": False}
    assert made("--run", str(path))["rate_rps"] == 2.0


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--fault prfaas 60", "--fault: must be PLACE BEGIN_S END_S [INSTANCES]"),
        ("--fault prfaas 60 120 1 2", "--fault: must be PLACE BEGIN_S END_S [INSTANCES]"),
        ("--fault prfaas 60 50", "faults.0.end_s: 50 must be after begin_s, 60 s"),
        ("--fault attic 60 120", "faults.0.place: 'attic' must be one of"),
        ("--fault pd_p 60 120 99", "faults.0.instances: 99 must be at most 3"),
        ("--failures pd_p soon 600", "failures.0.mean_up_s: 'soon' must be a number"),
        ("--spares pd_d", "--spares: must be PLACE INSTANCES [READY_S]"),
        ("--path 0.6", "paths: 0.6 must have shares of the link that sum to 1"),
        ("--step 0.02 0 0", "decode.base_s: 0.02 needs decode.iterations"),
        ("--caches 1e12 1e12", "caches: needs prompts"),
        ("--prompts trace", "prompts.source: 'trace' needs a scenario whose traffic came from a recorded trace"),
        ("--systems 3", "prompts.source: is missing"),
        ("--loss 1", "less than 1"),
        ("--cache-routing luck", "caches"),
        ("--run /no/such/file", "--run /no/such/file: does not exist"),
        ("--run {file}", "runs: 5 is not a field here"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_line(line, expected, tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text("runs: 5\n")
    assert expected in refusal("simulate", BASE, *line.format(file=path).split())


def test_a_word_that_prompts_cannot_be_is_refused():
    with pytest.raises(CommandError, match="invalid choice: 'poems'"):
        call_command("simulate", BASE, "--prompts", "poems")


def test_the_report_says_what_was_simulated_and_what_came_of_it():
    line = (
        "--iterations --step 0.02 1e-4 1e-9 --fault pd_p 100 400 1 --connections 8 --window-bytes 2e6 --loss 1e-4 "
        "--prompts agents --caches 2e12 1e12 --roles"
    )
    text = said("simulate", BASE, *SMALL, "--set", "links.wan.rtt_s=0.02", *line.split())
    for expected in (
        "decode             by iteration, a step of 20 ms + 100 µs a request + 1 ns a token of context",
        "TCP                8 connections, 1.907 MiB each, 20 ms round trip, 0.01 % loss",
        "faults             1 PD-P from 100 to 400 s",
        "prompts            generated sessions of agents",
        "prefix caches      PD 2,000 GB, PrfaaS 1,000 GB, blocks of 512 tokens",
        "TPOT P90 ",
        "spared by caches ",
        "of prompt tokens",
    ):
        assert expected in text


def test_a_plain_run_says_that_decode_is_by_request_and_nothing_of_what_is_off():
    text = said("simulate", BASE, *SMALL)
    assert "decode             by request, a step of 25 ms" in text
    for off in ("TCP", "faults", "caches", "restarted", "roles", "sent again", "prompts", "weather"):
        assert off not in text
    assert "memory for KVCaches" in said("simulate", BASE, *SMALL, "--iterations", "--decode-memory", "1e12")
    # Figures stand below one another, whatever their names.
    assert "\n  busy, PrfaaS       " in text
    assert "\n  NOT STABLE, grows by " in said("simulate", BASE, *SMALL, "--load", "3")
    found = json.loads(said("simulate", BASE, *SMALL, "--json"))
    assert found["tpot_s"]["p99"]["mean"] == 0.025


def test_a_study_takes_the_same_options_and_says_them():
    text = said("study", BASE, *SMALL, "--fault", "prfaas", "50", "100", "1", "--ablate", "failover")
    assert "faults             1 PrfaaS from 50 to 100 s" in text
    assert "Without: Failover" in text


def test_a_frozen_document_is_a_file_for_run(tmp_path):
    asked = document.parse(
        {"scenario": shipped(), "load": 0.5, "requests": 500, "faults": [{"place": "pd_d", "begin_s": 1, "end_s": 2}]},
        catalog.SHIPPED,
    )
    path = tmp_path / "run.yaml"
    path.write_text(files.as_yaml(asked.raw))
    found = json.loads(said("simulate", BASE, "--run", str(path), "--replications", "1", "--json"))
    assert found["restarted_fraction"]["mean"] >= 0
    assert found["requests"] == 475


def test_what_a_jobs_page_gives_away_is_a_file_for_run(tmp_path):
    path = tmp_path / "result.json"
    path.write_text(json.dumps({"job": "1", "input": {"simulation": {"rate_rps": 1.5, "scenario": {}}}, "result": {}}))
    assert without_scenario("--run", str(path)) == {"rate_rps": 1.5}


# --- what does nothing -------------------------------------------------------------------------------------------


def notes(line, overrides=None, command="simulate", load="0.5"):
    set_all = [word for path, value in (overrides or {}).items() for word in ("--set", f"{path}={value}")]
    few = ("--requests", "500", "--replications", "2", "--load", load)
    text = said(command, BASE, *few, *set_all, *line.split())
    return [row.removeprefix("  note ").strip() for row in text.splitlines() if row.startswith("  note ")]


NO_ROUND_TRIP = "The link has no round trip: TCP bounds nothing; give links.wan.rtt_s."


def test_tcp_on_a_link_without_a_round_trip_is_said_to_bound_nothing():
    assert notes("--connections 4") == [NO_ROUND_TRIP]
    assert notes("--connections 4", {"links.wan.rtt_s": 0.02}) == []
    assert notes("--connections 4 --path 0.5 0.02 --path 0.5") == [
        NO_ROUND_TRIP.replace("The link", "Path 2 of the link")
    ]


def test_what_begins_after_the_last_request_is_said_not_to_be_met():
    # 500 requests at half of 3.122 req/s come in 320 s
    too_late = "begins after the last request has come, at about 320 s."
    assert notes("--fault prfaas 400 500") == [f"The fault of PrfaaS from 400 s on {too_late}"]
    assert notes("--window 330 340 1e9 --brown-out 350 360 1e9") == [
        f"The brown-out from 330 s on {too_late}",
        f"The brown-out from 350 s on {too_late}",
    ]
    assert notes("--fault prfaas 300 500 --window 10 20 1e9") == []
    assert notes("--fault prfaas 400 500 --prompts chat") == []


def test_spares_without_faults_are_said_to_stand_in_for_nothing():
    said_of_them = "Hot spares of PD-D stand in for nothing: no fault or failure there is simulated."
    assert notes("--spares pd_d 1") == [said_of_them]
    assert notes("--spares pd_d 1 --fault pd_p 10 20 1") == [said_of_them]
    assert notes("--spares pd_d 1 --failures pd_d 1e5 60") == []


def test_a_study_says_it_too_and_what_an_ablation_leaves_out():
    found = notes("--ablate --connections 4", command="study")
    assert NO_ROUND_TRIP in found
    left_out = next(note for note in found if note.startswith("Not turned off, since it is not on: "))
    assert "Several connections (needs a link with an rtt_s, and more than one of tcp.connections); " in left_out
    assert "pipelining" not in left_out
    named = notes("--ablate pipelining --policy bandwidth_aware", command="study")
    assert not [note for note in named if note.startswith("Not turned off")]


def test_shares_and_times_are_printed_as_far_as_they_can_be():
    text = said("simulate", BASE, "--requests", "100", "--replications", "2", "--load", "0.9")
    busy = [float(share) for line in text.splitlines() if " busy" in line for share in re.findall(r"([\d.-]+)%", line)]
    assert busy
    assert all(0 <= share <= 100 for share in busy)
    assert not re.search(r"-\d", text)


class Terminal(StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("line", [["simulate", BASE, *SMALL], ["study", BASE, *SMALL, "--ablate", "pipelining"]])
def test_a_terminal_is_told_how_far_it_is_and_a_file_is_not(line, monkeypatch):
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    said(*line)
    lines = terminal.getvalue().split("\r\x1b[K")
    assert lines[1] == "preparing"
    assert re.fullmatch(r"simulating: ([\d,]+) of \1 requests, 100 %", lines[-2])
    percents = [int(re.search(r"(\d+) %", each)[1]) for each in lines[2:-1]]
    assert percents == sorted(set(percents))
    assert lines[-1] == ""
    monkeypatch.setattr("sys.stderr", file := StringIO())
    said(*line)
    assert file.getvalue() == ""
