"""What viewers see: a snapshot a second, made by the process that leads, the same at every process."""
