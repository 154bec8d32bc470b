"""Pictures and the tables behind them."""
