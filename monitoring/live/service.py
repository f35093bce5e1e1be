"""The live view of this web process: telemetry, the state that follows it, the ticker, and the board for viewers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from monitoring import running
from monitoring.live.board import Board
from monitoring.live.ticker import Step, Ticker
from monitoring.running import NotRunning
from monitoring.state import State


@dataclass(frozen=True, slots=True)
class _Live:
    board: Board
    ticker: Ticker


_live: list[_Live] = []


async def start(steps: Sequence[Step] = ()) -> None:
    """Begins to take telemetry and to show it. `steps` fill parts of each snapshot, in this order."""
    state, board = State(), Board()
    intake = await running.start(state)
    ticker = Ticker(state, intake.pipeline, board, steps)
    ticker.start()
    _live.append(_Live(board, ticker))


async def stop() -> None:
    """Ends."""
    while _live:
        await _live.pop().ticker.stop()
    await running.stop()


def board() -> Board:
    """Raises NotRunning."""
    if not _live:
        raise NotRunning("nothing is shown yet, or no longer")
    return _live[-1].board
