/* What programs in C++ have besides. */
#include <atomic>

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
