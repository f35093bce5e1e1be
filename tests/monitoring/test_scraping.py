"""What is scraped and asked: by the one that leads, at intervals, one source not delaying another; gaps are told."""

import asyncio
import contextlib
import shutil
import time
from itertools import pairwise

import pytest

from monitoring import pipeline, running, scraping
from monitoring.intake import Intake
from monitoring.models import Pull, Sample, Series, Source, Target
from monitoring.pipeline import Pipeline
from monitoring.scraping import Scraping
from monitoring.storage import query
from tests.monitoring.exporters import Page, Prometheus, serving
from tests.monitoring.senders import asked, now_ms, taking
from tests.monitoring.test_real_prometheus import NODE_EXPORTER, free_port, page

pytestmark = pytest.mark.django_db(transaction=True)
UP, LINK = "up", "link_rtt_s"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(scraping, "LOOK_EVERY_S", 0.1)
    monkeypatch.setattr(scraping, "SPREAD_S", 0.1)
    monkeypatch.setattr(pipeline, "DRAIN_EVERY_S", 0.05)
    monkeypatch.setattr(pipeline, "GATHER_S", 0.01)


async def target(url, name="node", interval_s=0.2, timeout_s=5.0, labels=None):
    def create():
        source = Source.objects.create(name=name, labels=labels or {})
        Target.objects.create(source=source, url=url, interval_s=interval_s, timeout_s=timeout_s)

    await asked(create)


def rtt(value):
    return f'# TYPE link_rtt_s gauge\nlink_rtt_s{{link="wan"}} {value}\n'


def stored(signal, name="node"):
    """Times and values of the signal's samples, in their order."""
    found = Sample.objects.filter(series__signal=signal, series__source__name=name).order_by("ts_ms")
    return list(found.values_list("ts_ms", "value"))


def values(signal, name="node"):
    return [value for _, value in stored(signal, name)]


async def told(signal, name="node"):
    """As `values`, from outside the event loop."""
    return await asked(lambda: values(signal, name))


async def when(condition, within_s=10):
    """Its first true value."""
    end = time.monotonic() + within_s
    while not (value := await asked(condition)):
        assert time.monotonic() < end, "it did not happen"
        await asyncio.sleep(0.05)
    return value


async def test_a_page_is_scraped_at_its_interval_with_the_labels_of_its_source():
    with serving(metrics=Page(rtt(0.01))) as server:
        await target(server.url(), labels={"cluster": "pd-1", "role": "decode"})
        async with taking():
            await when(lambda: len(stored(LINK)) >= 4)
        between = [later - earlier for (earlier, *_), (later, *_) in pairwise(server.asked)]
    assert sum(between) / len(between) > 0.1
    assert set(await told(LINK)) == {0.01}
    assert set(await told(UP)) == {1.0}
    labels = await asked(lambda: Series.objects.get(signal=LINK).labels)
    assert labels == {"cluster": "pd-1", "role": "decode", "link": "wan"}


async def test_how_the_last_scrape_went_is_stored():
    with serving(metrics=Page(rtt(0.01) + "# TYPE other gauge\nother 1\n")) as server:
        await target(server.url())
        async with taking():
            found = await when(lambda: Target.objects.filter(up=True).first())
    assert (found.last_series, found.last_error) == (1, "")
    assert 0 <= now_ms() - found.last_fetched_ms < 10_000
    assert 0 <= found.last_duration_ms <= 5000


async def test_who_does_not_answer_is_down_and_was_not_seen_and_none_of_its_values_is_made_up():
    pages = {"answer": Page(rtt(0.01))}
    with serving(metrics=lambda _: pages["answer"]) as server:
        await target(server.url())
        async with taking():
            await when(lambda: len(stored(LINK)) >= 2)
            pages["answer"] = Page("oh no", 500)
            await when(lambda: values(UP).count(0.0) >= 3)
            found = await when(lambda: Target.objects.filter(up=False).first())
            seen = await asked(lambda: Source.objects.get().last_seen_ms)
    assert found.last_error == "answers 500 Internal Server Error"
    ups, links = await asked(lambda: stored(UP)), await asked(lambda: stored(LINK))
    assert max(at for at, _ in links) == max(at for at, value in ups if value == 1.0)
    assert seen < min(at for at, value in ups if value == 0.0) + 50


