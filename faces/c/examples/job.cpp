// Three ranks add up their numbers and pass on a word of rank 1; then one of them throws, which ends the others' waits.
#include <cstring>
#include <foregather.hpp>
#include <iostream>

int main() {
    foregather::job(3, [](foregather::communicator &me) {
        char word[5] = "";
        if (me.rank() == 1) std::strcpy(word, "well");
        me.broadcast(1, word, sizeof word);
        auto sum = me.sum(me.rank());
        auto half = me.sum(0.5);
        if (me.rank() == 0) std::cout << word << ' ' << sum << ' ' << half << ' ';
    });
    try {
        foregather::job(3, [](foregather::communicator &me) {
            if (me.rank() == 2) throw std::runtime_error("rank 2 throws");
            me.wait();
        });
    } catch (const std::exception &error) {
        std::cout << error.what() << '\n';
    }
}
