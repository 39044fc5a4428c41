/* A team adds up a million numbers: each member its share, and the caller the members' sums. */
#include <foregather.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1000000, MOST = 4 };
struct task {
    const double *numbers;
    double sums[MOST];
};

static void add(uint32_t member, uint32_t members, void *data) {
    struct task *task = data;
    size_t end = fg_share_begin(COUNT, member + 1, members);
    double sum = 0;
    for (size_t at = fg_share_begin(COUNT, member, members); at < end; at++) sum += task->numbers[at];
    task->sums[member] = sum;
}

int main(void) {
    double *numbers = malloc(COUNT * sizeof *numbers), sum = 0;
    struct task task = {numbers, {0}};
    fg_team *team;
    for (size_t at = 0; at < COUNT; at++) numbers[at] = (double)at;
    if (fg_team_create(MOST, &team) || fg_team_run(team, add, &task)) {
        fprintf(stderr, "%s\n", fg_error_message());
        return 1;
    }
    for (int member = 0; member < MOST; member++) sum += task.sums[member];
    printf("%.0f\n", sum);
    fg_team_destroy(team);
    free(numbers);
    return 0;
}
