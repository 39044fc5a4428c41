# Products, solutions and factorisations by R's BLAS, for `.ci/blas`: right, also in children of a fork.
n <- 300
whole <- function(m) matrix(seq_len(n * n) %% m - m %/% 2 + 0, n)
# Small whole numbers: every order of summation gives the same bits.
exact <- function(a, b) { r <- 0 * a; for (k in 1:n) r <- r + outer(a[, k], b[k, ]); r }
near <- function(a, b) stopifnot(max(Mod(a - b)) <= 1e-9 * max(1, Mod(b)))
for (unit in c(0, 1i)) {
    a <- whole(7); b <- whole(11)
    if (unit != 0) { a <- a + unit * b; b <- b - unit * whole(13) }
    stopifnot(identical(a %*% b, exact(a, b)), identical(crossprod(a, b), exact(t(a), b)))
    stopifnot(crossprod(a) == exact(t(a), a), a %*% b[, 1] == exact(a, b)[, 1])
    w <- a + 60 * diag(n)
    near(w %*% solve(w, b), b)
    s <- svd(a); near(s$u %*% (s$d * Conj(t(s$v))), a)
    q <- qr(w, LAPACK = TRUE); near(qr.Q(q) %*% qr.R(q), w[, q$pivot])
    e <- eigen(w); near(w %*% e$vectors, t(t(e$vectors) * e$values))
}
# Children of a fork, while the parent's team is awake.
a <- whole(7); p <- exact(a, a)
for (round in 1:5) {
    stopifnot(identical(a %*% a, p))
    right <- parallel::mclapply(1:4, function(k) { for (j in 1:3) q <- a %*% a; identical(q, p) }, mc.cores = 4)
    stopifnot(identical(right, rep(list(TRUE), 4)))
}
cat("R", as.character(getRversion()), "computes right with", extSoftVersion()["BLAS"], "\n")
