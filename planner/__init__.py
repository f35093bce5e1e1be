"""What could be: scenarios, the mathematics behind them, and the jobs that compute them."""

__version__ = "0.1.0"
