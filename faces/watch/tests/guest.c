/* A region, from a library; with BARRIER it has a barrier within. */
int run(void) {
    int sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
        sum++;
#ifdef BARRIER
#pragma omp barrier
#endif
    }
    return sum;
}
