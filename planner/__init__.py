"""What could be: scenarios, the mathematics behind them, and the jobs that compute them."""
