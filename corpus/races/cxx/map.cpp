// One thread makes a map smaller while another looks at its end, behind a mutex. RACY: one of them without it. The tree
// is changed, and looked at, by functions of libstdc++.

#include <map>
#include <mutex>
#include <thread>

int main() {
    std::mutex lock;
    std::map<int, int> all{{1, 1}, {2, 2}};
    int last = 0;
    std::thread a([&] {
#ifndef RACY
        std::lock_guard<std::mutex> guard(lock);
#endif
        all.erase(all.begin()); // racy
    });
    std::thread b([&] {
        std::lock_guard<std::mutex> guard(lock);
        last = (--all.end())->second; // racy
    });
    a.join();
    b.join();
    return all.size() != 1 || all.begin()->first != 2 || last != 2;
}
