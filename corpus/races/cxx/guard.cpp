// std::mutex and std::condition_variable. RACY: the size is asked for without the lock.

#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex mutex;
static std::condition_variable changed;
static int size;

int main() {
    std::thread producer([] {
        {
            std::lock_guard lock(mutex);
            size++; // racy
        }
        changed.notify_one();
    });
    std::thread consumer([] {
#ifdef RACY
        if (size == 7) return; // racy
#endif
        std::unique_lock lock(mutex);
        changed.wait(lock, [] { return size > 0; });
        size--;
    });
    producer.join();
    consumer.join();
}
