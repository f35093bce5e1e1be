"""Simulations as documents: what is simulated of a scenario, and what its replications say together."""
