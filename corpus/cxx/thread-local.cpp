// A counter of each thread, with a destructor that adds it to a total when the thread ends.

#include <atomic>
#include <cassert>
#include <thread>

namespace {

std::atomic<int> total{0};

struct Counter {
    int count = 0;
    ~Counter() { total += count; }
};

thread_local Counter counter;

void count_to(int n) {
    assert(counter.count == 0);
    for (int i = 0; i < n; i++) {
        counter.count++;
    }
    assert(counter.count == n);
}

} // namespace

int main() {
    std::thread a(count_to, 2);
    std::thread b(count_to, 3);
    a.join();
    b.join();
    assert(counter.count == 0);
    assert(total == 5);
}
