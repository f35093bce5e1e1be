"""What speaks to us: one module a protocol, each from bytes to readings."""
