"""A single run's reply: choices, thoughts, tool calls, whole conversations; on tiny models."""

import json
import unittest

import rig

THINKS = ("{% for m in messages %}[{{ m.role }}]{% if '</think>' in m.content %}"
          "{{ m.content.split('</think>')[-1] }}{% else %}{{ m.content }}{% endif %}\n{% endfor %}"
          "{% if add_generation_prompt %}[assistant]<think>\n{% endif %}")
CALLS = ("{% if tools %}{% for t in tools %}{{ t | tojson }}\n{% endfor %}{% endif %}"
         "{% for m in messages %}[{{ m.role }}]{{ m.content }}"
         "{% for c in m.tool_calls or [] %}<tool_call>\n"
         "{\"name\": {{ c.function.name | tojson }}, \"arguments\": "
         "{{ c.function.arguments | tojson }}}\n</tool_call>{% endfor %}\n{% endfor %}"
         "{% if add_generation_prompt %}[assistant]{% endif %}")
TOOLS = [{"type": "function", "function": {
    "name": "get_weather", "description": "Weather of a city",
    "parameters": {"type": "object", "required": ["days"],
                   "properties": {"days": {"type": "integer", "minimum": 1, "maximum": 7}}}}}]


def run(*arguments, **options):
    return rig.minfer(rig.tiny(), *arguments, **options)


class Choices(unittest.TestCase):
    def test_one_prefill_and_each_its_own_draw(self):
        arguments = ("some prompt", "--raw", "-n", "12", "--temp", "1.5")
        one = run(*arguments, "--json").json()
        done = run(*arguments, "--choices", "4", "--json")
        self.assertEqual(done.code, 0, done.err)
        self.assertIn(f"Prefill: {len(one['prompt_ids'])} tokens", done.err)
        all_four = done.json()["choices"]
        self.assertEqual([c["index"] for c in all_four], [0, 1, 2, 3])
        self.assertEqual(all_four[0]["ids"], one["ids"])
        self.assertEqual(len({tuple(c["ids"]) for c in all_four}), 4)
        self.assertEqual(done.json()["ids"], one["ids"])
        # The same again, and the first of them whatever their number.
        again = run(*arguments, "--choices", "2", "--json").json()
        self.assertEqual([c["ids"] for c in again["choices"]], [c["ids"] for c in all_four[:2]])

    def test_text(self):
        done = run("x", "--raw", "--choices", "3", "--grammar-str", 'root ::= "yes"')
        self.assertEqual((done.code, done.text), (0, "yes\nyes\nyes\n"), done.err)
        self.assertIn("--- 3 of 3 ---", done.err)

    def test_range(self):
        self.assertEqual(run("x", "--choices", "0").code, 2)
        self.assertEqual(run("x", "--choices", "257").code, 2)


class Thoughts(unittest.TestCase):
    def thinking(self, *arguments, **options):
        return run("Hi", "--chat-template", THINKS, "-n", "40", *arguments, **options)

    def test_go_to_stderr_and_a_budget_ends_them(self):
        done = self.thinking("--reasoning-budget", "5", "--grammar-str", 'root ::= "yes"')
        self.assertEqual((done.code, done.text), (0, "yes"), done.err)
        told = self.thinking("--reasoning-budget", "5", "--grammar-str", 'root ::= "yes"', "--json")
        reply = told.json()
        self.assertEqual(reply["text"], "yes")
        self.assertTrue(reply["reasoning"])
        self.assertNotIn("</think>", reply["reasoning"])
        self.assertIn(reply["reasoning"].strip()[:3], done.err)
        self.assertLess(len(reply["ids"]), 40)

    def test_budget_of_nothing(self):
        reply = self.thinking("--reasoning-budget", "0", "--grammar-str", 'root ::= "yes"', "--json")
        self.assertEqual(reply.json()["text"], "yes")
        self.assertNotIn("reasoning", reply.json())

    def test_hidden(self):
        done = self.thinking("--reasoning-budget", "5", "--grammar-str", 'root ::= "yes"',
                             "--hide-reasoning", "-q")
        self.assertEqual((done.text, done.err.strip()), ("yes", "(thinking)"))

    def test_a_switch_that_the_template_lacks_is_refused(self):
        plain = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
        done = run("Hi", "--chat-template", plain, "--reasoning", "on")
        self.assertEqual(done.code, 1)
        self.assertIn("--reasoning on", done.err)
        self.assertEqual(run("Hi", "--chat-template", plain, "--reasoning", "off", "-n", "1").code, 0)
        self.assertEqual(run("Hi", "--reasoning", "perhaps").code, 2)
        self.assertEqual(run("Hi", "--raw", "--reasoning", "on").code, 2)


