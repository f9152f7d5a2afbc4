"""States that follow theta: pair marginals and importance weights."""
