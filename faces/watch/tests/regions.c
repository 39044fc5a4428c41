/* Regions of two threads with two barriers each, of which thread 1 is late, and as many serial ones. */
#include <omp.h>
#include <stdio.h>
#include <time.h>

static void work(double us) {
    struct timespec pause = {0, us * 1e3};
    nanosleep(&pause, 0);
}

int main(void) {
    int sum = 0;
    for (int region = 0; region < 50; region++) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
        {
            work(omp_get_thread_num() == 1 ? 4000 : 100);
            sum++;
#pragma omp barrier
#pragma omp for schedule(dynamic)
            for (int i = 0; i < 4; i++)
                sum++;
        }
#pragma omp parallel if (0)
        sum++;
    }
#pragma omp parallel num_threads(2) reduction(task, + : sum)
    {
#pragma omp single
#pragma omp task in_reduction(+ : sum)
        sum++;
    }
    printf("%d\n", sum);
    return 5;
}
