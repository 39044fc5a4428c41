/* The butterfly barrier on SimGrid: the yardstick of this project's simulator.
 * Usage: butterfly NODES SKEW_US [SimGrid options]. Prints one line of JSON; set-up is not timed.
 *
 * One actor a node on a hypercube (a torus of two nodes a dimension), one mailbox a node and dimension; a null message takes
 * 75 us. Node i begins when this project's simulator's node i does: evenly below SKEW_US, by the same generator. Options that
 * make SimGrid faster without another outcome are on: the plain network model instead of the corrected one, no cross traffic, small stacks.
 * Exit codes: 1 not all nodes got through, 2 usage. */
#include <simgrid/s4u.hpp>
#include <xbt/log.h>

#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace s4u = simgrid::s4u;

static constexpr double LATENCY_S = 75e-6;
/* One byte, the smallest message that takes part in SimGrid's model: 1 ns. */
static constexpr double BYTES_PER_S = 1e9;

struct Butterfly {
    unsigned dimensions;
    std::vector<s4u::Mailbox *> boxes;
    unsigned left_nodes = 0;
    double last_exit_s = 0;

    s4u::Mailbox *&box(unsigned node, unsigned dimension) { return boxes[node * dimensions + dimension]; }

    void run(unsigned node, double start_s) {
        static char null_message;
        s4u::this_actor::sleep_for(start_s);
        for (unsigned k = dimensions; k-- > 0;) {
            s4u::CommPtr sent = box(node ^ (1U << k), k)->put_async(&null_message, 1);
            box(node, k)->get<char>();
            sent->wait();
        }
        left_nodes++;
        last_exit_s = s4u::Engine::get_clock();
    }
};

/* Steele, Lea & Flood 2014 (SplitMix64), seeded with the node: a number evenly below `limit`. */
static uint64_t below(uint64_t node, uint64_t limit) {
    uint64_t z = node + 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    z ^= z >> 31;
    return (uint64_t)(((unsigned __int128)z * limit) >> 64);
}

static std::vector<s4u::Host *> hypercube(unsigned dimensions) {
    std::vector<s4u::Host *> hosts(1UL << dimensions);
    auto host = [&hosts](s4u::NetZone *zone, const std::vector<unsigned long> &, unsigned long id) {
        hosts[id] = zone->create_host("node" + std::to_string(id), 1e9);
        return std::make_pair(hosts[id]->get_netpoint(), (simgrid::kernel::routing::NetPoint *)nullptr);
    };
    s4u::create_torus_zone("hypercube", nullptr, std::vector<unsigned long>(dimensions, 2), {host, {}, {}}, BYTES_PER_S,
                           LATENCY_S, s4u::Link::SharingPolicy::SPLITDUPLEX)
        ->seal();
    return hosts;
}

int main(int argc, char **argv) {
    xbt_log_control_set("xbt_cfg.thresh:warning");
    s4u::Engine engine(&argc, argv);
    s4u::Engine::set_config("network/model:CM02");
    s4u::Engine::set_config("network/crosstraffic:0");
    s4u::Engine::set_config("contexts/stack-size:16");
    const unsigned long nodes = argc == 3 ? strtoul(argv[1], nullptr, 10) : 0;
    const unsigned long skew_us = argc == 3 ? strtoul(argv[2], nullptr, 10) : 0;
    if (nodes < 2 || (nodes & (nodes - 1)) != 0 || nodes > (1UL << 24)) {
        fprintf(stderr, "usage: %s NODES SKEW_US, where NODES is a power of two from 2 to 2^24\n", argv[0]);
        return 2;
    }
    Butterfly butterfly;
    butterfly.dimensions = (unsigned)__builtin_ctzl(nodes);
    const std::vector<s4u::Host *> hosts = hypercube(butterfly.dimensions);
    butterfly.boxes.resize(nodes * butterfly.dimensions);
    for (unsigned node = 0; node < nodes; node++) {
        for (unsigned k = 0; k < butterfly.dimensions; k++)
            butterfly.box(node, k) = s4u::Mailbox::by_name(std::to_string(node) + "." + std::to_string(k));
        const double start_s = (double)below(node, skew_us == 0 ? 1 : skew_us * 1000) * 1e-9;
        s4u::Actor::create("node", hosts[node], [&butterfly, node, start_s] { butterfly.run(node, start_s); });
    }

    const auto began = std::chrono::steady_clock::now();
    engine.run();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (butterfly.left_nodes != nodes) {
        fprintf(stderr, "butterfly: %u of %lu nodes got through\n", butterfly.left_nodes, nodes);
        return 1;
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    const double messages = (double)nodes * butterfly.dimensions;
    printf("{\"nodes\":%lu,\"messages\":%.0f,\"seconds\":%.4f,\"messages_per_s\":%.0f,\"rss_mib\":%.1f,\"skew_us\":%lu,"
           "\"last_exit_us\":%.3f}\n",
           nodes, messages, seconds, messages / seconds, (double)usage.ru_maxrss / 1024, skew_us, butterfly.last_exit_s * 1e6);
    return 0;
}
