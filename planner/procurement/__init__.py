"""What to buy: questions of cost about a scenario, as documents, and their answers."""
