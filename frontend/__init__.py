"""What the browser shows."""
