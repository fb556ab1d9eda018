"""Pure functions of the model: statistics, comparisons, and what follows from them."""
