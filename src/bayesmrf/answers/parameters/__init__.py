"""What are the parameters of edges and nodes?"""
