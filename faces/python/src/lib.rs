//! The library for Python.
