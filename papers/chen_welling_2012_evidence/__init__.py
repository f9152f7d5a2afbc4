"""Chen and Welling (2012), evidence of partially observed Markov random fields, reproduced."""
