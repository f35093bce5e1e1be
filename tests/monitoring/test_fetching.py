"""What other servers answer: bounded in time and size, and not from any address."""

import pytest

from monitoring.sources import fetching, scrape
from monitoring.sources.fetching import Failed, Fetcher, is_withheld
from tests.monitoring.exporters import Page, serving

GOOD = "# TYPE node_load1 gauge\nnode_load1 0.5\n"


@pytest.fixture
async def fetcher():
    fetcher = Fetcher()
    yield fetcher
    await fetcher.close()


async def got(fetcher, url, timeout_s=2.0, **more):
    return await fetcher.get(url, timeout_s, accept=scrape.ACCEPT, **more)


async def scraped(fetcher, url):
    return scrape.readings(await got(fetcher, url), 1000)


async def test_a_page_is_asked_for_as_exporters_expect_it(fetcher):
    with serving(metrics=Page(GOOD)) as server:
        [reading], rejected = await scraped(fetcher, server.url())
        headers = server.asked[0][2]
    assert (reading.name, reading.kind, reading.points[0].value, rejected) == ("node_load1", "gauge", 0.5, [])
    assert headers["Accept"] == "text/plain;version=0.0.4"
    assert headers["Host"] == f"127.0.0.1:{server.server_port}"
    assert "Authorization" not in headers


async def test_a_token_is_sent(fetcher):
    with serving(metrics=Page(GOOD)) as server:
        await got(fetcher, server.url(), token="secret")
        assert server.asked[0][2]["Authorization"] == "Bearer secret"


async def test_a_packed_page_is_unpacked(fetcher):
    with serving(metrics=Page.packed(GOOD)) as server:
        [reading], _ = await scraped(fetcher, server.url())
    assert reading.name == "node_load1"


async def test_what_has_no_value_is_absent_and_not_rejected(fetcher):
    with serving(metrics=Page('# TYPE s summary\ns{quantile="0.5"} NaN\ns_sum 0\ns_count 0\n')) as server:
        found, rejected = await scraped(fetcher, server.url())
    assert [each.name for each in found] == ["s_sum", "s_count"]
    assert not rejected


async def test_the_connection_is_kept(fetcher):
    with serving(metrics=Page(GOOD)) as server:
        for _ in range(3):
            await got(fetcher, server.url())
        assert len(server.connections) == 1


async def test_a_connection_that_ended_in_between_is_opened_again(fetcher):
    def once(request):
        request.close_connection = True  # without saying so
        return Page(GOOD)

    with serving(metrics=once) as server:
        for _ in range(3):
            await got(fetcher, server.url())
        assert len(server.connections) == 3


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (Page("oh no", 500), "answers 500 Internal Server Error"),
        (Page("who?", 401), "answers 401 Unauthorized: it wants a bearer token, see bearer_token_file"),
        (Page("<html><body>Welcome</body></html>"), "not an exposition page: this is an HTML page"),
        (Page('{"status": "success"}'), "not an exposition page: this is JSON"),
        (Page("all is well\ntoday as ever\n"), "not an exposition page"),
        (Page(b"\xff\xfe\x00n"), "not text in UTF-8"),
        (Page("", 302, {"Location": "http://169.254.169.254/"}), "answers 302, to http://169.254.169.254/: redirects"),
        (Page(b"not gzip", headers={"Content-Encoding": "gzip"}), "not whole gzip"),
        (Page(b"?", headers={"Content-Encoding": "br"}), "br"),
    ],
)
async def test_what_is_no_page_of_metrics_is_said(fetcher, page, said):
    with serving(metrics=page) as server:
        with pytest.raises(Failed) as told:
            await scraped(fetcher, server.url())
        assert said in str(told.value)
        assert len(server.asked) == 1


@pytest.mark.parametrize("page", [Page(GOOD, delay_s=5), Page(GOOD * 50, drip=10)])
async def test_what_is_slow_ends_in_time_also_where_it_drips(fetcher, page):
    with serving(metrics=page) as server, pytest.raises(Failed, match=r"no whole answer within 0\.2 s"):
        await got(fetcher, server.url(), timeout_s=0.2)


async def test_what_is_too_large_is_given_up(fetcher, monkeypatch):
    monkeypatch.setattr(fetching, "MOST_BYTES", 2**20)
    with (
        serving(metrics=Page(b"#" * 2**16, repeat=1000)) as server,
        pytest.raises(Failed, match="answers more than 1048576 bytes"),
    ):
        await got(fetcher, server.url(), timeout_s=10)


async def test_a_few_bytes_that_unpack_to_a_great_many_are_refused(fetcher):
    page = Page.packed("#" * (9 * 2**20))
    with serving(metrics=page) as server, pytest.raises(Failed, match="unpacks to more than"):
        await scraped(fetcher, server.url())


async def test_where_nobody_listens_is_said(fetcher):
    with serving() as server:
        url = server.url()
    with pytest.raises(Failed, match="no answer: All connection attempts failed"):
        await got(fetcher, url)


async def test_a_name_that_is_none_is_said(fetcher):
    with pytest.raises(Failed, match=r"nobody\.invalid has no address"):
        await got(fetcher, "http://nobody.invalid/metrics")


# --- addresses ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254", "169.254.0.1", "fe80::1", "fe80::1%eth0", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe",
        "100.100.100.200", "168.63.129.16", "fd00:ec2::254", "0.0.0.0", "::", "224.0.0.1",  # noqa: S104
    ],
)  # fmt: skip
def test_link_local_and_metadata_addresses_are_withheld(address):
    assert is_withheld(address)


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "192.168.1.1", "::1", "fd00::1", "8.8.8.8"])
def test_others_are_not(address):
    assert not is_withheld(address)


def pretending(monkeypatch, *answers):
    """Names that have these addresses, one after the other."""
    given = iter(answers)

    monkeypatch.setattr(fetching, "_resolved", lambda host, port: next(given))


async def test_a_name_for_a_metadata_address_is_not_asked(fetcher, monkeypatch):
    pretending(monkeypatch, ["169.254.169.254"])
    with pytest.raises(Failed, match=r"metadata\.example is 169\.254\.169\.254: link-local"):
        await got(fetcher, "http://metadata.example/latest/meta-data/")


async def test_the_address_that_was_looked_at_is_the_one_that_is_asked(fetcher, monkeypatch):
    """By the name it would be looked up once more, and could be another one."""
    with serving(metrics=Page(GOOD)) as server:
        pretending(monkeypatch, ["127.0.0.1"])
        await got(fetcher, f"http://exporter.example:{server.server_port}/metrics")
        assert server.asked[0][2]["Host"] == f"exporter.example:{server.server_port}"


async def test_of_several_addresses_the_next_is_tried(fetcher, monkeypatch):
    with serving(metrics=Page(GOOD)) as server:
        pretending(monkeypatch, ["127.0.0.2", "127.0.0.1"])
        await got(fetcher, f"http://exporter.example:{server.server_port}/metrics")


async def test_neither_proxies_nor_passwords_are_taken_from_the_environment(fetcher, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    proxied = Fetcher()
    with serving(metrics=Page(GOOD)) as server:
        await got(proxied, server.url())
    await proxied.close()
