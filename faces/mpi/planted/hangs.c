// Programs of three or more ranks that hang in one way each, and programs that are slow but do not hang.
//   hangs KIND [SEED]     the kinds are in the table at the end; SEED is for `random`
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LARGE = 1 << 22, SLOW_MS = 2200 };
static int rank, size, word;
static int *large;

static void send(int to, int tag) { MPI_Send(&word, 1, MPI_INT, to, tag, MPI_COMM_WORLD); }
static void receive(int from, int tag) { MPI_Recv(&word, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }
static void meet(void) { MPI_Barrier(MPI_COMM_WORLD); }

static int64_t now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}
static void compute(int ms) {
    for (int64_t end = now_ms() + ms; now_ms() < end;) {}
}
static void rest(int ms) { usleep(ms * 1000); }

// What works before the fault: a ring of messages, collectives, another communicator.
static void work(void) {
    for (int round = 0; round < 50; round++) {
        int sum, in, right = (rank + 1) % size, left = (rank + size - 1) % size;
        MPI_Sendrecv(&rank, 1, MPI_INT, right, round, &in, 1, MPI_INT, left, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Bcast(&sum, 1, MPI_INT, round % size, MPI_COMM_WORLD);
    }
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Barrier(half);
    MPI_Comm_free(&half);
}

static void missing_send(void) {
    if (rank == 0) receive(1, 5);
    meet();
}
static void wrong_tag(void) {
    if (rank == 0) receive(1, 5);
    if (rank == 1) send(0, 6);
    meet();
}
static void wrong_peer(void) {
    if (rank == 0) receive(1, 5);
    if (rank == 1) send(2, 5);
    meet();
}
static void send_cycle(void) {
    if (rank < 2) {
        MPI_Send(large, LARGE, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD);
        MPI_Recv(large, LARGE, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    meet();
}
static void receive_cycle(void) {
    if (rank < 3) {
        receive((rank + 1) % 3, 5);
        send((rank + 2) % 3, 5);
    }
    meet();
}
static void mismatched(void) {
    int sum;
    if (rank == 0) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    else meet();
    meet();
}
static void skipped_barrier(void) {
    if (rank != 2) meet();
}
__attribute__((noinline)) void spin_forever(void) {
    for (volatile int never = 0; !never;) {}
}
static void endless_loop(void) {
    if (rank == 1) spin_forever();
    meet();
}
static void killed(void) {
    if (rank == 1) kill(getpid(), SIGKILL);
    receive(1, 5);
}
static void finalized(void) {
    if (rank == 0) receive(1, 5);
}
static void probe(void) {
    if (rank == 0) MPI_Probe(1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    meet();
}
static void waitall(void) {
    MPI_Request wanted[3];
    int in[3];
    if (rank == 0) {
        MPI_Irecv(&in[0], 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &wanted[0]);
        MPI_Irecv(&in[1], 1, MPI_INT, 1, 6, MPI_COMM_WORLD, &wanted[1]);
        MPI_Irecv(&in[2], 1, MPI_INT, 2, 7, MPI_COMM_WORLD, &wanted[2]);
        MPI_Waitall(3, wanted, MPI_STATUSES_IGNORE);
    }
    if (rank == 1) send(0, 5);
    if (rank == 2) send(0, 7);
    meet();
}

static void slow_computation(void) {
    if (rank == 1) compute(SLOW_MS);
    meet();
}
static void slow_sleep(void) {
    if (rank == 1) rest(SLOW_MS);
    meet();
}
static void slow_sender(void) {
    if (rank == 1) compute(SLOW_MS), send(0, 5);
    if (rank == 0) receive(1, 5), send(2, 5);
    if (rank == 2) receive(0, 5);
    meet();
}
static void late_wait(void) {
    MPI_Request request;
    if (rank == 1) {
        MPI_Isend(large, LARGE, MPI_INT, 0, 5, MPI_COMM_WORLD, &request);
        rest(SLOW_MS);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (rank == 0) MPI_Recv(large, LARGE, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    meet();
}
static void transfers(void) {
    int64_t end = now_ms() + SLOW_MS;
    for (int more = 1; more;) {
        int right = (rank + 1) % size, left = (rank + size - 1) % size;
        MPI_Sendrecv_replace(large, LARGE, MPI_INT, right, 5, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 0) more = now_ms() < end;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}
static void workers(void) {
    enum { TASKS = 6 };
    for (int task = 0; rank == 0 && task < TASKS; task++) {
        MPI_Status from;
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &from);
    }
    for (int task = rank; rank > 0 && task <= TASKS; task += size - 1) {
        rest(700);
        send(0, task);
    }
    meet();
}
static void polls(void) {
    if (rank == 0) {
        rest(SLOW_MS);
        send(1, 5);
    }
    if (rank == 1) {
        MPI_Request request;
        MPI_Irecv(&word, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &request);
        for (int done = 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    meet();
}
static void *later(void *unused) {
    (void)unused;
    rest(SLOW_MS);
    send(1, 5);
    return NULL;
}
static void other_thread(void) {
    pthread_t thread;
    if (rank == 0) pthread_create(&thread, NULL, later, NULL);
    if (rank == 1) receive(0, 5), send(0, 6);
    if (rank == 0) receive(1, 6), pthread_join(thread, NULL);
    meet();
}

static uint64_t state;
static unsigned drawn(unsigned below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % below;
}
// All ranks draw the same steps; in each some rank is late, by sleep or by work.
static void random_steps(void) {
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2, 0, &part);
    MPI_Comm twin;
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    // Each step has a tag of its own, so that a receive from any rank gets the message that is meant.
    for (int spent = 0, tag = 0; spent < SLOW_MS; tag++) {
        int late = drawn(size), by = drawn(4) ? drawn(30) : 300 + drawn(1500), works = drawn(3) == 0;
        int from = drawn(size), to = (from + 1 + drawn(size - 1)) % size, sum, way = drawn(8);
        MPI_Comm on = drawn(2) ? MPI_COMM_WORLD : twin;
        spent += by;
        if (rank == late) works ? compute(by) : rest(by);
        MPI_Request request;
        switch (way) {
        case 0: if (rank == from) MPI_Send(large, 1, MPI_INT, to, tag, on);
                if (rank == to) MPI_Recv(large, 1, MPI_INT, from, tag, on, MPI_STATUS_IGNORE);
                break;
        case 1: if (rank == from) MPI_Ssend(large, LARGE, MPI_INT, to, tag, on);
                if (rank == to) MPI_Recv(large, LARGE, MPI_INT, MPI_ANY_SOURCE, tag, on, MPI_STATUS_IGNORE);
                break;
        case 2: if (rank == from) MPI_Isend(large, LARGE, MPI_INT, to, tag, on, &request), MPI_Wait(&request, MPI_STATUS_IGNORE);
                if (rank == to) MPI_Irecv(large, LARGE, MPI_INT, from, MPI_ANY_TAG, on, &request), MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
                break;
        case 3: MPI_Allreduce(&tag, &sum, 1, MPI_INT, MPI_SUM, on); break;
        case 4: MPI_Bcast(&sum, 1, MPI_INT, from, on); break;
        case 5: MPI_Reduce(&tag, &sum, 1, MPI_INT, MPI_SUM, to, on); break;
        case 6: MPI_Barrier(part); break;
        case 7: if (rank == from) MPI_Send(&tag, 1, MPI_INT, to, tag, on);
                if (rank == to) {
                    MPI_Probe(from, tag, on, MPI_STATUS_IGNORE);
                    MPI_Recv(&sum, 1, MPI_INT, from, tag, on, MPI_STATUS_IGNORE);
                }
        }
    }
    MPI_Comm_free(&twin);
    MPI_Comm_free(&part);
}

static const struct { const char *name; void (*run)(void); } KINDS[] = {
    {"missing-send", missing_send}, {"wrong-tag", wrong_tag}, {"wrong-peer", wrong_peer}, {"send-cycle", send_cycle},
    {"receive-cycle", receive_cycle}, {"mismatched", mismatched}, {"skipped-barrier", skipped_barrier},
    {"endless-loop", endless_loop}, {"killed", killed}, {"finalized", finalized}, {"probe", probe}, {"waitall", waitall},
    {"slow-computation", slow_computation}, {"slow-sleep", slow_sleep}, {"slow-sender", slow_sender}, {"late-wait", late_wait},
    {"transfers", transfers}, {"workers", workers}, {"polls", polls}, {"other-thread", other_thread}, {"random", random_steps},
};

int main(int count, char **words) {
    int threads = count > 1 && strcmp(words[1], "other-thread") == 0, provided = 0;
    if (threads) MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &provided);
    else MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    large = calloc(LARGE, sizeof *large);
    state = count > 2 ? strtoull(words[2], NULL, 10) : 1;
    if (count < 2 || size < 3 || !large || (threads && provided < MPI_THREAD_MULTIPLE)) {
        fprintf(stderr, "usage: mpiexec -n RANKS hangs KIND [SEED], with 3 ranks or more\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    work();
    for (size_t kind = 0; kind < sizeof KINDS / sizeof *KINDS; kind++)
        if (strcmp(words[1], KINDS[kind].name) == 0) {
            KINDS[kind].run();
            free(large);
            MPI_Finalize();
            return 7;
        }
    MPI_Abort(MPI_COMM_WORLD, 2);
}
