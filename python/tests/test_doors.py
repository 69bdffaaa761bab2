"""A slice of the contract of the doors (doors.py): every method and turn, one seed."""
import os
import unittest

import support
import doors

SEED = 1


@unittest.skipUnless(os.path.exists(support.FERRY), "no command to compare with")
class Doors(unittest.TestCase):
    def test_slice(self):
        """The same task through Python, C, the command and the server, and a few through two ranks: the same answers by id, or one sentence."""
        ran, by, failed = 0, {}, {}
        for k, (method, turn, ranks) in enumerate(doors.slice_of(SEED, 0.02)):
            for door, why in doors.case(method, turn, SEED, ranks).items():
                ran += 1
                by[door] = by.get(door, 0) + 1
                if why:
                    failed[f"{method}: {turn}: {door}"] = why
        self.maxDiff = None
        self.assertEqual(failed, {})
        self.assertGreater(ran, 2000)
        self.assertGreater(by["server"], 300)

    def test_finds(self):
        """Answers that differ, and refusals of one door alone, are found."""
        c = doors.made("LogReg/classify", "plain", SEED)
        want = doors.by_python(c)
        self.assertIsNone(doors.differs(c, want, dict(want)))
        first = next(iter(want))
        self.assertIn("1 of 48", doors.differs(c, want, {**want, first: "none"}))
        self.assertIn("other ids", doors.differs(c, want, {**want, "more": "c0"}))
        with self.assertRaises(doors.Refused):
            doors.by_python(doors.made("LogReg/classify", "ids twice", SEED))


if __name__ == "__main__":
    doors.support.main()
