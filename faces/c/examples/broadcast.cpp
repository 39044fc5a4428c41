// A thread sends lines to two others, which join them; a team then splits work, and passes an exception on.
#include <atomic>
#include <foregather.hpp>
#include <iostream>
#include <thread>

static std::string joined(foregather::reader reader) {
    std::string all;
    try {
        for (;;) all += reader.receive();
    } catch (const foregather::error &error) {
        if (error.code() != FG_CLOSED) throw;
    }
    return all;
}

int main() {
    foregather::broadcast queue(2, 4096);
    std::string got[2];
    std::thread first([&got, reader = queue.reader(1)]() mutable { got[0] = joined(std::move(reader)); });
    std::thread second([&got, reader = queue.reader(2)]() mutable { got[1] = joined(std::move(reader)); });
    {
        auto writer = queue.writer();
        writer.send("well ");
        writer.send(std::string(10000, 'x'));
        writer.send(" met");
    }
    first.join();
    second.join();

    foregather::team team(2);
    std::atomic<int> sum{0};
    team.split(10, [&](std::size_t part) { sum += static_cast<int>(part); });
    std::string thrown;
    try {
        team.run([](unsigned, unsigned) { throw std::runtime_error("thrown"); });
    } catch (const std::exception &error) {
        thrown = error.what();
    }
    std::cout << got[0].size() << ' ' << (got[0] == got[1]) << ' ' << sum << ' ' << thrown << '\n';
}
