"""How likely is the table under each model?"""
