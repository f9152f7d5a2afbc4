"""Which sets of edges are probable?"""
