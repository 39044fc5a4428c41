// Processes and ranks that wait for each other by Foregather's C library, for `.ci/hang`.
// usage: hangs barrier|circle|full|late, or foregather run -n 3 -- hangs message
#include <foregather.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MEMBERS = 3, RING = 4096 };
static const char *kind;

static void check(int code) {
    if (code) fprintf(stderr, "%s\n", fg_error_message()), exit(1);
}
static void wait_for_input(void) {
    int ends[2];
    char byte;
    if (pipe(ends) || read(ends[0], &byte, 1) < 1) exit(1);
}

// A member of a barrier of three processes, of which the last one is late.
static void member(fg_shared_barrier *barrier, uint32_t rank) {
    fg_shared_member *own;
    check(fg_shared_barrier_member(barrier, rank, &own));
    if (rank == MEMBERS - 1 && !strcmp(kind, "barrier")) wait_for_input();
    if (rank == MEMBERS - 1) sleep(3);
    check(fg_shared_member_wait(own, FG_INFINITE));
}

// The worker waits for a message before the barrier, and the writer sends it after the barrier.
static void worker(fg_broadcast *queue, fg_shared_barrier *start) {
    char message[16];
    size_t length;
    fg_reader *reader;
    fg_shared_member *own;
    check(fg_broadcast_reader(queue, 1, &reader));
    check(fg_shared_barrier_member(start, 1, &own));
    if (!strcmp(kind, "full")) wait_for_input();
    check(fg_reader_receive(reader, FG_INFINITE, message, sizeof message, &length));
    check(fg_shared_member_wait(own, FG_INFINITE));
}
static void writer(fg_broadcast *queue, fg_shared_barrier *start) {
    fg_writer *writer;
    fg_shared_member *own;
    check(fg_broadcast_writer(queue, &writer));
    check(fg_shared_barrier_member(start, 0, &own));
    while (!strcmp(kind, "full")) check(fg_writer_send(writer, FG_INFINITE, "a job", 5));
    check(fg_shared_member_wait(own, FG_INFINITE));
    check(fg_writer_send(writer, FG_INFINITE, "a job", 5));
}

// Rank 0 waits for a message of rank 1, rank 2 for a barrier.
static int rank_of_job(fg_comm *me, void *none) {
    uint32_t rank;
    int64_t word = 0;
    (void)none;
    check(fg_comm_rank(me, &rank));
    if (rank == 0) return fg_comm_receive(me, FG_INFINITE, 1, &word, sizeof word, NULL);
    if (rank == 1) wait_for_input();
    return fg_comm_barrier(me, FG_INFINITE);
}

int main(int count, char **words) {
    kind = count > 1 ? words[1] : "";
    if (!strcmp(kind, "message")) return fg_job(MEMBERS, rank_of_job, NULL);
    int is_queue = !strcmp(kind, "circle") || !strcmp(kind, "full");
    fg_shared_barrier *barrier;
    fg_broadcast *queue;
    check(fg_shared_barrier_create(is_queue ? 2 : MEMBERS, &barrier));
    check(fg_broadcast_create(1, RING, &queue));
    for (uint32_t rank = 0; rank < (is_queue ? 2 : MEMBERS); rank++) {
        if (fork()) continue;
        if (!is_queue) member(barrier, rank);
        else if (rank == 0) writer(queue, barrier);
        else worker(queue, barrier);
        return 0;
    }
    while (wait(NULL) > 0) {}
    return 7;
}
