/* foregather: barriers, teams, queues and jobs that stay fast on shared machines, for C and C++.
 * SPDX: MIT OR Apache-2.0
 *
 * Functions return 0 on success, or an fg_code. After an error, fg_error_message() returns its text.
 * Constructors store the new handle in `*into`, or NULL on failure. Timeouts are in nanoseconds. A negative
 * timeout (FG_INFINITE) waits forever; 0 polls.
 *
 * A call with a handle that is null, destroyed, forged or of another type returns FG_INVALID and never
 * crashes: handles have pointer types, but are never dereferenced. Several threads may use one handle of a
 * barrier, team, broadcast or shared barrier at once. A handle of a member, writer or reader accepts one call
 * at a time; a concurrent call returns FG_BUSY. The only exceptions are the statistics functions and
 * fg_barrier_member_rank(), which may be called while another thread waits with the same handle. Handles of a
 * rank (fg_comm, fg_memory, and the arrays and locks of fg_memory) belong to the thread that runs the rank's
 * function; calls on other threads return FG_INVALID. If another thread is using a handle, destroying it
 * waits up to 10 ms for that call to end and then returns FG_BUSY.
 *
 * No function may be called from a signal handler: reporting an error allocates memory and could deadlock if
 * the handler has interrupted malloc(). In the handler, set a flag or write to a pipe instead.
 *
 * After fork(), the child can use teams, broadcasts and shared barriers. Calls with barriers, members,
 * writers, readers and ranks return FG_FORKED in the child; destroying them there does not affect the
 * parent.
 */
#ifndef FOREGATHER_H
#define FOREGATHER_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header. Constructors pass it to the library. If the versions are incompatible, the
 * constructors return FG_VERSION_DIFFERS, and fg_error_message() returns the same text as after
 * fg_check_version(). */
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
    FG_TIMED_OUT = 1,   /* the timeout expired; the comment of each function says whether a later call can
                         * continue */
    FG_POISONED = 2,    /* the call can never succeed: a member has failed or left */
    FG_PEER_LOST = 3,   /* a process has died or stopped responding; a writer can continue, see
                         * fg_writer_send() */
    FG_CLOSED = 4,      /* the other side has left normally; no more messages will arrive */
    FG_SKIPPED = 5,     /* the writer overwrote messages that this reader had not read; the next call returns
                         * a newer one */
    FG_INVALID = 6,     /* a null pointer, or a handle that is destroyed or of another type */
    FG_SETTING = 7,     /* an argument is out of range */
    FG_RANK = 8,        /* no such rank, or its handle was already created */
    FG_LENGTH = 9,      /* a message does not fit into the buffer or the ring */
    FG_IN_PIECES = 10,  /* a message is not contiguous in the ring; use fg_reader_receive() */
    FG_BUSY = 11,       /* another thread is in a call with that handle */
    FG_FORKED = 12,     /* the handle belongs to the parent process */
    FG_DEADLOCK = 13,   /* ranks wait for each other */
    FG_FAILED = 14,     /* the function of a rank returned an error of its own */
    FG_SYSTEM = 15,     /* a system call failed, a system feature is missing, or the call is not allowed in
                         * this state */
    FG_VERSION_DIFFERS = 16, /* the versions of this header and of the library are incompatible */
    FG_PANIC = 17,      /* internal error (a bug) in the library */
    FG_REPLACED = 18    /* another process has taken over this reader's rank */
} fg_code;

/* Returns the text of the calling thread's last error. Successful calls do not clear it. The text is valid
 * until the thread's next error. */
const char *fg_error_message(void);
/* Returns the code of the calling thread's last error. */
int fg_error_code(void);
/* Returns the rank that the calling thread's last error names, or -1. */
int fg_error_rank(void);
/* After FG_SKIPPED, returns the number of messages that the reader missed. */
uint64_t fg_error_messages(void);

/* Returns the library's FG_VERSION. */
uint32_t fg_version(void);
/* Returns 0 if a header of that version is compatible with the library, else FG_VERSION_DIFFERS. Before 1.0,
 * the minor versions must be equal. */
int fg_check_version(uint32_t major, uint32_t minor);

/* ---- Statistics ----
 * The functions whose names end in _statistics write lines of text as snprintf does: at most `size` bytes
 * including the terminating NUL. The full length is stored in `*length` unless `length` is NULL. `into`
 * may be NULL if `size` is 0. Any thread may call them, even while another thread waits with the same
 * handle. */

/* ---- Barriers of threads ---- */

