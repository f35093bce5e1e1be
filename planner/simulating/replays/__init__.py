"""A recorded window of time, simulated as it was and as it would have gone with another policy, or another fleet."""
