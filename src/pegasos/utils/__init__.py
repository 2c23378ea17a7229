"""Small helpers that every package may use: where arrays are, fingerprints of data, writing files."""