/* A barrier for any threads. Every `size` consecutive arrivals form one episode and are released together. */
typedef struct fg_barrier fg_barrier;
/* A member of a barrier, with a rank. If a member leaves, the others get an error. */
typedef struct fg_barrier_member fg_barrier_member;

/* Creates a barrier for `size` threads, 1 to 16,777,216. */
int fg_barrier_create_of(uint32_t version, uint32_t size, fg_barrier **into);
static inline int fg_barrier_create(uint32_t size, fg_barrier **into) {
    return fg_barrier_create_of(FG_VERSION, size, into);
}
/* Waits until `size` threads have arrived. Stores 1 in `*is_leader` in exactly one thread of each episode
 * and 0 in the others; `is_leader` may be NULL. After FG_TIMED_OUT the thread still counts as arrived; its
 * next wait continues the same episode. */
int fg_barrier_wait(fg_barrier *barrier, int64_t timeout_ns, int *is_leader);
int fg_barrier_destroy(fg_barrier *barrier);

/* Creates a barrier and stores handles of its `size` members in the array `into`, by rank. Only one thread at
 * a time may use a member. Rank 0 is the leader. */
int fg_barrier_members_of(uint32_t version, uint32_t size, fg_barrier_member **into);
static inline int fg_barrier_members(uint32_t size, fg_barrier_member **into) {
    return fg_barrier_members_of(FG_VERSION, size, into);
}
/* Waits until all members have arrived. The timeout and `is_leader` are as for fg_barrier_wait(). */
int fg_barrier_member_wait(fg_barrier_member *member, int64_t timeout_ns, int *is_leader);
/* Waits until all members have arrived, and releases them at the same time: `slack_ns` after the last
 * arrival. `slack_ns` may be at most half a second. If members pass different values, the largest applies. If
 * `slack_ns` is negative, the member uses a value that it has learned from its earlier releases. Stores in
 * `*late_ns` how much later than planned this member was released, or 0 if it was on time; `late_ns` may be
 * NULL. The lateness of other members is not known. A member that calls fg_barrier_member_wait() in the same
 * episode instead is released early.
 *
 * This function has no timeout parameter: if a member neither arrives nor is destroyed, the others wait
 * forever. If that can happen, call fg_barrier_member_wait() with a timeout first, and then this function. */
int fg_barrier_member_harmonize(fg_barrier_member *member, int64_t slack_ns, uint64_t *late_ns);
int fg_barrier_member_rank(fg_barrier_member *member, uint32_t *into);
int fg_barrier_member_statistics(fg_barrier_member *member, char *into, size_t size, size_t *length);
/* Destroys the handle; the member leaves the barrier. Members that still need it get FG_POISONED with its
 * rank. */
int fg_barrier_member_destroy(fg_barrier_member *member);

/* ---- Teams of threads ---- */

/* A team of threads that call a function together. The caller is one of them, and continues when all calls
 * have returned. */
typedef struct fg_team fg_team;

/* Creates a team of 1 to 4096 members. With 0, the number follows the affinity mask, the quota, and
 * FOREGATHER_THREADS (or else OMP_NUM_THREADS); fewer members are used while more would not be faster. */
int fg_team_create_of(uint32_t version, uint32_t members, fg_team **into);
static inline int fg_team_create(uint32_t members, fg_team **into) {
    return fg_team_create_of(FG_VERSION, members, into);
}
/* Creates a handle of the team that all libraries of the process share. */
int fg_team_global_of(uint32_t version, fg_team **into);
static inline int fg_team_global(fg_team **into) {
    return fg_team_global_of(FG_VERSION, into);
}
/* Calls `work` once for each member, and passes the number of members, which may be less than the team's
 * size. The caller makes the calls of late members itself. If the team is busy, the caller makes a single
 * call with `members` = 1. `work` must return: it may neither longjmp out nor throw. */
int fg_team_run(fg_team *team, void (*work)(uint32_t member, uint32_t members, void *data), void *data);
/* Calls `work` once for each of `parts` parts, which are numbered from 0. Members take one part after another
 * until none is left. `work` must return, as for fg_team_run(). */
int fg_team_split(fg_team *team, size_t parts, void (*work)(size_t part, void *data), void *data);
/* Stores the maximum number of members of the next call in `*into`. */
int fg_team_members(fg_team *team, uint32_t *into);
int fg_team_statistics(fg_team *team, char *into, size_t size, size_t *length);
int fg_team_destroy(fg_team *team);

/* Returns the first index of a member's share of `count` items. The share ends before the next member's first
 * index. */
