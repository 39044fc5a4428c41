/* foregather: parallel programs that wait well, for C and C++. SPDX: MIT OR Apache-2.0
 *
 * Functions return 0, or a code of fg_code; fg_error_message() then has the sentence. Constructors store the new
 * handle in `*into`, or NULL on failure. Timeouts are in nanoseconds. A negative timeout (FG_INFINITE) waits
 * forever; 0 polls.
 *
 * A handle that is null, destroyed, made up or of another kind is FG_INVALID, never a crash: handles are numbers,
 * and point nowhere. One handle of a barrier, team, broadcast or shared barrier may be used by several threads at
 * once; members, writers, readers and ranks take one call at a time, and another one is FG_BUSY. To destroy a
 * handle while another thread is in a call with it is FG_BUSY, too, after 10 ms.
 *
 * No function may be called from a signal handler: an error allocates memory, and so would deadlock in a handler
 * that interrupts malloc(). Set a flag there, or write to a pipe.
 *
 * In the child of a fork teams, broadcasts and shared barriers go on; barriers, members, writers, readers and
 * ranks are the parent's: FG_FORKED, and to destroy them there does nothing to the parent's.
 */
#ifndef FOREGATHER_H
#define FOREGATHER_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header. Functions that make something pass it on: FG_VERSION_DIFFERS, and what
 * fg_check_version() says, for a library of another one. */
#define FG_VERSION_MAJOR 0
#define FG_VERSION_MINOR 1
#define FG_VERSION_PATCH 0
#define FG_VERSION ((uint32_t)FG_VERSION_MAJOR << 24 | (uint32_t)FG_VERSION_MINOR << 12 | (uint32_t)FG_VERSION_PATCH)

/* The timeout of a call that waits forever. */
#define FG_INFINITE ((int64_t)-1)

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors ---- */

typedef enum fg_code {
    FG_OK = 0,
    FG_TIMED_OUT = 1,   /* not yet: the next call goes on */
    FG_POISONED = 2,    /* never: a member has failed or left in the middle */
    FG_PEER_LOST = 3,   /* never: a process has died or stands still. A writer goes on: see fg_writer_send() */
    FG_CLOSED = 4,      /* the other side has left in order: nothing more will come */
    FG_SKIPPED = 5,     /* the writer has overtaken this reader: the next call goes on */
    FG_INVALID = 6,     /* a null pointer, or a handle that is destroyed or of another kind */
    FG_SETTING = 7,     /* a number that the function does not take */
    FG_RANK = 8,        /* there is no such rank, or it has its handle already */
    FG_LENGTH = 9,      /* a message does not fit */
    FG_IN_PIECES = 10,  /* a message lies in several pieces: fg_reader_receive() joins them */
    FG_BUSY = 11,       /* a thread is in a call with that handle */
    FG_FORKED = 12,     /* the handle is the parent process's */
    FG_DEADLOCK = 13,   /* ranks wait for each other */
    FG_FAILED = 14,     /* a rank has failed by itself */
    FG_SYSTEM = 15,     /* the system has refused, or lacks something */
    FG_VERSION_DIFFERS = 16, /* this header is of another version than the library */
    FG_PANIC = 17,      /* the library has failed: an error of its own */
    FG_REPLACED = 18    /* another process has this reader's place */
} fg_code;

/* Of the calling thread's last error; later calls that succeed leave it. The sentence is there until the next
 * error of this thread. */
const char *fg_error_message(void);
int fg_error_code(void);
/* The rank that the error names, or -1. */
int fg_error_rank(void);
/* How many messages a reader has missed: FG_SKIPPED. */
uint64_t fg_error_messages(void);

/* The library's FG_VERSION. */
uint32_t fg_version(void);
/* Does a header of that version describe the library? Before 1.0 the minor version has to be the same. */
int fg_check_version(uint32_t major, uint32_t minor);

/* ---- Statistics ----
 * Functions with this name write lines of text as snprintf does: at most `size` bytes with the final 0, and the
 * length of all of it behind `length` unless that is null. `into` may be null if `size` is 0. Any thread may ask,
 * also while another one waits. */

