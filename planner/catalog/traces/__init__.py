"""Two small synthetic request traces, in formats that people have, free for any use; see `generate`."""

from pathlib import Path

HERE = Path(__file__).parent