static inline size_t fg_share_begin(size_t count, uint32_t member, uint32_t members) {
    size_t whole = members ? count / members : 0, rest = members ? count % members : 0;
    return member * whole + (rest < member ? rest : member);
}

/* ---- Broadcasts: one writer and up to 1023 readers, threads or processes of one host ---- */

/* A queue in a ring buffer in shared memory. Each reader receives every message. */
typedef struct fg_broadcast fg_broadcast;
typedef struct fg_writer fg_writer;
typedef struct fg_reader fg_reader;
/* A part of a message. */
typedef struct fg_part {
    const void *data;
    size_t bytes;
} fg_part;

/* Creates a queue for 1 to 1023 readers, with a ring of 512 bytes to 8 GiB. If the ring is full, the
 * writer waits for the slowest reader. */
int fg_broadcast_create_of(uint32_t version, uint32_t readers, size_t bytes, fg_broadcast **into);
static inline int fg_broadcast_create(uint32_t readers, size_t bytes, fg_broadcast **into) {
    return fg_broadcast_create_of(FG_VERSION, readers, bytes, into);
}
/* Creates a queue whose writer never waits for readers. A reader that it overtakes gets FG_SKIPPED once and
 * can then continue. Sending a message longer than five eighths of the ring fails with FG_LENGTH. */
int fg_broadcast_skipping_of(uint32_t version, uint32_t readers, size_t bytes, fg_broadcast **into);
static inline int fg_broadcast_skipping(uint32_t readers, size_t bytes, fg_broadcast **into) {
    return fg_broadcast_skipping_of(FG_VERSION, readers, bytes, into);
}
/* Opens another process's queue through a file descriptor of its memory. The caller still owns the
 * descriptor. Returns FG_SYSTEM if the descriptor is something else, such as a barrier. All processes of a
 * queue must be in the same PID namespace, such as one container. Otherwise a process cannot check whether
 * another one is alive, and waits fail with FG_SYSTEM. */
int fg_broadcast_attach_of(uint32_t version, int descriptor, fg_broadcast **into);
static inline int fg_broadcast_attach(int descriptor, fg_broadcast **into) {
    return fg_broadcast_attach_of(FG_VERSION, descriptor, into);
}
/* Stores the file descriptor of the memory in `*into`, so that it can be passed to another process. It stays
 * open as long as the handle or one of its ends exists. It is close-on-exec, so pass a dup() of it to the new
 * program, or send it over a socket. */
int fg_broadcast_fd(fg_broadcast *broadcast, int *into);
int fg_broadcast_readers(fg_broadcast *broadcast, uint32_t *into);
/* Create the handle of the writing end (rank 0) or of a reading end (rank 1 and up) for the calling process.
 * Each end can be obtained only once, by one process. A reader also receives messages that were sent before
 * it was created. */
int fg_broadcast_writer(fg_broadcast *broadcast, fg_writer **into);
int fg_broadcast_reader(fg_broadcast *broadcast, uint32_t rank, fg_reader **into);
/* Takes over the reading end of a rank whose process has died. The new reader receives the messages that the
 * writer begins after this call. Returns FG_SYSTEM unless that process is known to have died: it may be
 * running, may have left normally, or may be invisible to this process. If the old process is still running
 * after all, its calls return FG_REPLACED. */
int fg_broadcast_replace(fg_broadcast *broadcast, uint32_t rank, fg_reader **into);
/* Destroys the handle. Writers and readers that were created from it remain valid. */
int fg_broadcast_destroy(fg_broadcast *broadcast);

/* Sends a message to all readers. Returns when the message has been copied to the ring; `data` may then be
 * reused. After FG_TIMED_OUT, either drop the message, which no reader then receives, or call
 * fg_writer_go_on() with the same parts to send the rest of it.
 *
 * FG_PEER_LOST is returned once for each reader whose process has died. The message was nevertheless sent to
 * the other readers, and the next call sends the next message. If no reader is left, every call returns
 * FG_PEER_LOST. */
int fg_writer_send(fg_writer *writer, int64_t timeout_ns, const void *data, size_t bytes);
/* Sends several parts as one message, as fg_writer_send() does. */
int fg_writer_send_parts(fg_writer *writer, int64_t timeout_ns, const fg_part *parts, size_t count);
/* Continues a message after FG_TIMED_OUT. */
int fg_writer_go_on(fg_writer *writer, int64_t timeout_ns, const fg_part *parts, size_t count);
/* Stores the ranks of readers whose processes have died, at most `capacity` of them, and their number in
 * `*count` unless `count` is NULL. A rank is no longer listed once a replacement has received a message. */