/* ---- Barriers of threads ---- */

/* A barrier that any threads wait at: each meeting has the next `size` threads that come. */
typedef struct fg_barrier fg_barrier;
/* A member of a barrier, with a rank: the others are told when it goes. */
typedef struct fg_barrier_member fg_barrier_member;

/* 1 to 16,777,216 threads. */
int fg_barrier_create_of(uint32_t version, uint32_t size, fg_barrier **into);
static inline int fg_barrier_create(uint32_t size, fg_barrier **into) {
    return fg_barrier_create_of(FG_VERSION, size, into);
}
/* Behind `is_leader`, unless that is null, is 1 in exactly one thread of the meeting. After FG_TIMED_OUT the arrival
 * stays: the thread's next wait goes on with it. */
int fg_barrier_wait(fg_barrier *barrier, int64_t timeout_ns, int *is_leader);
int fg_barrier_destroy(fg_barrier *barrier);

/* `size` members of a new barrier, by rank. Each is for one thread at a time; rank 0 leads. */
int fg_barrier_members_of(uint32_t version, uint32_t size, fg_barrier_member **into);
static inline int fg_barrier_members(uint32_t size, fg_barrier_member **into) {
    return fg_barrier_members_of(FG_VERSION, size, into);
}
int fg_barrier_member_wait(fg_barrier_member *member, int64_t timeout_ns, int *is_leader);
/* The one wait of threads without a time limit: a member that does not arrive, and is not destroyed, keeps the others
 * forever. Where that may happen, call fg_barrier_member_wait() with a limit first, and this one after it.
 * Waits, and leaves with the other members at one moment: `slack_ns` after the last has come, half a second at most,
 * and the longest if members ask for different ones. A negative slack is one that the member has learnt from its own
 * releases. Behind `late_ns`, unless that is null, is how much later the member could go on, or 0; that of the others
 * it does not know. All members of a meeting call this: one that waits instead leaves before. */
int fg_barrier_member_harmonize(fg_barrier_member *member, int64_t slack_ns, uint64_t *late_ns);
int fg_barrier_member_rank(fg_barrier_member *member, uint32_t *into);
int fg_barrier_member_statistics(fg_barrier_member *member, char *into, size_t size, size_t *length);
/* The member has left: FG_POISONED with its rank, for those that still need it. */
int fg_barrier_member_destroy(fg_barrier_member *member);

/* ---- Teams of threads ---- */

/* Threads that call a function together. The caller is one of them, and goes on when all calls have ended. */
typedef struct fg_team fg_team;

/* 1 to 4096 members; 0 is as many as the machine allows and as pay. */
int fg_team_create_of(uint32_t version, uint32_t members, fg_team **into);
static inline int fg_team_create(uint32_t members, fg_team **into) {
    return fg_team_create_of(FG_VERSION, members, into);
}
/* A handle of the team that all libraries of the process share. */
int fg_team_global_of(uint32_t version, fg_team **into);
static inline int fg_team_global(fg_team **into) {
    return fg_team_global_of(FG_VERSION, into);
}
/* Calls `work` once for each member, of `members`, which may be fewer than the team has: the caller makes the
 * calls of late members, and makes one call alone while the team is busy. `work` must return: it may neither
 * longjmp out nor throw. */
int fg_team_run(fg_team *team, void (*work)(uint32_t member, uint32_t members, void *data), void *data);
/* Calls `work` once for each part. Members take parts one by one. */
int fg_team_split(fg_team *team, size_t parts, void (*work)(size_t part, void *data), void *data);
/* How many members the next call can count on at most. */
int fg_team_members(fg_team *team, uint32_t *into);
int fg_team_statistics(fg_team *team, char *into, size_t size, size_t *length);
int fg_team_destroy(fg_team *team);

/* A member's share of `count` things: from the result on, up to that of the next member. */
static inline size_t fg_share_begin(size_t count, uint32_t member, uint32_t members) {
    size_t whole = members ? count / members : 0, rest = members ? count % members : 0;
    return member * whole + (rest < member ? rest : member);
}

