"""Files of every format that pegasos reads, made and changed at random, and what becomes of them.

Each module is one format and has `case(rng, folder)`: it makes one file, reads it in every way there is, and returns
("kind of file", "right" | "refused" | "read"). Whatever else happens raises `Harm`.
"""
