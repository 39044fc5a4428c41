// foregather for C++17: move-only owners of the handles of foregather.h. Errors are thrown as exceptions.
// SPDX: MIT OR Apache-2.0
//
// A call that fails throws foregather::error, which contains the code, the text and the rank. FG_TIMED_OUT
// and FG_SKIPPED are also thrown, although a later call may succeed. The try_ functions return false instead
// of throwing FG_TIMED_OUT.
#ifndef FOREGATHER_HPP
#define FOREGATHER_HPP

#include "foregather.h"

#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace foregather {

using std::chrono::nanoseconds;

/// The exception for a failed call.
class error : public std::runtime_error {
public:
    /// Creates the exception from the calling thread's last error.
    explicit error(int code)
        : std::runtime_error(fg_error_message()), code_(code), rank_(fg_error_rank()), messages_(fg_error_messages()) {}
    int code() const noexcept { return code_; }
    /// Returns the rank that the error names, or -1.
    int rank() const noexcept { return rank_; }
    /// After FG_SKIPPED, returns the number of messages that the reader missed.
    std::uint64_t messages() const noexcept { return messages_; }
    bool timed_out() const noexcept { return code_ == FG_TIMED_OUT; }

private:
    int code_;
    int rank_;
    std::uint64_t messages_;
};

/// The timeout of a call that waits forever.
constexpr nanoseconds forever = nanoseconds::max();

