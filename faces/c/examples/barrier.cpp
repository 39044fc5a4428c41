// Four threads meet a thousand times, and one of them counts the meetings; a fifth that is awaited never comes.
#include <foregather.hpp>
#include <iostream>
#include <thread>
#include <vector>

int main() {
    using namespace std::chrono_literals;
    foregather::barrier barrier(4);
    int meetings = 0;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; thread++)
        threads.emplace_back([&] {
            for (int round = 0; round < 1000; round++)
                if (barrier.wait()) meetings++;
        });
    for (auto &thread : threads) thread.join();

    auto members = foregather::members(2);
    bool came = members[0].try_wait(5ms);
    members.pop_back();
    try {
        members[0].wait();
    } catch (const foregather::error &error) {
        std::cout << meetings << ' ' << came << ' ' << (error.code() == FG_POISONED) << ' ' << error.rank() << '\n';
    }
}
