// Threads write to different elements of a vector. RACY: one of them makes it longer.

#include <thread>
#include <vector>

int main() {
    std::vector<int> all(2);
    all.reserve(4);
    std::thread a([&] { all[0] = 1; }); // racy
    std::thread b([&] {
#ifdef RACY
        all.resize(8); // racy
#else
        all[1] = 2;
#endif
    });
    a.join();
    b.join();
    return all[0] == 7;
}