int fg_writer_lost(fg_writer *writer, uint32_t *into, size_t capacity, size_t *count);
int fg_writer_statistics(fg_writer *writer, char *into, size_t size, size_t *length);
/* Closes the queue: readers receive all messages that were sent, and then FG_CLOSED. */
int fg_writer_destroy(fg_writer *writer);

/* Copies the next message to `into` and stores its length in `*bytes`, unless `bytes` is NULL. Returns
 * FG_LENGTH if the message is longer than `capacity`; its length is then stored in `*bytes`, and the
 * message can be received by the next call. After FG_TIMED_OUT, no message is lost; the next call
 * continues the wait. */
int fg_reader_receive(fg_reader *reader, int64_t timeout_ns, void *into, size_t capacity, size_t *bytes);
/* Stores the address and length of the next message in the ring. It stays valid until fg_reader_pass().
 * Returns FG_IN_PIECES if the message is not contiguous in the ring, and always for a skipping broadcast. In
 * that case, call fg_reader_receive(). */
int fg_reader_view(fg_reader *reader, int64_t timeout_ns, const void **data, size_t *bytes);
/* Releases the message returned by fg_reader_view(), so that the next one can be read. */
int fg_reader_pass(fg_reader *reader);
/* Stores 1 in `*into` if a message is available or the queue is closed, else 0. */
int fg_reader_is_ready(fg_reader *reader, int *into);
int fg_reader_statistics(fg_reader *reader, char *into, size_t size, size_t *length);
/* Destroys the handle; the reader leaves, and the writer no longer waits for it. */
int fg_reader_destroy(fg_reader *reader);

/* ---- Barriers of processes of one host ---- */

typedef struct fg_shared_barrier fg_shared_barrier;
typedef struct fg_shared_member fg_shared_member;

/* Creates a barrier of 1 to 1023 members. */
int fg_shared_barrier_create_of(uint32_t version, uint32_t size, fg_shared_barrier **into);
static inline int fg_shared_barrier_create(uint32_t size, fg_shared_barrier **into) {
    return fg_shared_barrier_create_of(FG_VERSION, size, into);
}
/* Work like fg_broadcast_attach() and fg_broadcast_fd(). */
int fg_shared_barrier_attach_of(uint32_t version, int descriptor, fg_shared_barrier **into);
static inline int fg_shared_barrier_attach(int descriptor, fg_shared_barrier **into) {
    return fg_shared_barrier_attach_of(FG_VERSION, descriptor, into);
}
int fg_shared_barrier_fd(fg_shared_barrier *barrier, int *into);
int fg_shared_barrier_size(fg_shared_barrier *barrier, uint32_t *into);
/* Creates the handle of member `rank` (0 and up) for the calling process. Each member can be obtained only
 * once, by one process. */
int fg_shared_barrier_member(fg_shared_barrier *barrier, uint32_t rank, fg_shared_member **into);
int fg_shared_barrier_destroy(fg_shared_barrier *barrier);

/* Waits until all members have arrived. If a process dies, every other member gets FG_PEER_LOST with the rank
 * of the dead one within 60 ms. If a member leaves, the others get FG_POISONED. After FG_TIMED_OUT the member
 * still counts as arrived; its next wait continues the same episode. */
int fg_shared_member_wait(fg_shared_member *member, int64_t timeout_ns);
int fg_shared_member_statistics(fg_shared_member *member, char *into, size_t size, size_t *length);
int fg_shared_member_destroy(fg_shared_member *member);

/* ---- Jobs: ranks that send each other messages ---- */

/* A rank's view of its job. It is valid only while the rank's function runs, and only on the thread that runs
 * it. */
typedef struct fg_comm fg_comm;

/* Calls `body` on every rank, and returns when all calls have returned. The ranks are `ranks` threads of this
 * process. Under a launcher (`foregather run -n 4 PROGRAM`, `mpiexec`, `srun`), `ranks` is ignored, and this
 * process is one of the ranks that the launcher started. `body` must return 0 on success, and an fg_code or
 * any other nonzero number on failure. If it fails on one rank, calls of the other ranks return FG_POISONED,
 * and fg_job() returns the error of the first rank that failed. `body` may neither longjmp out nor throw. */
int fg_job_of(uint32_t version, uint32_t ranks, int (*body)(fg_comm *me, void *data), void *data);
static inline int fg_job(uint32_t ranks, int (*body)(fg_comm *me, void *data), void *data) {
    return fg_job_of(FG_VERSION, ranks, body, data);
}

