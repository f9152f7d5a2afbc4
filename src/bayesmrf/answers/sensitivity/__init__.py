"""How does the evidence for edges depend on their prior?"""
