// Counts of shared_ptr are atomic, and the last one destroys. RACY: one pointer is changed by two threads.

#include <memory>
#include <thread>

static std::shared_ptr<int> shared;

int main() {
    shared = std::make_shared<int>(1);
#ifdef RACY
    std::thread a([] { std::shared_ptr<int> mine = shared; }); // racy
    std::thread b([] { shared.reset(); }); // racy
#else
    std::thread a([mine = shared] { return *mine; });
    std::thread b([mine = shared]() mutable { mine.reset(); });
    shared.reset();
#endif
    a.join();
    b.join();
}
