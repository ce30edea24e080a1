"""Forks while another thread takes stacks; the child takes none and ends as it would."""
import os
import threading

import truth
from truth import launch

truth.start()
done = threading.Event()


def work():
    truth.gpu.bind()
    while not done.is_set():
        exec("def f():\n    launch()\nf()", {"launch": launch})


thread = threading.Thread(target=work)
thread.start()
for number in range(20):
    pid = os.fork()
    if pid == 0:
        exec("x = [i for i in range(3)]")
        os._exit(3)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 3:
        print("a child failed")
done.set()
thread.join()
launch()
print("done")
