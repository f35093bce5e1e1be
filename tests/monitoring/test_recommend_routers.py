"""Router configuration: what is pasted means what was recommended, and says of what it is."""

import json
import re
import shlex

import pytest
import yaml

from monitoring.live.messages import AdviceNow
from monitoring.recommending.routers import Subject, dynamo, from_tokens, llm_d

AT_MS = 1_790_000_400_000  # 2026-09-21 14:20:00 UTC, by `date -u -d @1790000400`
SUBJECT = Subject("case", "case-study-prfaas-pd", 19_400.0, "0.1.0")


def advice(t=21_340.7, **fields):
    return AdviceNow(AT_MS, "throughput", "link_busy", "link at 96 %: raise t", threshold_tokens=t, **fields)


def flags(text):
    """The words of the command as a shell splits them, comments left out."""
    return shlex.split(text.replace("\\\n", ""), comments=True)


@pytest.mark.parametrize(("t", "tokens"), [(0.0, 1), (0.5, 1), (1.0, 2), (19_400.0, 19_401), (21_340.7, 21_341)])
def test_the_same_requests_are_sent_away_by_both_rules(t, tokens):
    assert from_tokens(t) == tokens
    assert all((length > t) == (length >= tokens) for length in range(1, 30_000))


def test_llm_d_gets_plugins_that_its_router_reads():
    plugins = yaml.safe_load(llm_d(SUBJECT, advice()))["plugins"]
    assert plugins == [
        {"type": "prefix-based-pd-decider", "parameters": {"nonCachedTokens": 21_341}},
        {"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "prefix-based-pd-decider"}}},
    ]


def test_everything_sent_away_does_not_switch_llm_ds_decider_off():
    assert yaml.safe_load(llm_d(SUBJECT, advice(0.0)))["plugins"][0]["parameters"]["nonCachedTokens"] == 1


def test_dynamo_gets_flags_and_json_that_its_frontend_reads():
    words = flags(dynamo(SUBJECT, advice()))
    assert words[:5] == ["python", "-m", "dynamo.frontend", "--router-mode", "kv"]
    assert {"--router-kv-events", "--router-conditional-disagg"} <= set(words)
    config = json.loads(words[words.index("--router-conditional-disagg-config") + 1])
    assert config == {"policy": "isl_bounding", "eff_isl_threshold": 21_341, "eff_isl_ratio_threshold": 1.0}


def test_dynamos_caveat_is_stated():
    text = " ".join(dynamo(SUBJECT, advice()).replace("#", " ").split())
    assert "CAVEAT: this is not the same rule" in text
    assert "a prompt of which nothing is cached goes to remote prefill however short it is" in text


@pytest.mark.parametrize("write", [llm_d, dynamo])
def test_the_comments_say_when_of_what_and_why(write):
    text = write(SUBJECT, advice(threshold_low=20_000.0, threshold_high=23_000.0, samples=3_000.0))
    assert "at 2026-09-21T14:20:00Z for case, scenario case-study-prfaas-pd" in text
    assert "t = 21340.7 uncached tokens, for throughput; in force: 19400." in text
    assert "Reason: link_busy. link at 96 %: raise t" in text
    assert "from 20000 to 23000" in text
    assert "Rests on 3000 requests" in text


@pytest.mark.parametrize("write", [llm_d, dynamo])
def test_a_sentence_cannot_leave_its_comment(write):
    found = advice()
    found.sentence = "all well\nrm -rf / #\r\n- type: other"
    text = write(Subject("case", "x", None, "0.1.0"), found)
    command = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert not re.search(r"rm -rf|other", "\n".join(command))
    assert "in force: unknown" in text


@pytest.mark.parametrize("write", [llm_d, dynamo])
def test_nothing_is_written_while_nothing_is_recommended(write):
    with pytest.raises(ValueError, match="nothing is recommended"):
        write(SUBJECT, advice(problems=["too few lengths"]))