/* ---- Broadcasts: one writer, some readers, threads or processes of one host ---- */

/* A queue through a ring of bytes in shared memory: each reader gets every message. */
typedef struct fg_broadcast fg_broadcast;
typedef struct fg_writer fg_writer;
typedef struct fg_reader fg_reader;
/* Some bytes of a message. */
typedef struct fg_part {
    const void *data;
    size_t bytes;
} fg_part;

/* 1 to 1023 readers, 512 bytes to 8 GiB. A writer whose ring is full waits for the slowest reader. */
int fg_broadcast_create_of(uint32_t version, uint32_t readers, size_t bytes, fg_broadcast **into);
static inline int fg_broadcast_create(uint32_t readers, size_t bytes, fg_broadcast **into) {
    return fg_broadcast_create_of(FG_VERSION, readers, bytes, into);
}
/* The writer waits for no reader: those that it overtakes get FG_SKIPPED, and go on. A message has at most five
 * eighths of the ring: FG_LENGTH. */
int fg_broadcast_skipping_of(uint32_t version, uint32_t readers, size_t bytes, fg_broadcast **into);
static inline int fg_broadcast_skipping(uint32_t readers, size_t bytes, fg_broadcast **into) {
    return fg_broadcast_skipping_of(FG_VERSION, readers, bytes, into);
}
/* The queue of another process, by a descriptor of its memory, which stays the caller's. FG_SYSTEM for a descriptor
 * of something else, such as a barrier. All processes of a queue belong to one pid namespace, as those of one
 * container do: elsewhere no process can tell whether another one lives, and waits end with FG_SYSTEM. */
int fg_broadcast_attach_of(uint32_t version, int descriptor, fg_broadcast **into);
static inline int fg_broadcast_attach(int descriptor, fg_broadcast **into) {
    return fg_broadcast_attach_of(FG_VERSION, descriptor, into);
}
/* The memory's descriptor, for another process; open as long as the handle or one of its ends is there. It is
 * closed by exec: pass a copy by dup(), or send it through a socket. */
int fg_broadcast_fd(fg_broadcast *broadcast, int *into);
int fg_broadcast_readers(fg_broadcast *broadcast, uint32_t *into);
/* The one writing end, rank 0, and the reading ends, from rank 1 on, for the calling process: each is given out
 * once. A reader gets what was sent before it came. */
int fg_broadcast_writer(fg_broadcast *broadcast, fg_writer **into);
int fg_broadcast_reader(fg_broadcast *broadcast, uint32_t rank, fg_reader **into);
/* The reading end of a rank whose process has died. It gets the messages that the writer begins after this call.
 * FG_SYSTEM if that process is not known to have died: it runs, has left in order, or nothing can be known of it
 * from here. Should the former process run after all, its calls end with FG_REPLACED. */
int fg_broadcast_replace(fg_broadcast *broadcast, uint32_t rank, fg_reader **into);
/* Ends that were given out stay. */
int fg_broadcast_destroy(fg_broadcast *broadcast);

/* Returns when the message is in the ring, and may be changed. After FG_TIMED_OUT no reader gets it; or
 * fg_writer_go_on() with the same parts goes on with what is in the ring of it.
 *
 * FG_PEER_LOST says once that the process of a reader has died: the message was sent to the other readers, and the
 * next call sends the next one. If no reader is left, each call returns it. */
int fg_writer_send(fg_writer *writer, int64_t timeout_ns, const void *data, size_t bytes);
/* One message of several parts. */
int fg_writer_send_parts(fg_writer *writer, int64_t timeout_ns, const fg_part *parts, size_t count);
int fg_writer_go_on(fg_writer *writer, int64_t timeout_ns, const fg_part *parts, size_t count);
/* The ranks of the readers whose processes have died, as far as no other one has their places since and got a
 * message: at most `capacity` of them. Their number is stored in `*count` unless that is null. */
