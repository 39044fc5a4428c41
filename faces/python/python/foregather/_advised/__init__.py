"""Modules that `foregather.advise` loads into the interpreter of a program."""
