/* Bad input, through the installed header and library: each line is a code and a sentence. */
#define _GNU_SOURCE
#include <foregather.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void said(const char *what, int code) {
    printf("%s: %d%s%s\n", what, code, code ? " " : "", code ? fg_error_message() : "");
    fflush(stdout);
}

static void nothing(uint32_t member, uint32_t members, void *data) {
    (void)member, (void)members, (void)data;
}

static void destroys(uint32_t member, uint32_t members, void *data) {
    (void)members;
    if (member == 0) said("destroyed within its own call", fg_team_destroy(data));
}

int main(void) {
    fg_barrier *barrier;
    fg_team *team;
    fg_broadcast *queue, *other;
    fg_writer *writer;
    fg_reader *reader;
    int local = 0, fd = -1, status = 0;
    char text[8];
    size_t length;

    said("null", fg_barrier_wait(NULL, FG_INFINITE, NULL));
    said("a place that is null", fg_barrier_create(1, NULL));
    said("a size of 0", fg_barrier_create(0, &barrier));
    said("header 0.2", fg_barrier_create_of(FG_VERSION + (1u << 12), 1, &barrier));
    printf("null after it: %d\n", barrier == NULL);
    fg_barrier_create(1, &barrier);
    fg_team_create(2, &team);
    said("another kind", fg_team_run((fg_team *)(void *)barrier, nothing, NULL));
    said("an address", fg_barrier_wait((fg_barrier *)(void *)&local, 0, NULL));
    said("no function", fg_team_run(team, NULL, NULL));
    said("run", fg_team_run(team, destroys, team));
    said("destroyed", fg_team_destroy(team));
    said("destroyed twice", fg_team_destroy(team));
    said("used when destroyed", fg_team_run(team, nothing, NULL));

    fg_broadcast_create(1, 4096, &queue);
    fg_broadcast_writer(queue, &writer);
    fg_broadcast_reader(queue, 1, &reader);
    said("a rank that is taken", fg_broadcast_reader(queue, 1, &reader));
    said("nothing came", fg_reader_receive(reader, 0, text, sizeof text, NULL));
    fg_broadcast_destroy(queue);
    fg_broadcast_create(1, 4096, &queue);
    fg_broadcast_reader(queue, 1, &reader);
    int code = fg_reader_receive(reader, 1000000, text, sizeof text, &length);
    printf("a time limit: %d\n", code);
    said("a descriptor of a file", fg_broadcast_attach(STDIN_FILENO, &other) == FG_SYSTEM ? FG_OK : 1);
    said("the queue's", fg_broadcast_fd(queue, &fd) || fg_broadcast_attach(fd, &other));

    pid_t pid = fork();
    if (pid == 0) {
        said("in a child: a barrier", fg_barrier_wait(barrier, FG_INFINITE, NULL));
        said("in a child: a reader", fg_reader_receive(reader, 0, text, sizeof text, NULL));
        said("in a child: destroyed", fg_reader_destroy(reader));
        said("in a child: a team", fg_team_create(2, &team) || fg_team_run(team, nothing, NULL));
        _exit(fg_broadcast_writer(queue, &writer) || fg_writer_send(writer, FG_INFINITE, "child", 5));
    }
    waitpid(pid, &status, 0);
    code = fg_reader_receive(reader, FG_INFINITE, text, 3, &length);
    printf("too long: %d of %zu\n", code, length);
    code = fg_reader_receive(reader, FG_INFINITE, text, sizeof text, &length);
    printf("it stayed: %d %.*s\n", code, (int)length, text);
    code = fg_reader_receive(reader, FG_INFINITE, text, sizeof text, &length);
    printf("its writer ended without a word: %d by rank %d, status %d\n", code, fg_error_rank(), status);
    return 0;
}
