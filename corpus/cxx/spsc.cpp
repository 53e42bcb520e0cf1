// A ring buffer for one producer and one consumer, as in Lamport's "Specifying concurrent program
// modules" (1983). Each end stores its own position and loads the other's.
//
// ORDERS chooses how: 1 release and acquire, which holds under TSO and PSO; 0 relaxed, which holds
// under TSO but not under PSO, where the position can overtake the value. Values are not atomic.

#include <atomic>
#include <cassert>
#include <thread>

#ifndef ORDERS
#define ORDERS 1
#endif

namespace {

#if ORDERS == 1
constexpr auto publish = std::memory_order_release;
constexpr auto look = std::memory_order_acquire;
#else
constexpr auto publish = std::memory_order_relaxed;
constexpr auto look = std::memory_order_relaxed;
#endif

constexpr unsigned size = 2;

struct Ring {
    int values[size] = {};
    std::atomic<unsigned> head{0}, tail{0};

    bool push(int value) {
        unsigned t = tail.load(std::memory_order_relaxed);
        if (t - head.load(look) == size) {
            return false;
        }
        values[t % size] = value;
        tail.store(t + 1, publish);
        return true;
    }

    bool pop(int &value) {
        unsigned h = head.load(std::memory_order_relaxed);
        if (tail.load(look) == h) {
            return false;
        }
        value = values[h % size];
        head.store(h + 1, publish);
        return true;
    }
};

Ring ring;

} // namespace

int main() {
    constexpr int count = 3;
    std::thread producer([] {
        for (int i = 1; i <= count; i++) {
            while (!ring.push(i)) {
            }
        }
    });
    std::thread consumer([] {
        for (int i = 1; i <= count; i++) {
            int value = 0;
            while (!ring.pop(value)) {
            }
            assert(value == i);
        }
    });
    producer.join();
    consumer.join();
}
