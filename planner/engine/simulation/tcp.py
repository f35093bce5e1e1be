"""What TCP carries across a link, and how much it must send again.

Mathis, Semke, Mahdavi and Ott, The macroscopic behavior of the TCP congestion avoidance algorithm, ACM CCR 27(3)
(1997) 67-82, eq. 3: a connection of Reno's kind that loses a share p of its packets sends MSS/RTT · C/√p, with
C = √(3/2) where losses are periodic and every packet is acknowledged. It holds for a loss of a few percent at most,
beyond which timeouts rule, and is pessimistic for CUBIC and BBR. A receive window bounds each connection to a window a
round trip.

`connection_bps` and `retransmitted` are of plain floats and call nothing: a simulator can compile them as they stand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

BITS_PER_BYTE = 8
CONNECTIONS = 8
"""Of a transfer, where nobody says."""
MATHIS_C = math.sqrt(3 / 2)
MSS_BYTES = 1460.0
"""Of Ethernet frames of 1,500 bytes, without options."""
MOST_CONGESTION_LOSS = 0.5
"""Assumed: with less than a packet or two a round trip, timeouts rule and not the formula, and half gets through."""


def connection_bps(rtt_s: float, window_bytes: float, mss_bytes: float, loss: float) -> float:
    """Bit/s of one connection that has a link to itself; infinite where nothing bounds it, as without a round trip."""
    if rtt_s == 0:
        return math.inf
    by_loss = math.inf
    if loss > 0:
        by_loss = mss_bytes * BITS_PER_BYTE / rtt_s * MATHIS_C / math.sqrt(loss)
    return min(window_bytes * BITS_PER_BYTE / rtt_s, by_loss)


def retransmitted(per_connection_bps: float, alone_bps: float, rtt_s: float, mss_bytes: float, loss: float) -> float:
    """Share of packets that are sent again where each connection gets a rate of a link, in [0, 1].

    `alone_bps` is what one gets alone (`connection_bps`): at that rate the link is not full, and only what the way
    itself loses is sent again, each packet once. Below it, connections push one another into loss: see
    `congestion_loss`.
    """
    # a share that was divided and multiplied on its way here may have lost its last digits
    if rtt_s == 0 or per_connection_bps >= alone_bps * (1 - 1e-9):
        return loss
    packets = per_connection_bps * rtt_s / (mss_bytes * BITS_PER_BYTE)
    # compared first: the square of few packets may be 0
    by_congestion = MOST_CONGESTION_LOSS if packets <= MATHIS_C else (MATHIS_C / packets) ** 2
    return max(loss, min(by_congestion, MOST_CONGESTION_LOSS))


def congestion_loss(per_connection_bps: float, rtt_s: float, mss_bytes: float) -> float:
    """Share of packets that a connection loses which the link's fullness, and nothing else, keeps to a rate.

    The inverse of Mathis' formula, p = 3/2 · (MSS / (RTT · rate))², at most MOST_CONGESTION_LOSS: TCP sends faster
    until it loses so much. The smaller the share of each connection, the more all of them send again: n times as many
    on the same link lose n² times as large a share. 0 without a round trip, which leaves nothing to compute it from.
    """
    return retransmitted(per_connection_bps, math.inf, rtt_s, mss_bytes, 0.0)


@dataclass(frozen=True, slots=True)
class Tcp:
    """How one transfer crosses a link: over so many connections at once, each with a window of its own."""

    connections: int = CONNECTIONS
    rtt_s: float = 0.0
    window_bytes: float = math.inf
    """What a connection may have under way: the smaller one of both ends' buffers."""
    mss_bytes: float = MSS_BYTES
    loss: float = 0.0
    """Share of packets that the way itself loses, whoever sends."""

    def __post_init__(self) -> None:
        """Raises ValueError on no connection, a negative or endless round trip, no window, no MSS, a loss of 1."""
        if not 1 <= self.connections <= 100_000:
            raise ValueError(f"connections must be from 1 to 100,000, got {self.connections}")
        if not 0 <= self.rtt_s < math.inf:
            raise ValueError(f"rtt_s must be finite and not negative, got {self.rtt_s:g} s")
        if not self.window_bytes > 0:
            raise ValueError(f"window_bytes must be positive, got {self.window_bytes:g} bytes")
        if not 0 < self.mss_bytes < math.inf:
            raise ValueError(f"mss_bytes must be positive and finite, got {self.mss_bytes:g} bytes")
        if not 0 <= self.loss < 1:
            raise ValueError(f"loss must be a share of packets from 0 to below 1, got {self.loss:g}")

    @property
    def alone_bps(self) -> float:
        """Most that one connection gets; see `connection_bps`."""
        return connection_bps(self.rtt_s, self.window_bytes, self.mss_bytes, self.loss)

    @property
    def transfer_bps(self) -> float:
        """Most that a transfer gets, over all its connections."""
        return self.connections * self.alone_bps

    def retransmits(self, per_connection_bps: float) -> float:
        """Share of packets that are sent again where each connection gets so much; see `retransmitted`."""
        return retransmitted(per_connection_bps, self.alone_bps, self.rtt_s, self.mss_bytes, self.loss)
