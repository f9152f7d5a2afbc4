"""Does the model predict the data?"""
