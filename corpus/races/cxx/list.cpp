// One thread makes a list longer while another walks through it, behind a mutex. RACY: one of them without it. What
// both touch is touched by functions of libstdc++, but for the reader.

#include <list>
#include <mutex>
#include <thread>

int main() {
    std::mutex lock;
    std::list<int> all{1, 2};
    int sum = 0;
    std::thread a([&] {
#ifndef RACY
        std::lock_guard<std::mutex> guard(lock);
#endif
        all.push_back(3); // racy
    });
    std::thread b([&] {
        std::lock_guard<std::mutex> guard(lock);
        for (int value : all) sum += value; // racy
    });
    a.join();
    b.join();
    all.reverse();
    return all.size() != 3 || all.front() != 3 || (sum != 3 && sum != 6);
}
