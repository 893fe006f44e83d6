#!/usr/bin/env python3
"""Tool calls of real models: Q, whose template writes them, and S, whose template has no tools."""

import json
import unittest

import rig
from rig import minfer, real

WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "Current weather of a city",
    "parameters": {"type": "object", "properties": {
        "city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
        "required": ["city", "days"], "additionalProperties": False}}}
NOW = {"type": "function", "function": {"name": "now"}}


class Tools(unittest.TestCase):
    def setUp(self):
        self.tools = rig.FOLDER / "tools.json"
        self.tools.write_text(json.dumps([WEATHER, NOW]))

    def run_tools(self, model, prompt, *more):
        return minfer(real(model), prompt, "--tools", self.tools, "-n", 200, *more)

    def check_call(self, call):
        self.assertIn(call["function"]["name"], ("get_weather", "now"))
        self.assertIsInstance(call["function"]["arguments"], str)
        arguments = json.loads(call["function"]["arguments"])
        if call["function"]["name"] == "get_weather":
            self.assertEqual(list(arguments), ["city", "days"])
            self.assertIsInstance(arguments["city"], str)
            self.assertIn(arguments["days"], range(1, 10))

    def test_T_02_a_required_call_comes(self):
        for temperature in (0, 1, 2):
            done = self.run_tools("Q", "Weather in Paris for 3 days?", "--tool-choice", "required",
                                  "--json", "-q", "--temp", temperature, "--seed", 5)
            self.assertEqual(done.code, 0, done.err)
            answer = done.json()
            self.assertEqual(answer["finish_reason"], "tool_calls")
            self.assertEqual(answer["text"], "")
            ids = [call["id"] for call in answer["tool_calls"]]
            self.assertTrue(all(ids) and len(set(ids)) == len(ids), ids)
            for call in answer["tool_calls"]:
                self.check_call(call)

    def test_a_named_one_comes(self):
        answer = self.run_tools("Q", "Hello!", "--tool-choice", "now", "--json", "-q").json()
        self.assertEqual({call["function"]["name"] for call in answer["tool_calls"]}, {"now"})
        for call in answer["tool_calls"]:
            self.assertEqual(call["function"]["arguments"], "{}")

    def test_calls_are_lines_of_json(self):
        done = self.run_tools("Q", "Weather in Paris?", "--tool-choice", "get_weather", "-q",
                              "--temp", 0)
        self.assertEqual(done.code, 0, done.err)
        for line in done.text.splitlines():
            self.assertEqual(json.loads(line)["name"], "get_weather")

    def test_auto_answers_freely(self):
        done = self.run_tools("Q", "Say hello.", "--temp", 0, "-q")
        self.assertEqual(done.code, 0, done.err)
        self.assertNotIn("<tool_call>", done.text)

    def test_T_02_a_template_without_tools(self):
        for choice in ("required", "now"):
            done = self.run_tools("S", "Hi", "--tool-choice", choice, "-q")
            self.assertNotEqual(done.code, 0)
            self.assertIn("template has no tool support", done.err)
        done = self.run_tools("S", "Weather in Paris?", "--temp", 0)
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("template has no tool support: tools are described in the system text",
                      done.err)

    def test_what_excludes_each_other(self):
        done = self.run_tools("Q", "Hi", "--tool-choice", "required", "--json-object", "-q")
        self.assertEqual(done.code, 2)
        self.assertIn("exclude each other", done.err)


if __name__ == "__main__":
    rig.main()
