"""A simulated or recorded day, sent through the real doors of a running server, as routers, engines and switches send.

`day` says what happens, `course` simulates it, `emulated` reads it as each source would see it, `encoding` writes that
as each door wants it, `sending` sends, and `playing` does all of it in time.
"""
