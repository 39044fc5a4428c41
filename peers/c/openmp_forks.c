/* A program that uses its team, forks, and uses it in the child: prints what both counted. With an argument
   only the parent. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int count(void) {
    int calls = 0;
#pragma omp parallel num_threads(7) reduction(+ : calls)
    calls++;
    return calls;
}

int main(int arguments, char **argument) {
    (void)argument;
    int here = count(), status = 0;
    if (arguments > 1) {
        printf("%d\n", here);
        return 0;
    }
    pid_t child = fork();
    if (child == 0)
        _exit(count());
    waitpid(child, &status, 0);
    printf("%d %d\n", here, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return 0;
}
