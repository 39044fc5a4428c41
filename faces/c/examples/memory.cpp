// Three ranks fill an array, each its share, and add it up; then one throws within a lock, which ends the others' waits.
#include <foregather.hpp>
#include <iostream>

int main() {
    foregather::shared(3, [](foregather::shared_memory &me) {
        auto numbers = me.array<double>(30);
        auto total = me.array<int>(1);
        auto lock = me.lock();
        for (std::size_t at = me.rank(); at < 30; at += me.size()) numbers.set(at, 0.5);
        lock.with([&] { total.set(0, total.get(0) + 1); });
        me.wait();
        double all[30], sum = 0;
        numbers.read(0, all, 30);
        for (double number : all) sum += number;
        auto ranks = me.sum(total.get(0));
        if (me.rank() == 0) std::cout << sum << ' ' << ranks << ' ';
    });
    try {
        foregather::shared(3, [](foregather::shared_memory &me) {
            auto lock = me.lock();
            if (me.rank() == 2) lock.with([] { throw std::runtime_error("rank 2 throws"); });
            me.wait();
        });
    } catch (const std::exception &error) {
        std::cout << error.what() << '\n';
    }
}