int fg_writer_lost(fg_writer *writer, uint32_t *into, size_t capacity, size_t *count);
int fg_writer_statistics(fg_writer *writer, char *into, size_t size, size_t *length);
/* Ends the queue in order: readers get all that was sent, and then FG_CLOSED. */
int fg_writer_destroy(fg_writer *writer);

/* Copies the next message, and puts its length behind `bytes` unless that is null. FG_LENGTH for one that is longer
 * than `capacity`: its length is behind `bytes`, and it stays for the next call. */
int fg_reader_receive(fg_reader *reader, int64_t timeout_ns, void *into, size_t capacity, size_t *bytes);
/* Where the next message lies in the ring. It stays there until fg_reader_pass(). FG_IN_PIECES for one that is in
 * several pieces, and wherever the writer waits for no reader: receive that one. */
int fg_reader_view(fg_reader *reader, int64_t timeout_ns, const void **data, size_t *bytes);
int fg_reader_pass(fg_reader *reader);
/* Behind `into` is 1 if a message is there, or the end. */
int fg_reader_is_ready(fg_reader *reader, int *into);
int fg_reader_statistics(fg_reader *reader, char *into, size_t size, size_t *length);
/* The writer goes on without this reader. */
int fg_reader_destroy(fg_reader *reader);

/* ---- Barriers of processes of one host ---- */

typedef struct fg_shared_barrier fg_shared_barrier;
typedef struct fg_shared_member fg_shared_member;

/* 1 to 1023 members. */
int fg_shared_barrier_create_of(uint32_t version, uint32_t size, fg_shared_barrier **into);
static inline int fg_shared_barrier_create(uint32_t size, fg_shared_barrier **into) {
    return fg_shared_barrier_create_of(FG_VERSION, size, into);
}
/* As fg_broadcast_attach() and fg_broadcast_fd(). */
int fg_shared_barrier_attach_of(uint32_t version, int descriptor, fg_shared_barrier **into);
static inline int fg_shared_barrier_attach(int descriptor, fg_shared_barrier **into) {
    return fg_shared_barrier_attach_of(FG_VERSION, descriptor, into);
}
int fg_shared_barrier_fd(fg_shared_barrier *barrier, int *into);
int fg_shared_barrier_size(fg_shared_barrier *barrier, uint32_t *into);
/* The member of that rank, from 0 on, for the calling process: each is given out once. */
int fg_shared_barrier_member(fg_shared_barrier *barrier, uint32_t rank, fg_shared_member **into);
int fg_shared_barrier_destroy(fg_shared_barrier *barrier);

/* A process that dies is FG_PEER_LOST with its rank for each of the others, at the latest after 60 ms; one that leaves
 * FG_POISONED. */
int fg_shared_member_wait(fg_shared_member *member, int64_t timeout_ns);
int fg_shared_member_statistics(fg_shared_member *member, char *into, size_t size, size_t *length);
int fg_shared_member_destroy(fg_shared_member *member);

/* ---- Jobs: ranks that send each other messages ---- */

/* The ranks of a job, as the calling one reaches them: while the job's function runs, on its thread. */
typedef struct fg_comm fg_comm;

/* Calls `body` on every rank, and returns when all have ended: `ranks` threads of this process, or, under a
 * launcher (`foregather run -n 4 PROGRAM`, `mpiexec`, `srun`), this process as one rank of as many as that has
 * started. `body` returns 0, or what a function of this library gave, or a number of its own; then the others'
 * calls end with FG_POISONED, and fg_job() gives the error of the first one that failed. It may neither longjmp out
 * nor throw. */
int fg_job_of(uint32_t version, uint32_t ranks, int (*body)(fg_comm *me, void *data), void *data);
static inline int fg_job(uint32_t ranks, int (*body)(fg_comm *me, void *data), void *data) {
    return fg_job_of(FG_VERSION, ranks, body, data);
}
int fg_comm_rank(fg_comm *me, uint32_t *into);
int fg_comm_size(fg_comm *me, uint32_t *into);
/* After FG_TIMED_OUT from fg_comm_receive() nothing is lost: the next call receives the message. After FG_TIMED_OUT
 * from any other function of fg_comm or fg_memory the calling rank has given up: its further calls, and
 * those of all ranks that need it, fail with FG_POISONED. Return the code from `body`.
 *
 * Returns when the message may be changed: up to 64 KiB when it is copied, beyond when it was fetched. */
