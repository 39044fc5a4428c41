//! libforegather: the library for C, C++ and Fortran.
