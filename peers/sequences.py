"""Writes two files of made-up proteins for a search: queries, and the sequences of which they are variants."""
import random
import sys

LETTERS = "ACDEFGHIKLMNPQRSTVWY"
random.seed(7)
targets = ["".join(random.choices(LETTERS, k=200)) for _ in range(300)]
queries = ["".join(random.choice(LETTERS) if random.random() < 0.2 else letter for letter in target) for target in targets]
for path, sequences in zip(sys.argv[1:], [queries, targets], strict=True):
    with open(path, "w") as file:
        file.writelines(f">{number}\n{sequence}\n" for number, sequence in enumerate(sequences))