class Calls(unittest.TestCase):
    def setUp(self):
        self.tools = rig.FOLDER / "tools.json"
        self.tools.write_text(json.dumps(TOOLS))

    def call(self, *arguments):
        return run("Hi", "--chat-template", CALLS, "--tools", self.tools,
                   *(() if "-n" in arguments else ("-n", "200")), *arguments)

    def test_a_demanded_call_fits_its_schema(self):  # T-02
        for choice in ("required", "get_weather"):
            reply = self.call("--tool-choice", choice, "--temp", "1", "--json").json()
            self.assertEqual(reply["finish_reason"], "tool_calls")
            self.assertEqual(reply["text"], "")
            call = reply["tool_calls"][0]
            self.assertEqual(call["function"]["name"], "get_weather")
            self.assertIn(json.loads(call["function"]["arguments"])["days"], range(1, 8))
            self.assertTrue(call["id"])

    def test_as_text_a_call_is_a_line_of_json(self):
        done = self.call("--tool-choice", "required")
        self.assertEqual(json.loads(done.text.splitlines()[0])["name"], "get_weather")

    def test_a_call_that_is_cut_is_said(self):
        done = self.call("--tool-choice", "required", "-n", "3")
        self.assertEqual(done.code, 3)
        self.assertIn("the tool call is incomplete: raise -n", done.err)

    def test_none_leaves_the_tools_out(self):
        without = run("Hi", "--chat-template", CALLS, "-n", "1", "--json").json()
        none = self.call("--tool-choice", "none", "-n", "1", "--json").json()
        self.assertEqual(none["prompt_ids"], without["prompt_ids"])

    def test_a_template_without_tools(self):
        plain = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
        told = run("Hi", "--chat-template", plain, "--tools", self.tools, "-n", "2")
        self.assertIn("no tool support", told.err)
        refused = run("Hi", "--chat-template", plain, "--tools", self.tools, "--tool-choice",
                      "required")
        self.assertEqual(refused.code, 1)
        self.assertIn("no tool support", refused.err)

    def test_what_is_refused(self):
        self.assertIn("--tool-choice", self.call("--tool-choice", "nothing").err)
        # Before the model is read.
        done = rig.minfer("no.gguf", "Hi", "--tools", self.tools, "--json-object")
        self.assertEqual(done.code, 2)
        self.assertIn("exclude", done.err)
        self.tools.write_text('[{"type": "function", "function": {"name": "a b"}}]')
        self.assertIn("tools[0].function.name", self.call().err)
        self.tools.write_text("[")
        done = self.call()
        self.assertIn("tools.json", done.err)
        self.assertNotIn("--raw", done.err)  # which would leave the tools out too


class Messages(unittest.TestCase):
    def test_a_whole_conversation_is_what_render_writes(self):
        path = rig.FOLDER / "messages.json"
        path.write_text(json.dumps([{"role": "user", "content": "Hi"},
                                    {"role": "assistant", "content": None, "tool_calls": [
                                        {"id": "a", "type": "function", "function": {
                                            "name": "f", "arguments": "{\"x\": 1}"}}]},
                                    {"role": "tool", "tool_call_id": "a", "content": "3C"}]))
        reply = run("--messages", path, "--chat-template", CALLS, "-n", "1", "--json").json()
        ids = rig.minfer("render", rig.tiny(), "--messages", path, "--chat-template", CALLS, "--ids")
        self.assertEqual(reply["prompt_ids"], [int(i) for i in ids.text.split()])
        self.assertEqual(run("Hi", "--messages", path, "--chat-template", CALLS).code, 2)
        self.assertEqual(run("--messages", path, "--raw").code, 2)


class Session(unittest.TestCase):
    def test_a_prompt_goes_on_with_the_conversation_in_a_file(self):
        file = rig.FOLDER / "talk.kv"
        arguments = ("--chat-template", CALLS, "-n", "4", "--session", file)
        first = run("one", *arguments)
        self.assertEqual(first.code, 0, first.err)
        alone = run("one", "--chat-template", CALLS, "-n", "4")
        self.assertEqual(first.out, alone.out)
        second = run("two", *arguments)
        self.assertEqual(second.code, 0, second.err)
        talk = rig.minfer("chat", rig.tiny(), "--chat-template", CALLS, "-n", "4",
                          stdin=b"one\ntwo\n")
        self.assertEqual(first.out + b"\n" + second.out + b"\n", talk.out)

    def test_what_excludes_it(self):
        for arguments in (("--json",), ("--raw",), ("--choices", "2")):
            done = run("one", "--session", rig.FOLDER / "no.kv", *arguments)
            self.assertEqual(done.code, 2)
            self.assertIn(arguments[0], done.err)
        self.assertFalse((rig.FOLDER / "no.kv").exists())


if __name__ == "__main__":
    rig.main()
