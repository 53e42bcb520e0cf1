// Store buffering by std::atomic, whose orders ORDERS chooses:
//   0  relaxed: both threads can miss the store of the other, under TSO and PSO
//   1  release and acquire: the same, since these orders do not hold a load back behind a store
//   2  sequentially consistent: one of them sees the store of the other

#include <atomic>
#include <cassert>
#include <thread>

#ifndef ORDERS
#define ORDERS 2
#endif

namespace {

constexpr std::memory_order store_order[] = {std::memory_order_relaxed, std::memory_order_release,
                                             std::memory_order_seq_cst};
constexpr std::memory_order load_order[] = {std::memory_order_relaxed, std::memory_order_acquire,
                                            std::memory_order_seq_cst};

std::atomic<int> x{0}, y{0};

} // namespace

int main() {
    int r = 0, s = 0;
    std::thread left([&r] {
        x.store(1, store_order[ORDERS]);
        r = y.load(load_order[ORDERS]);
    });
    std::thread right([&s] {
        y.store(1, store_order[ORDERS]);
        s = x.load(load_order[ORDERS]);
    });
    left.join();
    right.join();
    assert(r == 1 || s == 1);
}
