"""In which edges do groups of people differ?"""
