"""Money as whole micro-cents: 100,000,000 are a dollar, so a token of a cheap model still has a whole price."""

from __future__ import annotations

import math
from dataclasses import dataclass

PER_DOLLAR = 100_000_000
# What a product of floats may be off: less than this is no micro-cent of its own.
_NOISE = 1e-6


def micro_cents(dollars: float) -> int:
    """The least whole number of micro-cents that is not below the price."""
    if not math.isfinite(dollars) or dollars < 0:
        raise ValueError(f"not a price: {dollars}")
    return max(0, math.ceil(dollars * PER_DOLLAR - _NOISE))


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a call may cost at most, in dollars: its prompt, and as many tokens of output as it may have."""

    prompt: float
    output_token: float = 0.0
    output_tokens: int = 0

    @property
    def hold(self) -> int:
        """In micro-cents."""
        return micro_cents(self.prompt + self.output_token * self.output_tokens)

    def after(self, output_tokens: int) -> int:
        """What it cost when it was cut off after so many tokens of output; in micro-cents."""
        return micro_cents(self.prompt + self.output_token * output_tokens)
