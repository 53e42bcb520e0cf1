// A static variable of a function is initialised once. RACY: by hand, with a flag.

#include <cassert>
#include <thread>

struct Object {
    int field;
    Object() : field(7) {} // racy
};

#ifdef RACY
static bool made;
alignas(Object) static unsigned char memory[sizeof(Object)];

static Object &object() {
    if (!made) { // racy
        new (memory) Object;
        made = true; // racy
    }
    return *reinterpret_cast<Object *>(memory);
}
#else
static Object &object() {
    static Object only;
    return only;
}
#endif

int main() {
    auto use = [] { assert(object().field == 7); }; // racy
    std::thread a(use), b(use);
    a.join();
    b.join();
}
