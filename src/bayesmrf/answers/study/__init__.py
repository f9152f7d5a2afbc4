"""How many people does a study need, and are posteriors calibrated?"""
