// A function-local static and std::call_once: both initialise once, and whoever comes later waits and
// sees what was made.

#include <cassert>
#include <mutex>
#include <thread>

namespace {

int made = 0;
std::once_flag once;
int value = 0;

struct Object {
    int field;
    Object() : field(7) { made++; }
};

Object &object() {
    static Object only;
    return only;
}

void use() {
    assert(object().field == 7);
    std::call_once(once, [] { value = 42; });
    assert(value == 42);
}

} // namespace

int main() {
    std::thread a(use);
    std::thread b(use);
    a.join();
    b.join();
    assert(made == 1);
}
