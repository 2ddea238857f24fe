/* An environment in Python that leaves a mark, the file that CUMIND_TEST_MARK names, as soon as it is opened. */
#ifndef CM_TESTS_MARKING_H
#define CM_TESTS_MARKING_H

static const char cm_test_marking_python[] =
    "import os\n"
    "open(os.environ['CUMIND_TEST_MARK'], 'w').close()\n"
    "class Corridor:\n"
    "    actions = 2\n"
    "    max_steps = 9\n"
    "    def reset(self, seed):\n"
    "        self.cell = 4\n"
    "        return [float(self.cell)], {}\n"
    "    def step(self, action):\n"
    "        self.cell += 1 if action == 1 else -1\n"
    "        return [float(self.cell)], float(self.cell == 8), self.cell in (0, 8), False, {}\n";

#endif
