/* A process sends a thousand numbers to its child, which adds them up where they lie in the ring. */
#include <foregather.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int failed(const char *what) {
    fprintf(stderr, "%s: %s\n", what, fg_error_message());
    return 1;
}

static int child(fg_broadcast *queue) {
    fg_reader *reader;
    long sum = 0, number;
    const void *at;
    size_t bytes;
    int code;
    /* The queue is inherited; its ends are each one process's. */
    if (fg_broadcast_reader(queue, 1, &reader)) return failed("reader");
    while ((code = fg_reader_view(reader, FG_INFINITE, &at, &bytes)) == FG_OK) {
        memcpy(&number, at, sizeof number);
        sum += number;
        fg_reader_pass(reader);
    }
    if (code != FG_CLOSED) return failed("view");
    printf("%ld\n", sum);
    fflush(stdout);
    return fg_reader_destroy(reader);
}

int main(void) {
    fg_broadcast *queue;
    fg_writer *writer;
    int status = 1;
    if (fg_broadcast_create(1, 1 << 16, &queue)) return failed("broadcast");
    pid_t pid = fork();
    if (pid == 0) _exit(child(queue));
    if (fg_broadcast_writer(queue, &writer)) return failed("writer");
    for (long number = 1; number <= 1000; number++)
        if (fg_writer_send(writer, FG_INFINITE, &number, sizeof number)) return failed("send");
    fg_writer_destroy(writer);
    fg_broadcast_destroy(queue);
    waitpid(pid, &status, 0);
    return status != 0;
}
