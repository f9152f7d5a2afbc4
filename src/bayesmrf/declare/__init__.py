"""Declarations of options: each is declared once, at the field of the class that users give."""
