/* What programs in C++ have besides. */
#include <atomic>
#include <cstdio>

/* How many threads' own objects are gone when static ones go. */
static std::atomic<int> gone;
static struct Counted {
    ~Counted() { std::printf("%d gone\n", gone.load()); }
} counted;
struct Lingering {
    int touched = 0;
    ~Lingering() { gone += touched; }
};
static thread_local Lingering lingering;
static inline void linger() { lingering.touched = 1; }

/* Calls a part when static objects are destroyed, and prints. */
struct Farewell {
    part *called;
    long long given;
    Farewell(part *called, long long given) : called(called), given(given) {}
    ~Farewell() {
        called(given);
        finish(-2);
    }
};
