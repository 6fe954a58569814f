"""Text that is the same each time, of characters of one, two and four bytes."""

import sys
import time


def lines(name, count):
    return "\n".join(f"{name} {n}: é 🦀 \"{n * 7919 % 10007}\"" for n in range(count))


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    sys.stdout.write(lines(sys.argv[1], int(sys.argv[2])))
    sys.stdout.flush()
    # Of a command that ends at once, opencode now and then loses the end of what it put out, whoever listens.
    time.sleep(1)
