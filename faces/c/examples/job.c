/* Ranks, threads here and processes under a launcher, pass a token round a ring; each adds its number to it. */
#include <foregather.h>
#include <stdio.h>

static int body(fg_comm *me, void *data) {
    uint32_t rank, size;
    int64_t token = 0;
    int code;
    (void)data;
    fg_comm_rank(me, &rank);
    fg_comm_size(me, &size);
    if (rank > 0 && (code = fg_comm_receive(me, FG_INFINITE, rank - 1, &token, sizeof token, NULL))) return code;
    token += rank;
    if ((code = fg_comm_send(me, FG_INFINITE, (rank + 1) % size, &token, sizeof token))) return code;
    if (rank > 0) return FG_OK;
    if ((code = fg_comm_receive(me, FG_INFINITE, size - 1, &token, sizeof token, NULL))) return code;
    printf("%lld\n", (long long)token);
    return FG_OK;
}

int main(void) {
    if (fg_job(4, body, NULL)) {
        fprintf(stderr, "%s\n", fg_error_message());
        return 1;
    }
    return 0;
}
