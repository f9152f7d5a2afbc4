"""Which items follow which in time?"""
