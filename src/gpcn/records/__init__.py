"""What is written to disk and read back: plain data as typed records (`reading`), how files are called (`layout`)."""
