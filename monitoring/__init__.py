"""What is: telemetry of running deployments, from the door to what the live view shows."""
