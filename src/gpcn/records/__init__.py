"""Documents on disk: plain data as typed records (`reading`), with a checksum (`sealed`), names of files (`layout`)."""
