"""Real servers that the tests start themselves, each in a private directory on a port of its own.

Nothing here needs a service of the machine: `PostgresServer`, `MariaDbServer` and `MilvusServer` run what a package
brings, bound to 127.0.0.1, and are gone when the test session is. `fixtures` hands one of each to the tests that ask.
"""
