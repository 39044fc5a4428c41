/* Threads, and then processes, that meet at barriers of POSIX threads. The thread that is told so destroys the
   barrier at once. Prints how many meetings told one thread, and how many threads came too early. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 5, MEETINGS = 2000 };

struct place {
    pthread_barrier_t barrier;
    atomic_int come, told, early;
};

static void *meet(void *at) {
    struct place *place = at;
    for (int meeting = 1; meeting <= MEETINGS; meeting++) {
        atomic_fetch_add(&place->come, 1);
        if (pthread_barrier_wait(&place->barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            atomic_fetch_add(&place->told, 1);
        if (atomic_load(&place->come) < meeting * SIZE)
            atomic_fetch_add(&place->early, 1);
        if (pthread_barrier_wait(&place->barrier) == PTHREAD_BARRIER_SERIAL_THREAD && meeting == MEETINGS)
            pthread_barrier_destroy(&place->barrier);
    }
    return NULL;
}

static struct place *place(int shared) {
    struct place *place = mmap(NULL, sizeof *place, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, shared ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE);
    pthread_barrier_init(&place->barrier, &attributes, SIZE);
    return place;
}

int main(void) {
    struct place *here = place(0), *shared = place(1);
    pthread_t threads[SIZE];
    for (int i = 0; i < SIZE; i++)
        pthread_create(&threads[i], NULL, meet, here);
    for (int i = 0; i < SIZE; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < SIZE; i++)
        if (fork() == 0) {
            meet(shared);
            _exit(0);
        }
    while (wait(NULL) > 0) {
    }
    printf("%d %d %d %d\n", here->told, here->early, shared->told, shared->early);
    return 0;
}
