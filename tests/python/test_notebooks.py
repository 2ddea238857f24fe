"""The notebooks of docs/notebooks, cell by cell."""

import contextlib
import glob
import importlib.util
import json
import os
import tempfile
import unittest

NOTEBOOKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/notebooks")


def cells_of(path):
    with open(path, encoding="utf-8") as file:
        cells = json.load(file)["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


class Notebooks(unittest.TestCase):
    def run_all(self, name):
        """What its names mean after the last cell."""
        here, space = os.getcwd(), {"__name__": "__main__"}
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(None):
            os.environ["XDG_STATE_HOME"] = folder
            os.chdir(folder)
            try:
                for number, cell in enumerate(cells_of(f"{NOTEBOOKS}/{name}.ipynb")):
                    exec(compile(cell, f"{name}.ipynb, code cell {number + 1}", "exec"), space)
            finally:
                os.chdir(here)
        return space

    def test_the_first_agent_balances(self):
        space = self.run_all("first_agent")
        self.assertGreater(space["total"], 100)
        self.assertEqual(space["analysis"].visits.sum(), space["agent"].facts.simulations)

    def test_the_own_environment_is_learnt(self):
        space = self.run_all("own_environment")
        self.assertEqual(space["path"], ["right"] * 9)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "no PyTorch")
    def test_the_search_of_a_network_calls_it_once_per_simulation(self):
        space = self.run_all("search_pytorch")
        self.assertEqual(space["calls"], 32)

    def test_every_notebook_is_tried_and_has_no_output(self):
        paths = glob.glob(f"{NOTEBOOKS}/*.ipynb")
        self.assertEqual(sorted(os.path.basename(path) for path in paths), ["first_agent.ipynb", "own_environment.ipynb", "search_pytorch.ipynb"])
        for path in paths:
            with open(path, encoding="utf-8") as file:
                self.assertFalse(any(cell.get("outputs") for cell in json.load(file)["cells"]), path)


if __name__ == "__main__":
    unittest.main()
