"""Two small synthetic request traces, in formats that people have, free for any use; see `generate`."""
