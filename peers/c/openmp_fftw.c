/* A transform of two dimensions on FFTW's threads, 20 times or as often as its argument says, and a number that stands for the result. */
#include <fftw3.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words) {
    const int n = 256, times = count > 1 ? atoi(words[1]) : 20;
    fftw_init_threads();
    fftw_plan_with_nthreads(4);
    fftw_complex *data = fftw_alloc_complex(n * n);
    fftw_plan plan = fftw_plan_dft_2d(n, n, data, data, FFTW_FORWARD, FFTW_ESTIMATE);
    for (int i = 0; i < n * n; i++) {
        data[i][0] = sin(i * 0.37);
        data[i][1] = i % 17;
    }
    for (int i = 0; i < times; i++)
        fftw_execute(plan);
    double sum = 0;
    for (int i = 0; i < n * n; i++)
        sum += fabs(data[i][0]) + fabs(data[i][1]);
    printf("%.17g\n", sum);
    return 0;
}