async def test_what_is_slow_delays_nobody_and_is_not_asked_twice_at_once():
    with serving(slow=Page(rtt(1), delay_s=5), metrics=Page(rtt(0.01))) as server:
        await target(server.url("/slow"), "slow", interval_s=0.2, timeout_s=0.19)
        with serving(metrics=Page(rtt(0.01))) as quick:
            await target(quick.url(), "quick")
            async with taking():
                await when(lambda: len(stored(LINK, "quick")) >= 5 and len(stored(UP, "slow")) >= 2)
    assert set(await told(UP, "slow")) == {0.0}
    assert set(await told(UP, "quick")) == {1.0}
    assert max(await told("scrape_s", "quick")) < 5  # which the slow one takes
    # A thread of the exporter goes on for a moment after we have given up.
    assert server.most_at_once <= 30


async def test_a_counter_that_begins_again_is_neither_negative_nor_traffic():
    count = iter([1000, 2000, 3000, *range(10, 10_000, 1000)])

    def answer(_):
        return Page(f'# TYPE link_egress_bits counter\nlink_egress_bits{{link="wan"}} {next(count)}\n')

    with serving(metrics=answer) as server:
        await target(server.url(), interval_s=0.4, timeout_s=5.0)
        async with taking():
            await when(lambda: len(stored("link_egress_bits")) >= 7, 20)
    window = query.window(now_ms() - 60_000, now_ms() + 1000)
    [line] = await asked(lambda: query.lines(list(Series.objects.filter(signal="link_egress_bits")), window))
    rates = [rate for rate in line.mean if rate is not None]
    assert rates
    assert all(0 < rate < 100_000 for rate in rates)  # 2500 a second, by a machine that may be busy


# --- changes -----------------------------------------------------------------------------------------------------


async def test_what_is_new_changed_disabled_or_deleted_is_taken_up_while_it_runs():
    with serving(metrics=Page(rtt(0.01)), other=Page(rtt(0.02))) as server:
        async with taking():
            await target(server.url())
            await when(lambda: 0.01 in values(LINK))
            await asked(lambda: Target.objects.update(url=server.url("/other")))
            await when(lambda: 0.02 in values(LINK))
            await asked(lambda: Source.objects.update(enabled=False))
            await _quiet(server)
            await asked(lambda: Source.objects.update(enabled=True))
            before = len(server.asked)
            await when(lambda: len(server.asked) > before)
            await asked(lambda: Target.objects.all().delete())
            await _quiet(server)


async def _quiet(server):
    """Until nothing was asked for some intervals."""
    count = -1
    while count != len(server.asked):
        count = len(server.asked)
        await asyncio.sleep(0.7)


async def test_while_nothing_can_be_committed_nothing_more_is_asked(monkeypatch):
    async def offer(self, taken):
        await asyncio.Event().wait()

    with serving(metrics=Page(rtt(0.01))) as server:
        await target(server.url())
        monkeypatch.setattr(Pipeline, "offer", offer)
        async with taking():
            await when(lambda: len(server.asked) == 1)
            await asyncio.sleep(0.6)
            assert len(server.asked) == 1


async def test_a_mistake_in_one_round_does_not_end_the_rounds(monkeypatch, caplog):
    working, broken = scraping.asking.ask, [True]

    async def ask(*given):
        if broken:
            raise RuntimeError(broken.pop())
        return await working(*given)

    monkeypatch.setattr(scraping.asking, "ask", ask)
    with serving(metrics=Page(rtt(0.01))) as server:
        await target(server.url())
        async with taking():
            await when(lambda: stored(LINK))
    assert "node could not be asked" in caplog.text


# --- who asks ----------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def process():
    """Another web process: an intake and a scraping of its own."""
    intake = Intake(Pipeline())
    intake.pipeline.start()
    found = Scraping(intake)
    found.start()
    try:
        yield found
    finally:
        await found.stop()
        await intake.pipeline.stop()
        intake.close()


async def test_only_the_one_that_leads_asks_and_another_goes_on():
    with serving(metrics=Page(rtt(0.01))) as server:
        await target(server.url())
        async with taking():
            await when(lambda: running.pipeline().is_leading)
            async with process() as second:
                await when(lambda: len(stored(LINK)) >= 3)
                assert not second.is_leading
                assert not second._loops
                await running.stop()
                before = len(server.asked)
                await when(lambda: len(server.asked) > before + 2)
                await when(lambda: second.is_leading)
    assert server.most_at_once == 1


# --- queries -----------------------------------------------------------------------------------------------------


async def pull(server, *queries, interval_s=0.2, timeout_s=5.0, **of_source):
    def create():
        source = Source.objects.create(name="prometheus", **of_source)
        times = {"interval_s": interval_s, "timeout_s": timeout_s}
        Pull.objects.create(source=source, url=server.url("/prometheus/"), queries=list(queries), **times)

    await asked(create)


