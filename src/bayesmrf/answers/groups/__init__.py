"""Which edges, or nodes, share a parameter?"""
