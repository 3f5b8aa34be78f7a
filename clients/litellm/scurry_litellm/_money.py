"""Money in whole micro-cents: 100,000,000 are a dollar, so that a token of a cheap model still has a whole price."""

from __future__ import annotations

import math
from dataclasses import dataclass

PER_DOLLAR = 100_000_000
# Rounding error of a product of floats: a smaller excess does not count as a micro-cent.
_NOISE = 1e-6


def micro_cents(dollars: float) -> int:
    """Rounds a price in dollars up to whole micro-cents."""
    if not math.isfinite(dollars) or dollars < 0:
        raise ValueError(f"not a price: {dollars}")
    return max(0, math.ceil(dollars * PER_DOLLAR - _NOISE))


@dataclass(frozen=True, slots=True)
class Estimate:
    """The maximum cost of a call in dollars: its prompt, and its maximum number of output tokens."""

    prompt: float
    output_token: float = 0.0
    output_tokens: int = 0

    @property
    def hold(self) -> int:
        """The amount to hold, in micro-cents."""
        return micro_cents(self.prompt + self.output_token * self.output_tokens)

    def after(self, output_tokens: int) -> int:
        """Returns the cost after this many output tokens, in micro-cents."""
        return micro_cents(self.prompt + self.output_token * output_tokens)