int fg_comm_send(fg_comm *me, int64_t timeout_ns, uint32_t to, const void *data, size_t bytes);
/* The next message of that rank. FG_LENGTH for one that is longer than `capacity`: its length is behind `bytes`, and it
 * is taken all the same. */
int fg_comm_receive(fg_comm *me, int64_t timeout_ns, uint32_t from, void *into, size_t capacity, size_t *bytes);
/* Sends one message to that rank and receives one; the other does the same. */
int fg_comm_exchange(fg_comm *me, int64_t timeout_ns, uint32_t peer, const void *data, size_t bytes_out, void *into, size_t capacity, size_t *bytes);
/* All ranks call these in the same order. A sum is added by a fixed tree, with the same bits on every rank. */
int fg_comm_barrier(fg_comm *me, int64_t timeout_ns);
int fg_comm_sum_double(fg_comm *me, int64_t timeout_ns, double *value);
int fg_comm_sum_int64(fg_comm *me, int64_t timeout_ns, int64_t *value);
int fg_comm_broadcast(fg_comm *me, int64_t timeout_ns, uint32_t root, void *data, size_t bytes);

/* ---- Memory that ranks share ---- */

/* The memory that ranks share, as the calling one reaches it, and what it has made: while the function of fg_shared()
 * runs, on its thread. */
typedef struct fg_memory fg_memory;
typedef struct fg_shared_array fg_shared_array;
typedef struct fg_shared_lock fg_shared_lock;

/* Calls `body` on every rank, as fg_job() does. Ranks that are processes share no memory, but act as if they did: a
 * touch fetches what another rank has written. There a load or store that has become impossible, since a rank has
 * failed, ends the process with a line that says so. */
int fg_shared_of(uint32_t version, uint32_t ranks, int (*body)(fg_memory *me, void *data), void *data);
static inline int fg_shared(uint32_t ranks, int (*body)(fg_memory *me, void *data), void *data) {
    return fg_shared_of(FG_VERSION, ranks, body, data);
}
int fg_memory_rank(fg_memory *me, uint32_t *into);
int fg_memory_size(fg_memory *me, uint32_t *into);
/* All ranks call these five in the same order, with the same numbers. Behind each of them all ranks load what any has
 * stored before it. */
int fg_memory_barrier(fg_memory *me, int64_t timeout_ns);
int fg_memory_sum_double(fg_memory *me, int64_t timeout_ns, double *value);
int fg_memory_sum_int64(fg_memory *me, int64_t timeout_ns, int64_t *value);
/* `count` elements of 1, 2, 4 or 8 bytes, zeros at first. They last as long as `body`. */
int fg_memory_array(fg_memory *me, int64_t timeout_ns, size_t bytes, size_t count, fg_shared_array **into);
int fg_memory_lock(fg_memory *me, int64_t timeout_ns, fg_shared_lock **into);
/* Copies elements out, and in: `count` from `first` on. Each is the old or the new value, whole; several are so
 * behind a barrier or a lock. Memory of the caller's is aligned as an element is. */
int fg_shared_array_load(fg_shared_array *array, size_t first, size_t count, void *into);
int fg_shared_array_store(fg_shared_array *array, size_t first, size_t count, const void *from);
/* Calls `work` while no other rank has the lock; `timeout_ns` is for the lock alone. Within `work` a rank takes no lock, and makes no call that all ranks
 * make together: FG_SYSTEM. `work` may neither longjmp out nor throw. */
int fg_shared_lock_with(fg_shared_lock *lock, int64_t timeout_ns, void (*work)(void *data), void *data);

#ifdef __cplusplus
}
#endif
#endif
