"""Which nodes belong together?"""
