"""What `foregather.advise` puts into the interpreter of a program."""
