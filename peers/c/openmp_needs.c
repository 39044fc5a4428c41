// Programs and libraries with symbols that a runtime may lack, for `.ci/openmp`, by a macro: LIBRARY has a construct of a later
// compiler, and the program without a macro calls it; CLANG is a program of Clang's compiler; STUB has the names of its runtime.
#if defined(STUB)
void __kmpc_fork_call(void) {}
void omp_get_thread_num(void) {}
void omp_get_num_threads(void) {}
void omp_get_level(void) {}
void omp_in_parallel(void) {}
void omp_get_ancestor_thread_num(void) {}
void omp_get_team_size(void) {}
void omp_set_num_threads(void) {}
#elif defined(CLANG)
extern void __kmpc_fork_call(void) __attribute__((weak));
int main(void) { return __kmpc_fork_call != 0; }
#elif defined(LIBRARY)
void GOMP_target_someday(void) {}
#else
void GOMP_target_someday(void);
int main(void) {
    GOMP_target_someday();
    return 0;
}
#endif
