/* A region, from a library. */
int run(void) {
    int sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum++;
    return sum;
}
