"""How well are single observations predicted, and how do draws depend on powers of the prior?"""
