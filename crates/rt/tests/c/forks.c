// Processes are not under control.
#include <unistd.h>
int main(void) {
  for (;;)
    fork();
}
