# Creates from several threads, and prints what the service says that it has created.
import sys
import threading

from petcat import Petcat

client = Petcat()
writers, each = int(sys.argv[1]), int(sys.argv[2])


def create(writer: int) -> None:
    for i in range(each):
        category = client.categories.create(f"writer {writer}, category {i}")
        sys.stdout.write(f"{category.id} {category.name}\n")
        sys.stdout.flush()


threads = [threading.Thread(target=create, args=(writer,)) for writer in range(writers)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(list(client.categories.all(page_size=50))), "in all pages")
