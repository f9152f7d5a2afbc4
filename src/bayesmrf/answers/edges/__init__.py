"""Which edges exist, and how strong is the evidence for each?"""
