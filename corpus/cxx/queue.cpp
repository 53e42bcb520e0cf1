// A queue with std::mutex and std::condition_variable: one thread pushes two values, another pops them.
// With -DBROKEN two threads pop one each, and who wakes up does not look again: the other one may have
// taken the value before.

#include <cassert>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace {

class Queue {
public:
    void push(int value) {
        {
            std::lock_guard<std::mutex> guard(mutex_);
            values_.push_back(value);
        }
        changed_.notify_one();
    }

    int pop() {
        std::unique_lock<std::mutex> guard(mutex_);
#ifdef BROKEN
        if (values_.empty()) {
            changed_.wait(guard);
        }
#else
        changed_.wait(guard, [this] { return !values_.empty(); });
#endif
        assert(!values_.empty());
        int value = values_.front();
        values_.pop_front();
        return value;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<int> values_;
};

} // namespace

int main() {
    Queue queue;
    std::thread producer([&queue] {
        queue.push(1);
        queue.push(2);
    });
    int a = 0, b = 0;
#ifdef BROKEN
    std::thread consumer([&queue, &a] { a = queue.pop(); });
    std::thread another([&queue, &b] { b = queue.pop(); });
    another.join();
#else
    std::thread consumer([&queue, &a, &b] {
        a = queue.pop();
        b = queue.pop();
    });
#endif
    producer.join();
    consumer.join();
    assert(a + b == 3);
}
