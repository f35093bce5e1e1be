"""What other servers answer over HTTP, bounded in time and size.

A name is resolved here, and the address that it has is the one that is connected to: a name cannot lead us, by another
answer a moment later, to an address that nobody may make us ask (that of a cloud's metadata, by which a machine learns
its secrets).
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import httpx

from monitoring.readings import Malformed, Unsupported
from monitoring.sources.packed import MOST_BYTES, gunzipped_or_plain

KEPT_S = 600.0
"""A connection is kept for the next time: longer than any interval."""
SHOWN = 200
METADATA = frozenset(
    map(ipaddress.ip_address, ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"))
)
"""Of clouds, beside the link-local ones: Alibaba, Azure, Oracle, Amazon, Google."""
# Of its own: names that are looked up in vain would otherwise keep the loop's few threads from all others.
_lookups = ThreadPoolExecutor(32, "telemetry-names")
NAT64 = ipaddress.ip_network("64:ff9b::/96")


class Failed(Exception):
    """What was asked for did not come. The text says why."""


class NoAnswer(Failed):
    """Nothing came, or not in time: another question would end in the same way."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A body as it came, which `text` unpacks."""

    status: int
    body: bytes
    encoding: str

    def text(self) -> str:
        """Raises Failed where it is packed in another way than by gzip, too large, or not UTF-8."""
        try:
            return gunzipped_or_plain(self.body, self.encoding).decode()
        except UnicodeDecodeError:
            raise Failed("what it answers is not text in UTF-8") from None
        except (Malformed, Unsupported) as problem:
            raise Failed(str(problem)) from None


class Fetcher:
    """Asks one server, over a connection that it keeps. Proxies and passwords are not taken from the environment."""

    def __init__(self, may_be_link_local: bool = False) -> None:
        self._client = httpx.AsyncClient(
            transport=_Guarded(may_be_link_local), timeout=KEPT_S, trust_env=False, follow_redirects=False
        )

    async def get(
        self,
        url: str,
        timeout_s: float,
        *,
        accept: str,
        token: str | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Answer:
        """What the server answers, whatever its status. Raises Failed, also for a redirect."""
        headers = {"Accept": accept, "Accept-Encoding": "gzip", "User-Agent": "prfaas-planner"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        try:
            async with (
                asyncio.timeout(timeout_s),
                self._client.stream("GET", url, params=params, headers=headers) as response,
            ):
                return await _answer(response)
        except TimeoutError:
            raise NoAnswer(f"no whole answer within {timeout_s:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            raise NoAnswer(f"no answer: {str(problem)[:SHOWN] or type(problem).__name__}") from None

    async def post(self, url: str, timeout_s: float, body: bytes, headers: Mapping[str, str]) -> Answer:
        """What the server answers to a body, whatever its status. Raises Failed, also for a redirect."""
        sent = {"Accept-Encoding": "gzip", "User-Agent": "prfaas-planner", **headers}
        try:
            async with (
                asyncio.timeout(timeout_s),
                self._client.stream("POST", url, content=body, headers=sent) as response,
            ):
                return await _answer(response)
        except TimeoutError:
            raise NoAnswer(f"no whole answer within {timeout_s:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            raise NoAnswer(f"no answer: {str(problem)[:SHOWN] or type(problem).__name__}") from None

    async def close(self) -> None:
        """Ends its connection."""
        await self._client.aclose()


async def _answer(response: httpx.Response) -> Answer:
    if response.has_redirect_location:
        led_to = response.headers["location"][:SHOWN]
        raise Failed(f"answers {response.status_code}, to {led_to}: redirects are not followed, give that address")
    chunks, size = [], 0
    async for chunk in response.aiter_raw():
        size += len(chunk)
        if size > MOST_BYTES:
            raise Failed(f"answers more than {MOST_BYTES} bytes")
        chunks.append(chunk)
    return Answer(response.status_code, b"".join(chunks), response.headers.get("content-encoding", ""))


@cache
def _tls() -> ssl.SSLContext:
    """Certificates are checked; SSL_CERT_FILE may name a private authority's."""
    return httpx.create_ssl_context()


class _Guarded(httpx.AsyncHTTPTransport):
    """Connects to addresses that may be asked, one after the other until one answers."""

    def __init__(self, may_be_link_local: bool) -> None:
        limits = httpx.Limits(max_connections=2, max_keepalive_connections=1, keepalive_expiry=KEPT_S)
        super().__init__(verify=_tls(), limits=limits, trust_env=False)
        self._may_be_link_local = may_be_link_local

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        port = url.port or (443 if url.scheme == "https" else 80)
        problem: httpx.TransportError = httpx.ConnectError(f"{url.host} has no address")
        for address in await _addresses(url.host, port, self._may_be_link_local):
            try:
                return await self._asked(request, address)
            except (httpx.ConnectError, httpx.ConnectTimeout) as failure:
                problem = failure
        raise problem

    async def _asked(self, request: httpx.Request, address: str) -> httpx.Response:
        # The certificate is checked against the name, and `Host` stays what it was.
        there = httpx.Request(
            request.method,
            request.url.copy_with(host=address),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": request.url.host},
        )
        try:
            return await super().handle_async_request(there)
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
            # Servers end connections that were idle for some seconds, perhaps just as we ask again.
            return await super().handle_async_request(there)


async def _addresses(host: str, port: int, may_be_link_local: bool) -> list[str]:
    """Those of the host that may be asked. Raises Failed where there is none."""
    try:
        every = await asyncio.get_running_loop().run_in_executor(_lookups, _resolved, host, port)
    except (OSError, UnicodeError):
        raise NoAnswer(f"{host[:SHOWN]} has no address") from None
    asked = [each for each in every if may_be_link_local or not is_withheld(each)]
    if not asked:
        raise Failed(
            f"{host[:SHOWN]} is {every[0]}: link-local and clouds' metadata addresses are not asked, "
            "unless PLANNER_SCRAPE_LINK_LOCAL allows it"
        )
    return asked


def _resolved(host: str, port: int) -> list[str]:
    """Raises OSError or UnicodeError where there is none."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def is_withheld(address: str) -> bool:
    """Whether an address is not to be asked: of the link only, of a cloud's metadata, or of no single machine."""
    found = ipaddress.ip_address(address)
    if isinstance(found, ipaddress.IPv6Address):
        if found in NAT64:
            return is_withheld(str(ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)))
        if found.ipv4_mapped is not None:
            return is_withheld(str(found.ipv4_mapped))
    return found.is_link_local or found.is_multicast or found.is_unspecified or found in METADATA