namespace detail {

inline void check(int code) {
    if (code != FG_OK) throw error(code);
}

inline bool in_time(int code) {
    if (code == FG_TIMED_OUT) return false;
    check(code);
    return true;
}

/// Converts a span to a timeout of foregather.h. A negative span polls.
inline std::int64_t limit(nanoseconds span) {
    if (span == forever) return FG_INFINITE;
    return span.count() < 0 ? 0 : span.count();
}

/// A move-only owner of a handle, which destroys it.
template <typename T, int (*destroy)(T *)>
class owner {
public:
    owner() noexcept = default;
    explicit owner(T *handle) noexcept : handle_(handle) {}
    owner(owner &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    owner &operator=(owner &&other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    owner(const owner &) = delete;
    owner &operator=(const owner &) = delete;
    ~owner() {
        if (handle_) destroy(handle_);
    }
    /// Returns the handle, for functions of foregather.h.
    T *get() const noexcept { return handle_; }

private:
    T *handle_ = nullptr;
};

template <typename T, typename Make>
T *made(Make make) {
    T *handle = nullptr;
    check(make(&handle));
    return handle;
}

template <typename T>
std::string text(int (*statistics)(T *, char *, std::size_t, std::size_t *), T *handle) {
    std::string all;
    // The text may grow between two calls.
    for (std::size_t length = 256; all.size() < length;) {
        all.resize(length + 1);
        check(statistics(handle, &all[0], all.size(), &length));
        if (length < all.size()) all.resize(length);
    }
    return all;
}

/// Keeps the first exception thrown by functions that are called from C.
class first {
public:
    void keep() noexcept {
        std::lock_guard<std::mutex> guard(lock_);
        if (!what_) what_ = std::current_exception();
    }
    void rethrow() {
        if (what_) std::rethrow_exception(what_);
    }

private:
    std::mutex lock_;
    std::exception_ptr what_;
};

template <typename F>
struct call {
    F &function;
    first thrown{};
};

}  // namespace detail

/// A barrier for any threads. Every `size` consecutive arrivals form one episode and are released together.
class barrier : public detail::owner<fg_barrier, fg_barrier_destroy> {
public:
    explicit barrier(std::uint32_t size)
        : owner(detail::made<fg_barrier>([&](auto into) { return fg_barrier_create(size, into); })) {}
    /// Waits until `size` threads have arrived. Returns true in exactly one thread of each episode.
    bool wait() {
        int leads = 0;
        detail::check(fg_barrier_wait(get(), FG_INFINITE, &leads));
        return leads != 0;
    }
    /// Waits for at most `span`. Returns false after a timeout. The thread then still counts as arrived; its
    /// next wait continues the same episode.
    bool try_wait(nanoseconds span) { return detail::in_time(fg_barrier_wait(get(), detail::limit(span), nullptr)); }
};

/// A member of a barrier, with a rank.
class member : public detail::owner<fg_barrier_member, fg_barrier_member_destroy> {
public:
    using owner::owner;
    void wait() { detail::check(fg_barrier_member_wait(get(), FG_INFINITE, nullptr)); }
    bool try_wait(nanoseconds span) {
        return detail::in_time(fg_barrier_member_wait(get(), detail::limit(span), nullptr));
    }
    /// Waits until all members have arrived, and releases them at the same time: `slack` after the last
    /// arrival. Without `slack`, the member uses a value that it has learned from its earlier releases.
    /// Returns how late this member was, or 0.
    nanoseconds harmonize(nanoseconds slack) { return harmonize_by(detail::limit(slack)); }
    nanoseconds harmonize() { return harmonize_by(-1); }
    std::uint32_t rank() const {
        std::uint32_t rank = 0;
        detail::check(fg_barrier_member_rank(get(), &rank));
        return rank;
    }
    std::string statistics() const { return detail::text(fg_barrier_member_statistics, get()); }

private:
    nanoseconds harmonize_by(std::int64_t slack) {
        std::uint64_t late = 0;
        detail::check(fg_barrier_member_harmonize(get(), slack, &late));
        return nanoseconds(late);
    }
};

/// Creates a barrier and returns its members, by rank.
inline std::vector<member> members(std::uint32_t size) {
    std::vector<fg_barrier_member *> handles(size);
    std::vector<member> all;
    all.reserve(size);
    detail::check(fg_barrier_members(size, handles.data()));
    for (auto handle : handles) all.emplace_back(handle);
    return all;
}

/// A team of threads that call a function together. After all calls have returned, the first exception thrown
/// by one of them is rethrown in the caller.
class team : public detail::owner<fg_team, fg_team_destroy> {
public:
    /// Creates a team of `members` threads. With 0, the library chooses the number, as in fg_team_create().
    explicit team(std::uint32_t members = 0)
        : owner(detail::made<fg_team>([&](auto into) { return fg_team_create(members, into); })) {}
    /// Returns a handle of the team that all libraries of the process share.
    static team global() { return team(detail::made<fg_team>([](auto into) { return fg_team_global(into); })); }
    /// Calls `work(member, members)` once for each member.
    template <typename F>
    void run(F &&work) {
        detail::call<std::remove_reference_t<F>> call{work};
        auto each = [](std::uint32_t member, std::uint32_t members, void *data) {
            auto &call = *static_cast<detail::call<std::remove_reference_t<F>> *>(data);
            try {
                call.function(member, members);
            } catch (...) {
                call.thrown.keep();
            }
        };
        detail::check(fg_team_run(get(), each, &call));
        call.thrown.rethrow();
    }
    /// Calls `work(part)` once for each part.
    template <typename F>
    void split(std::size_t parts, F &&work) {
        detail::call<std::remove_reference_t<F>> call{work};
        auto each = [](std::size_t part, void *data) {
            auto &call = *static_cast<detail::call<std::remove_reference_t<F>> *>(data);
            try {
                call.function(part);
            } catch (...) {
                call.thrown.keep();
            }
        };
        detail::check(fg_team_split(get(), parts, each, &call));
        call.thrown.rethrow();
    }
    std::uint32_t members() const {
        std::uint32_t members = 0;
        detail::check(fg_team_members(get(), &members));
        return members;
    }
    std::string statistics() const { return detail::text(fg_team_statistics, get()); }

private:
    explicit team(fg_team *handle) : owner(handle) {}
};

/// The writing end of a broadcast.
class writer : public detail::owner<fg_writer, fg_writer_destroy> {
public:
    using owner::owner;
    void send(const void *at, std::size_t bytes) { detail::check(fg_writer_send(get(), FG_INFINITE, at, bytes)); }
    void send(const std::string &message) { send(message.data(), message.size()); }
    bool try_send(const void *at, std::size_t bytes, nanoseconds span) {
        return detail::in_time(fg_writer_send(get(), detail::limit(span), at, bytes));
    }
    /// Returns the ranks of readers whose processes have died. send() throws FG_PEER_LOST once for each such
    /// reader, after it has sent its message to the other readers.
    std::vector<std::uint32_t> lost() const {
        std::size_t count = 0;
        detail::check(fg_writer_lost(get(), nullptr, 0, &count));
        std::vector<std::uint32_t> ranks(count);
        detail::check(fg_writer_lost(get(), ranks.data(), ranks.size(), &count));
        ranks.resize(count < ranks.size() ? count : ranks.size());
        return ranks;
    }
    std::string statistics() const { return detail::text(fg_writer_statistics, get()); }
};

/// A reading end of a broadcast.
class reader : public detail::owner<fg_reader, fg_reader_destroy> {
public:
    using owner::owner;
    /// Waits for the next message and returns it. Throws FG_CLOSED after the last one.
    std::string receive() {
        std::string message;
        receive_into(message, FG_INFINITE);
        return message;
    }
    /// Returns false after a timeout.
    bool try_receive(std::string &into, nanoseconds span) { return receive_into(into, detail::limit(span)); }
    bool is_ready() const {
        int ready = 0;
        detail::check(fg_reader_is_ready(get(), &ready));
        return ready != 0;
    }
    std::string statistics() const { return detail::text(fg_reader_statistics, get()); }

private:
    bool receive_into(std::string &into, std::int64_t limit) {
        std::size_t bytes = 0;
        int code = fg_reader_receive(get(), limit, &into[0], into.size(), &bytes);
        if (code == FG_LENGTH) {
            into.resize(bytes);
            code = fg_reader_receive(get(), limit, &into[0], into.size(), &bytes);
        }
        if (code == FG_TIMED_OUT && limit >= 0) return false;
        detail::check(code);
        into.resize(bytes);
        return true;
    }
};

/// A queue from one writer to up to 1023 readers.
class broadcast : public detail::owner<fg_broadcast, fg_broadcast_destroy> {
public:
    broadcast(std::uint32_t readers, std::size_t bytes)
        : owner(detail::made<fg_broadcast>([&](auto into) { return fg_broadcast_create(readers, bytes, into); })) {}
    /// Creates a queue whose writer never waits for readers.
    static broadcast skipping(std::uint32_t readers, std::size_t bytes) {
        return broadcast(detail::made<fg_broadcast>([&](auto into) { return fg_broadcast_skipping(readers, bytes, into); }));
    }
    /// Opens another process's queue through a file descriptor of its memory.
    static broadcast attach(int descriptor) {
        return broadcast(detail::made<fg_broadcast>([&](auto into) { return fg_broadcast_attach(descriptor, into); }));
    }
    int fd() const {
        int descriptor = -1;
        detail::check(fg_broadcast_fd(get(), &descriptor));
        return descriptor;
    }
    foregather::writer writer() {
        return foregather::writer(detail::made<fg_writer>([&](auto into) { return fg_broadcast_writer(get(), into); }));
    }
    foregather::reader reader(std::uint32_t rank) {
        return foregather::reader(detail::made<fg_reader>([&](auto into) { return fg_broadcast_reader(get(), rank, into); }));
    }
    /// Takes over the reading end of a rank whose process has died.
    foregather::reader replace(std::uint32_t rank) {
        return foregather::reader(detail::made<fg_reader>([&](auto into) { return fg_broadcast_replace(get(), rank, into); }));
    }

private:
    explicit broadcast(fg_broadcast *handle) : owner(handle) {}
};

/// A member of a barrier of processes.
class shared_member : public detail::owner<fg_shared_member, fg_shared_member_destroy> {
public:
    using owner::owner;
    void wait() { detail::check(fg_shared_member_wait(get(), FG_INFINITE)); }
    bool try_wait(nanoseconds span) { return detail::in_time(fg_shared_member_wait(get(), detail::limit(span))); }
    std::string statistics() const { return detail::text(fg_shared_member_statistics, get()); }
};

/// A barrier of processes of one host.
class shared_barrier : public detail::owner<fg_shared_barrier, fg_shared_barrier_destroy> {
public:
    explicit shared_barrier(std::uint32_t size)
        : owner(detail::made<fg_shared_barrier>([&](auto into) { return fg_shared_barrier_create(size, into); })) {}
    static shared_barrier attach(int descriptor) {
        return shared_barrier(
            detail::made<fg_shared_barrier>([&](auto into) { return fg_shared_barrier_attach(descriptor, into); }));
    }
    int fd() const {
        int descriptor = -1;
        detail::check(fg_shared_barrier_fd(get(), &descriptor));
        return descriptor;
    }
    foregather::shared_member member(std::uint32_t rank) {
        return foregather::shared_member(
            detail::made<fg_shared_member>([&](auto into) { return fg_shared_barrier_member(get(), rank, into); }));
    }

private:
    explicit shared_barrier(fg_shared_barrier *handle) : owner(handle) {}
};

/// A rank's view of its job. It is valid only while the rank's function runs, and only on the thread that
/// runs it. A call whose timeout expires throws FG_TIMED_OUT. Only receive() can then be repeated; after any
/// other call, the rank no longer takes part in the job.
class communicator {
public:
    explicit communicator(fg_comm *handle) noexcept : handle_(handle) {}
    std::uint32_t rank() const { return get(fg_comm_rank); }
    std::uint32_t size() const { return get(fg_comm_size); }
    void send(std::uint32_t to, const void *at, std::size_t bytes, nanoseconds timeout = forever) {
        detail::check(fg_comm_send(handle_, detail::limit(timeout), to, at, bytes));
    }
    /// Receives the next message from rank `from` and returns its length.
    std::size_t receive(std::uint32_t from, void *into, std::size_t room, nanoseconds timeout = forever) {
        std::size_t bytes = 0;
        detail::check(fg_comm_receive(handle_, detail::limit(timeout), from, into, room, &bytes));
        return bytes;
    }
    void wait(nanoseconds timeout = forever) { detail::check(fg_comm_barrier(handle_, detail::limit(timeout))); }
    double sum(double value, nanoseconds timeout = forever) {
        detail::check(fg_comm_sum_double(handle_, detail::limit(timeout), &value));
        return value;
    }
    template <typename Integer, std::enable_if_t<std::is_integral<Integer>::value, int> = 0>
    std::int64_t sum(Integer value, nanoseconds timeout = forever) {
        std::int64_t all = value;
        detail::check(fg_comm_sum_int64(handle_, detail::limit(timeout), &all));
        return all;
    }
    void broadcast(std::uint32_t root, void *at, std::size_t bytes, nanoseconds timeout = forever) {
        detail::check(fg_comm_broadcast(handle_, detail::limit(timeout), root, at, bytes));
    }

private:
    std::uint32_t get(int (*what)(fg_comm *, std::uint32_t *)) const {
        std::uint32_t number = 0;
        detail::check(what(handle_, &number));
        return number;
    }
    fg_comm *handle_;
};

namespace detail {

/// Calls `body(Here &)` on every rank, through `start`.
template <typename Here, typename Rank, typename F>
void on_ranks(int (*start)(std::uint32_t, int (*)(Rank *, void *), void *), std::uint32_t ranks, F &body) {
    detail::call<F> call{body};
    auto each = [](Rank *me, void *data) -> int {
        auto &call = *static_cast<detail::call<F> *>(data);
        try {
            Here here(me);
            call.function(here);
            return FG_OK;
        } catch (const error &failed) {
            // The library knows which rank failed first.
            return failed.code();
        } catch (...) {
            call.thrown.keep();
            return FG_FAILED;
        }
    };
    int code = start(ranks, each, &call);
    call.thrown.rethrow();
    check(code);
}

}  // namespace detail

/// Calls `body(communicator &)` on every rank, as fg_job() does. An exception on one rank makes the waits of
/// the others fail, and is rethrown in the caller.
template <typename F>
void job(std::uint32_t ranks, F &&body) {
    detail::on_ranks<communicator>(fg_job, ranks, body);
}

/// An array of elements of 1, 2, 4 or 8 bytes that ranks share. It exists until the rank's function returns.
template <typename T>
class shared_array {
    static_assert(std::is_arithmetic<T>::value, "numbers can be shared");

public:
    explicit shared_array(fg_shared_array *handle) noexcept : handle_(handle) {}
    T get(std::size_t at) const {
        T value;
        read(at, &value, 1);
        return value;
    }
    void set(std::size_t at, T value) { write(at, &value, 1); }
    /// Copy `count` elements, starting at index `first`, from the array or into it.
    void read(std::size_t first, T *into, std::size_t count) const {
        detail::check(fg_shared_array_load(handle_, first, count, into));
    }
    void write(std::size_t first, const T *from, std::size_t count) {
        detail::check(fg_shared_array_store(handle_, first, count, from));
    }

private:
    fg_shared_array *handle_;
};

/// A lock of ranks that share memory. It exists until the rank's function returns.
class shared_lock {
public:
    explicit shared_lock(fg_shared_lock *handle) noexcept : handle_(handle) {}
    /// Acquires the lock, calls `work()`, and releases the lock. Then rethrows an exception of `work()`.
    template <typename F>
    void with(F &&work, nanoseconds timeout = forever) {
        detail::call<std::remove_reference_t<F>> call{work};
        auto once = [](void *data) {
            auto &call = *static_cast<detail::call<std::remove_reference_t<F>> *>(data);
            try {
                call.function();
            } catch (...) {
                call.thrown.keep();
            }
        };
        detail::check(fg_shared_lock_with(handle_, detail::limit(timeout), once, &call));
        call.thrown.rethrow();
    }

private:
    fg_shared_lock *handle_;
};

/// A rank's view of the shared memory. It is valid only while the rank's function runs, and only on the
/// thread that runs it. A call whose timeout expires throws FG_TIMED_OUT; the rank then no longer takes part
/// in the job.
class shared_memory {
public:
    explicit shared_memory(fg_memory *handle) noexcept : handle_(handle) {}
    std::uint32_t rank() const { return get(fg_memory_rank); }
    std::uint32_t size() const { return get(fg_memory_size); }
    void wait(nanoseconds timeout = forever) { detail::check(fg_memory_barrier(handle_, detail::limit(timeout))); }
    double sum(double value, nanoseconds timeout = forever) {
        detail::check(fg_memory_sum_double(handle_, detail::limit(timeout), &value));
        return value;
    }
    template <typename Integer, std::enable_if_t<std::is_integral<Integer>::value, int> = 0>
    std::int64_t sum(Integer value, nanoseconds timeout = forever) {
        std::int64_t all = value;
        detail::check(fg_memory_sum_int64(handle_, detail::limit(timeout), &all));
        return all;
    }
    template <typename T>
    shared_array<T> array(std::size_t count, nanoseconds timeout = forever) {
        auto make = [&](auto into) {
            return fg_memory_array(handle_, detail::limit(timeout), sizeof(T), count, into);
        };
        return shared_array<T>(detail::made<fg_shared_array>(make));
    }
    shared_lock lock(nanoseconds timeout = forever) {
        auto make = [&](auto into) { return fg_memory_lock(handle_, detail::limit(timeout), into); };
        return shared_lock(detail::made<fg_shared_lock>(make));
    }

private:
    std::uint32_t get(int (*what)(fg_memory *, std::uint32_t *)) const {
        std::uint32_t number = 0;
        detail::check(what(handle_, &number));
        return number;
    }
    fg_memory *handle_;
};

/// Calls `body(shared_memory &)` on every rank, as job() does. The ranks share memory.
template <typename F>
void shared(std::uint32_t ranks, F &&body) {
    detail::on_ranks<shared_memory>(fg_shared, ranks, body);
}

}  // namespace foregather
#endif
