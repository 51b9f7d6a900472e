"""Places where work runs: this process, others of this machine, a Ray cluster.

They know callables and payloads, never trainings. `Executor` has the contract, which one test suite checks for all of them.
"""
