"""A link over a day: what it could carry, what was sent into it, what of that was sent again, and its round trip."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planner.engine.curves import Array
from planner.engine.simulation.tcp import Tcp
from planner.engine.throughput import BITS_PER_BYTE

FULL = 0.95
"""Share of its capacity from which a link has a queue whose transfers are each bounded by something else."""


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """A value that changes at some times, and holds in between."""

    times_s: Array
    values: Array

    def at(self, at_s: float) -> float:
        """The value at a time; before the first change 0."""
        found = int(np.searchsorted(self.times_s, at_s, side="right")) - 1
        return float(self.values[found]) if found >= 0 else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Crossing:
    """Bits since time 0 at each of `looked_s`; between two looks they rise evenly."""

    looked_s: Array
    sent_bits: Array
    """Into the link, those that were sent again among them."""
    resent_bits: Array
    dropped_bits: Array
    """By the full link: what was sent again and not lost on the way itself."""
    capacity_bps: Steps
    tcp: Tcp | None = None
    """Without it nothing is sent again, and nobody knows of a round trip."""
    usual_bps: float = math.inf
    """For which the buffer before the link is made."""

    def sent_bits_at(self, at_s: float) -> float:
        """Bits sent into the link up to a time."""
        return float(np.interp(at_s, self.looked_s, self.sent_bits))

    def sent_packets_at(self, at_s: float) -> float:
        """TCP segments sent up to a time, those sent again among them."""
        return self._packets(self.sent_bits_at(at_s))

    def resent_packets_at(self, at_s: float) -> float:
        """Those sent again."""
        return self._packets(float(np.interp(at_s, self.looked_s, self.resent_bits)))

    def dropped_packets_at(self, at_s: float) -> float:
        """Those that the full link dropped."""
        return self._packets(float(np.interp(at_s, self.looked_s, self.dropped_bits)))

    def _packets(self, bits: float) -> float:
        return bits // (BITS_PER_BYTE * self.tcp.mss_bytes) if self.tcp else 0.0

    def round_trip_s(self, at_s: float) -> float | None:
        """The link's own, and the queue before it in the mean between two looks; None where nothing comes back.

        While the link is full its buffer is, as TCP fills it: one that holds what the link usually carries in a round
        trip, and takes longer to empty when it carries less.
        """
        now_bps = self.capacity_bps.at(at_s)
        if self.tcp is None or not now_bps > 0:
            return None
        if math.isinf(now_bps) or math.isinf(self.usual_bps):
            return self.tcp.rtt_s
        buffer_s = self.usual_bps * self.tcp.rtt_s / now_bps
        return self.tcp.rtt_s + self._full(self.tcp, at_s, now_bps) * buffer_s

    def _full(self, tcp: Tcp, at_s: float, now_bps: float) -> float:
        """Share of the time in which the link was full; a transfer that nothing else bounds fills it alone."""
        end = min(max(int(np.searchsorted(self.looked_s, at_s)), 1), self.looked_s.size - 1)
        sent, over_s = (float(values[end] - values[end - 1]) for values in (self.sent_bits, self.looked_s))
        used = min(1.0, sent / (over_s * now_bps)) if over_s > 0 else 0.0
        return used if tcp.transfer_bps >= now_bps else float(used >= FULL)


def on_the_wire(delivered_bits: Array, resent_bits: Array, loss: float) -> tuple[Array, Array, Array]:
    """What was sent to deliver so much, what of that was sent again, and of this what the full link dropped; all since
    time 0. `loss` is the share that the way itself loses.

    A simulation counts what it delivers, and the share of it that was lost: of 100 packets of which one is lost 99 are
    delivered.
    """
    delivered, counted = np.diff(delivered_bits, prepend=0.0), np.diff(resent_bits, prepend=0.0)
    share = np.divide(counted, delivered, out=np.zeros(delivered.size), where=delivered > 0)
    sent = delivered / (1 - share)
    again = sent - delivered
    return np.cumsum(sent), np.cumsum(again), np.cumsum(np.maximum(0.0, again - loss * sent))
