"""Where telemetry comes in: a websocket, and addresses for OTLP and remote write."""
