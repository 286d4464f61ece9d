"""The whole loop told as a story, against a real service in a folder of its own."""
