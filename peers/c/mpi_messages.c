/*
 * Messages between two ranks of MPI, like those of `foregather measure messages`: a yardstick for these on the
 * same machine.
 *
 * mpicc -O2 -o mpi_messages mpi_messages.c && mpirun -n 2 ./mpi_messages CPU0 CPU1 BATCHES MILLISECONDS BYTES...
 * One line of JSON for each length and pattern: minimum and median of the batches, of half a round trip, of one message of
 * a stream, or of one message each way, in nanoseconds.
 *
 * Buffers are the same from round to round. A stream goes in windows of messages that are under way at once, each received
 * into a place of its own.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW = 64, BOTH = 16, GUESS = 16, MOST_ROUNDS = 200000, MOST_BATCHES = 1000, LIFE_S = 300 };

/* The most memory that the places of a window may take together. */
static const size_t ROOM = 16 << 20;

static int rank;
static char *from, *into;

static void ping_pong(size_t bytes, int rounds) {
    for (int turn = 0; turn < 2 * rounds; turn++) {
        if (turn % 2 == rank)
            MPI_Send(from, (int)bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(into, (int)bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static int window_of(size_t bytes) {
    size_t places = ROOM / bytes;
    return places < WINDOW ? (int)places : WINDOW;
}

static void stream(size_t bytes, int rounds) {
    MPI_Request requests[WINDOW];
    MPI_Status statuses[WINDOW];
    int window = window_of(bytes);
    for (int done = 0; done < rounds; done += window) {
        int now = rounds - done < window ? rounds - done : window;
        for (int i = 0; i < now; i++) {
            if (rank == 0)
                MPI_Isend(from, (int)bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[i]);
            else
                MPI_Irecv(into + (size_t)i * bytes, (int)bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Waitall(now, requests, statuses);
    }
    if (rank == 0)
        MPI_Recv(into, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(from, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
}

/* Both ways at once. */
static void both_ways(size_t bytes, int rounds) {
    MPI_Request requests[2 * BOTH];
    MPI_Status statuses[2 * BOTH];
    int window = window_of(bytes) < BOTH ? window_of(bytes) : BOTH;
    for (int done = 0; done < rounds; done += window) {
        int now = rounds - done < window ? rounds - done : window;
        for (int i = 0; i < now; i++)
            MPI_Irecv(into + (size_t)i * bytes, (int)bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &requests[i]);
        for (int i = 0; i < now; i++)
            MPI_Isend(from, (int)bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &requests[now + i]);
        MPI_Waitall(2 * now, requests, statuses);
    }
}

/* What one of so many rounds takes, in seconds. */
static double batch(void (*play)(size_t, int), size_t bytes, int rounds) {
    play(bytes, rounds / 8 + 1);
    double began = MPI_Wtime();
    play(bytes, rounds);
    return (MPI_Wtime() - began) / rounds;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *pattern, void (*play)(size_t, int), double halves, size_t bytes, int batches, double span) {
    static double took[MOST_BATCHES];
    double wanted = span / batch(play, bytes, GUESS);
    int rounds = wanted < 4 ? 4 : wanted > MOST_ROUNDS ? MOST_ROUNDS : (int)wanted;
    /* Both are to have the same number. */
    MPI_Bcast(&rounds, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < batches; i++)
        took[i] = batch(play, bytes, rounds) * 1e9 / halves;
    qsort(took, (size_t)batches, sizeof *took, ascending);
    if (rank == 0)
        printf("{\"bytes\":%zu,\"pattern\":\"%s\",\"min_ns\":%.1f,\"p50_ns\":%.1f}\n", bytes, pattern, took[0], took[batches / 2]);
}

static void pin(int cpu) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(cpu, &mask);
    if (sched_setaffinity(0, sizeof mask, &mask) != 0) {
        fprintf(stderr, "processor %d cannot be used\n", cpu);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int count, char **arguments) {
    int size;
    /* Ranks spin, and a launcher that was killed does not end them. */
    alarm(LIFE_S);
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2 || count < 6) {
        fputs("wants two ranks, and CPU0 CPU1 BATCHES MILLISECONDS BYTES...\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    pin(atoi(arguments[1 + rank]));
    int batches = atoi(arguments[3]);
    if (batches < 1 || batches > MOST_BATCHES)
        MPI_Abort(MPI_COMM_WORLD, 2);
    double span = atof(arguments[4]) / 1e3;
    for (int i = 5; i < count; i++) {
        size_t bytes = strtoul(arguments[i], NULL, 10);
        if (bytes == 0 || bytes > ROOM)
            MPI_Abort(MPI_COMM_WORLD, 2);
        size_t room = bytes * (size_t)window_of(bytes);
        from = malloc(bytes);
        into = malloc(room);
        if (from == NULL || into == NULL)
            MPI_Abort(MPI_COMM_WORLD, 1);
        memset(from, 1, bytes);
        memset(into, 2, room);
        measure("ping-pong", ping_pong, 2, bytes, batches, span);
        measure("stream", stream, 1, bytes, batches, span);
        measure("both-ways", both_ways, 1, bytes, batches, span);
        free(from);
        free(into);
    }
    MPI_Finalize();
    return 0;
}
