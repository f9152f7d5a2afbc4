"""How probable is a statement about the network, before and after the data?"""
