"""Products by NumPy's BLAS, for `.ci/blas`: right to the last bit."""
import numpy as np

# Small whole numbers: every order of summation gives the same bits.
n = 300
a = np.arange(n * n).reshape(n, n) % 7 - 3
b = np.arange(n * n).reshape(n, n) % 11 - 5
exact = np.einsum("ij,jk->ik", a, b)
for kind in (np.float32, np.float64, np.complex64, np.complex128):
    assert (a.astype(kind) @ b.astype(kind) == exact).all(), kind
    assert (a.astype(kind) @ b.astype(kind)[:, 0] == exact[:, 0]).all(), kind
print("NumPy", np.__version__, "computes its products right")
