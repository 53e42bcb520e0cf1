// Exceptions in threads: one is caught inside of its thread while the mutex that was held is freed by
// unwinding, the other one travels to the joining thread by std::exception_ptr.

#include <cassert>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

std::mutex mutex;
int caught = 0;

void fail_inside() {
    try {
        std::lock_guard<std::mutex> guard(mutex);
        throw std::runtime_error("inside");
    } catch (const std::runtime_error &error) {
        assert(std::string("inside") == error.what());
        std::lock_guard<std::mutex> guard(mutex);
        caught++;
    }
}

} // namespace

int main() {
    std::exception_ptr sent;
    std::thread a(fail_inside);
    std::thread b([&sent] {
        try {
            std::lock_guard<std::mutex> guard(mutex);
            throw std::logic_error("sent");
        } catch (...) {
            sent = std::current_exception();
        }
    });
    a.join();
    b.join();
    try {
        std::rethrow_exception(sent);
    } catch (const std::logic_error &error) {
        assert(std::string("sent") == error.what());
        caught++;
    }
    assert(caught == 2);
}
