"""Places where work runs: this process, others of this machine, a Ray cluster.

They know callables and payloads, never trainings; `Executor` is the contract that all fulfil.
"""