def answering(**series):
    """A server whose paths of the query API are below /prometheus."""
    answers = Prometheus(**series)
    return answers, {"prometheus/api/v1/query": answers, "prometheus/api/v1/query_range": answers}


async def test_queries_are_asked_as_signals_and_by_the_names_of_their_metrics():
    _, pages = answering(
        egress=({"link": "wan"}, lambda at: 1e6), waiting=({"__name__": "vllm:num_requests_waiting"}, lambda at: 7)
    )
    with serving(**pages) as server:
        egress = {"query": "egress", "signal": "link_egress_bits", "scale": 8}
        await pull(server, egress, {"query": "waiting"}, systems=["vllm"], labels={"role": "decode"})
        async with taking():
            await when(lambda: len(values("link_egress_bits", "prometheus")) >= 2)
            await when(lambda: len(values("queued_requests", "prometheus")) >= 2)
    assert set(await told("link_egress_bits", "prometheus")) == {8e6}
    assert set(await told("queued_requests", "prometheus")) == {7.0}
    assert set(await told(UP, "prometheus")) == {1.0}


async def test_a_query_that_is_refused_is_told_and_the_others_are_taken():
    _, pages = answering(rtt=({"link": "wan"}, lambda at: 0.01))
    with serving(**pages) as server:
        await pull(server, {"query": "rtt(", "signal": LINK}, {"query": "rtt", "signal": LINK})
        async with taking():
            found = await when(lambda: Pull.objects.filter(up=False).first())
            await when(lambda: values(LINK, "prometheus"))
    assert found.last_error == "rtt(: answers 400 Bad Request: parse error: no such thing"


async def test_where_nothing_answers_the_other_queries_of_a_round_are_not_asked():
    with serving(**{"prometheus/api/v1/query": Page(delay_s=5)}) as server:
        await pull(server, *({"query": f"x{at}"} for at in range(20)), interval_s=60, timeout_s=0.2)
        async with taking():
            found = await when(lambda: Pull.objects.filter(up=False).first())
        assert len(server.asked) == 1
    assert found.last_error == "no whole answer within 0.2 s"


async def test_what_was_missed_is_asked_for_and_no_more_than_an_hour():
    answers, pages = answering(rtt=({"link": "wan"}, lambda at: at))
    begun_ms = now_ms()
    with serving(**pages) as server:
        query = {"query": "rtt", "signal": LINK}
        await pull(server, query, interval_s=60, timeout_s=5, last_seen_ms=begun_ms - 7_200_000)
        async with taking():
            await when(lambda: len(stored(LINK, "prometheus")) >= 61)
    asked_for = [given for path, given in answers.queries if path.endswith("query_range")]
    assert len(asked_for) >= 6
    assert all(float(each["end"]) - float(each["start"]) <= 600 for each in asked_for)
    found = await asked(lambda: stored(LINK, "prometheus"))
    assert all(value == pytest.approx(at / 1000) for at, value in found)
    assert found[0][0] == pytest.approx(begun_ms - 3_600_000, abs=5000)
    # Begun again, where the process did not lead for a moment, it may have asked for some of it twice.
    assert max(later - earlier for (earlier, _), (later, _) in pairwise(found)) == 60_000
    assert found[-1][0] == pytest.approx(now_ms(), abs=10_000)


async def test_without_a_gap_nothing_of_the_past_is_asked():
    answers, pages = answering(rtt=({"link": "wan"}, lambda at: at))
    with serving(**pages) as server:
        await pull(server, {"query": "rtt", "signal": LINK}, last_seen_ms=now_ms())
        async with taking():
            await when(lambda: len(stored(LINK, "prometheus")) >= 3)
    assert not [path for path, _ in answers.queries if path.endswith("query_range")]


# --- a real exporter ---------------------------------------------------------------------------------------------


@pytest.mark.skipif(NODE_EXPORTER is None, reason="no node exporter here: apt-get install prometheus-node-exporter")
async def test_of_a_real_node_exporter_the_values_of_its_page_are_stored():
    port = free_port()
    command = [shutil.which(NODE_EXPORTER), f"--web.listen-address=127.0.0.1:{port}"]
    exporter = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.DEVNULL)
    try:
        before = await when(lambda: page(port))
        await target(f"http://127.0.0.1:{port}/metrics", interval_s=1.0, timeout_s=5.0)
        async with taking():
            [_, sent] = await when(lambda: stored("sent_segments")[:1] and stored("sent_segments")[0])
            after = await asyncio.to_thread(page, port)
    finally:
        exporter.kill()
        await exporter.wait()
    name = "node_netstat_Tcp_OutSegs", frozenset()
    assert before[name] <= sent <= after[name]
    assert set(await told(UP)) == {1.0}
