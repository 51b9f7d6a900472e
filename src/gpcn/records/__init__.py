"""Typed records of what is written to disk and read back, and how plain data becomes one."""
