"""What does the network predict: densities, samples and conditional probabilities, averaged over the posterior."""
