"""What was run, and can its draws be trusted?"""