/* Timeouts: after FG_TIMED_OUT from fg_comm_receive(), no message is lost; the next call receives it. After
 * FG_TIMED_OUT from any other function of fg_comm, fg_memory or fg_shared_lock, the calling rank no longer
 * takes part in the job: its later calls, and those of all ranks that need it, fail with FG_POISONED. `body`
 * should then return the code. */

int fg_comm_rank(fg_comm *me, uint32_t *into);
int fg_comm_size(fg_comm *me, uint32_t *into);
/* Sends a message to rank `to`. Returns when `data` may be reused. A message of up to 64 KiB is copied; for a
 * longer one, the call returns after the receiver has fetched it. */
int fg_comm_send(fg_comm *me, int64_t timeout_ns, uint32_t to, const void *data, size_t bytes);
/* Receives the next message from rank `from`, and stores its length in `*bytes` unless `bytes` is NULL. If
 * the message is longer than `capacity`, the call discards it and returns FG_LENGTH, with its length in
 * `*bytes`. */
int fg_comm_receive(fg_comm *me, int64_t timeout_ns, uint32_t from, void *into, size_t capacity, size_t *bytes);
/* Sends one message to rank `peer` and receives one from it. That rank must make the same call. */
int fg_comm_exchange(fg_comm *me, int64_t timeout_ns, uint32_t peer, const void *data, size_t bytes_out, void *into, size_t capacity, size_t *bytes);
/* All ranks must call the next four functions in the same order. Sums are computed over a fixed tree, so
 * every rank gets the same bits. fg_comm_broadcast() copies `bytes` bytes from `data` on rank `root` to `data`
 * on all other ranks. */
int fg_comm_barrier(fg_comm *me, int64_t timeout_ns);
int fg_comm_sum_double(fg_comm *me, int64_t timeout_ns, double *value);
int fg_comm_sum_int64(fg_comm *me, int64_t timeout_ns, int64_t *value);
int fg_comm_broadcast(fg_comm *me, int64_t timeout_ns, uint32_t root, void *data, size_t bytes);

/* ---- Memory that ranks share ---- */

/* A rank's view of the shared memory, and the arrays and locks that it creates. They are valid only while the
 * rank's function runs, and only on the thread that runs it. */
typedef struct fg_memory fg_memory;
typedef struct fg_shared_array fg_shared_array;
typedef struct fg_shared_lock fg_shared_lock;

/* Calls `body` on every rank, as fg_job() does. Ranks that are separate processes get distributed shared
 * memory: an access fetches what another rank has written. If an access is then impossible because a rank has
 * failed, the process prints a message and exits. */
int fg_shared_of(uint32_t version, uint32_t ranks, int (*body)(fg_memory *me, void *data), void *data);
static inline int fg_shared(uint32_t ranks, int (*body)(fg_memory *me, void *data), void *data) {
    return fg_shared_of(FG_VERSION, ranks, body, data);
}
int fg_memory_rank(fg_memory *me, uint32_t *into);
int fg_memory_size(fg_memory *me, uint32_t *into);
/* All ranks must call the next five functions in the same order, with the same sizes and counts. After each
 * of these calls, every rank sees all earlier stores of all ranks. */
int fg_memory_barrier(fg_memory *me, int64_t timeout_ns);
int fg_memory_sum_double(fg_memory *me, int64_t timeout_ns, double *value);
int fg_memory_sum_int64(fg_memory *me, int64_t timeout_ns, int64_t *value);
/* Creates an array of `count` elements of 1, 2, 4 or 8 bytes, initialised to zero. It exists until `body`
 * returns. */
int fg_memory_array(fg_memory *me, int64_t timeout_ns, size_t bytes, size_t count, fg_shared_array **into);
int fg_memory_lock(fg_memory *me, int64_t timeout_ns, fg_shared_lock **into);
/* Copy `count` elements, starting at index `first`, from the array or into it. Each element is read or
 * written atomically. Several elements are consistent with each other only after a barrier or under a lock.
 * The caller's memory must be aligned for the element type. */
int fg_shared_array_load(fg_shared_array *array, size_t first, size_t count, void *into);
int fg_shared_array_store(fg_shared_array *array, size_t first, size_t count, const void *from);
/* Acquires the lock, calls `work`, and releases the lock. `timeout_ns` limits only the acquisition. Inside
 * `work`, acquiring a lock or making a collective call fails with FG_SYSTEM. `work` may neither longjmp out
 * nor throw. */
int fg_shared_lock_with(fg_shared_lock *lock, int64_t timeout_ns, void (*work)(void *data), void *data);

#ifdef __cplusplus
}
#endif
#endif
