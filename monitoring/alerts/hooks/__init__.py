"""What others tell us of events, by webhook: read, and kept as annotations."""
