"""Declarations: what an option is stands once, at the field of the class that users give."""
