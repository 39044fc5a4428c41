/* The ping-pong of Guignon 2000 over a spin variable, written by hand: the yardstick of this project's.
 * Usage: ping_pong CPU CPU ROUNDS. Prints the cycles of each round trip, as the master saw them, one a line.
 * Exit codes: 1 refused by the system, 2 usage. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <x86intrin.h>

/* Before measuring: the threads find their processors, the lines their caches. */
#define WARM_UP 1000

static struct {
    _Alignas(128) atomic_uint ping;
    _Alignas(128) atomic_uint pong;
} words;
static unsigned rounds;
static int slave_cpu;

static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        perror("pinning a thread");
        exit(1);
    }
}

static void await(atomic_uint *word, unsigned value) {
    while (atomic_load_explicit(word, memory_order_acquire) != value)
        _mm_pause();
}

static void *slave(void *unused) {
    pin(slave_cpu);
    for (unsigned round = 1; round <= rounds; round++) {
        await(&words.ping, round);
        atomic_store_explicit(&words.pong, round, memory_order_release);
    }
    return unused;
}

int main(int count, char **arguments) {
    if (count != 4)
        return 2;
    slave_cpu = atoi(arguments[2]);
    unsigned measured = (unsigned)atoi(arguments[3]);
    rounds = WARM_UP + measured;
    uint64_t *cycles = calloc(rounds + 1, sizeof *cycles);
    pthread_t thread;
    if (cycles == NULL || pthread_create(&thread, NULL, slave, NULL) != 0) {
        fputs("no memory or no thread\n", stderr);
        return 1;
    }
    pin(atoi(arguments[1]));
    for (unsigned round = 1; round <= rounds; round++) {
        uint64_t began = __rdtsc();
        atomic_store_explicit(&words.ping, round, memory_order_release);
        await(&words.pong, round);
        cycles[round] = __rdtsc() - began;
    }
    pthread_join(thread, NULL);
    for (unsigned round = WARM_UP + 1; round <= rounds; round++)
        printf("%llu\n", (unsigned long long)cycles[round]);
    return 0;
}
