// A latch of C++20 orders what came before. RACY: the reader does not wait.

#include <cassert>
#include <latch>
#include <thread>

static int data;

int main() {
    std::latch done(1);
    std::thread writer([&] {
        data = 42; // racy
        done.count_down();
    });
#ifndef RACY
    done.wait();
#endif
    int seen = data; // racy
    writer.join();
    return seen == 7;
}
