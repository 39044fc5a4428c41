/* Regions of the OpenMP runtime that this library is linked with. */
#include <omp.h>

#ifdef OTHER_BUILD
/* The table of threads of a build that no library of this project has. */
const void *foregather_team_table(void) {
    static const unsigned long long table[2] = {1, 0};
    return table;
}
#endif

/* Scales `count` numbers by one, in a region. Returns its members. */
int region(double *numbers, int count) {
    int members = 0;
#pragma omp parallel
    {
#pragma omp single
        members = omp_get_num_threads();
#pragma omp for
        for (int i = 0; i < count; i++)
            numbers[i] *= 1.0;
    }
    return members;
}
