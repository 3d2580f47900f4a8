"""Questions about prices, usage and costs, always asked by an actor or inside a scope."""

from billing.selectors.prices import hourly, price_of, prices_at
from billing.selectors.workloads import cost_so_far

__all__ = ["cost_so_far", "hourly", "price_of", "prices_at"]
