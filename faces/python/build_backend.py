"""Builds the package by maturin, and on a system other than Linux ends with one line."""

import sys

if sys.platform != "linux":
    sys.exit(f"foregather is for Linux only, and this is {sys.platform}; use it in a container, a virtual machine or WSL 2")

from maturin import *  # noqa: E402, F403
