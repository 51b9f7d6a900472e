"""Files that are whole or not there, locked, sealed with a checksum, and checked before anything is read from them."""
