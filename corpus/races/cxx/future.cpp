// What is set before a promise is there after its future. RACY: it is set behind it.

#include <cassert>
#include <future>
#include <thread>

static int data;

int main() {
    std::promise<void> promise;
    std::thread writer([&] {
#ifdef RACY
        promise.set_value();
        data = 42; // racy
#else
        data = 42;
        promise.set_value();
#endif
    });
    promise.get_future().wait();
    int seen = data; // racy
    writer.join();
    return seen == 7;
}
