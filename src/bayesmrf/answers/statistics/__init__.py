"""Which nodes are central, and what are the statistics of the network?"""
