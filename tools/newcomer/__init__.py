"""A newcomer's path, walked by a machine: each step as a user does it, with the time that it takes."""
