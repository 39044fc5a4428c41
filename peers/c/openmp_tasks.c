/* A program that makes tasks: prints the tenth Fibonacci number. */
#include <stdio.h>

static long fib(int n) {
    long a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a)
    a = fib(n - 1);
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

int main(void) {
    long result = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    result = fib(10);
    printf("%ld\n", result);
    return 0;
}
