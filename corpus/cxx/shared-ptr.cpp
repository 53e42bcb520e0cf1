// An object with two owners. Whoever gives it up last destroys it, and sees what the other one did to
// it: std::shared_ptr counts its owners by atomic updates that order the rest.

#include <cassert>
#include <memory>
#include <thread>
#include <utility>

namespace {

int destroyed = 0;

struct Pair {
    int first = 0, second = 0;
    ~Pair() {
        assert(first == 1 && second == 2);
        destroyed++;
    }
};

} // namespace

int main() {
    auto pair = std::make_shared<Pair>();
    std::thread a([mine = pair]() mutable {
        mine->first = 1;
        mine.reset();
    });
    std::thread b([mine = std::move(pair)]() mutable {
        mine->second = 2;
        mine.reset();
    });
    a.join();
    b.join();
    assert(destroyed == 1);
}
