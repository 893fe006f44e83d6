"""minfer chat with a real model on a terminal: how soon a reply begins and stops."""

import time

import rig
from chat_terminal_test import Terminal
from rig import real

LATENCY = 0.2
FIRST_TOKEN = 0.3
TRIES = 4  # the machine may be busy


class Latency(rig.Test):
    def test_a_pasted_message_is_prefilled_before_it_is_sent(self):
        words = " ".join(f"word{i} of the text" for i in range(170))  # some 1,100 tokens
        for _ in range(TRIES):
            terminal = Terminal(real("Q"), "-n", 8, "-c", 4096, "--no-history")
            terminal.see(rb"\x1b\[\?2004h[^>]*> ")
            with terminal.work_done(0.3):
                terminal.type(b"\x1b[200~" + words.encode() + b". Go on.\x1b[201~")
                terminal.see(rb"Go on\.")
            start = time.monotonic()
            terminal.type(b"\r")
            terminal.see(rb"\r\n\w")
            first = time.monotonic() - start
            terminal.see(rb"\[8 tokens.*prefill \d+ ")
            prefilled = int(terminal.found.group().split()[-1])
            terminal.type(b"\x04")
            self.assertEqual(terminal.finish().code, 0)
            self.assertLess(prefilled, 100)
            if first < FIRST_TOKEN:
                break
        print(f"first text after {first:.3f} s", flush=True)
        self.assertLess(first, FIRST_TOKEN)

    def test_ctrl_c(self):
        for model in "SQ":
            for _ in range(TRIES):
                terminal = Terminal(real(model), "-c", 4096, "--ignore-eos", "--no-history")
                terminal.see(rb"\x1b\[\?2004h[^>]*> ")
                terminal.type(b"Tell me a story.\r")
                terminal.see(rb"\r\n\w.{40}")
                start = time.monotonic()
                terminal.type(b"\x03")
                terminal.see(rb"\| stopped\].*> ")
                seconds = time.monotonic() - start
                terminal.type(b"\x04")
                self.assertEqual(terminal.finish().code, 0)
                if seconds < LATENCY:
                    break
            print(f"{model}: a prompt {seconds:.3f} s after Ctrl+C", flush=True)
            self.assertLess(seconds, LATENCY)


if __name__ == "__main__":
    rig.main()
