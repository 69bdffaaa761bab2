"""A slice of the metamorphic contract (same.py): every method and change, and what is known to fail still does."""
import unittest

import same
import numpy as np

SEEDS = (1, 2)


class Same(unittest.TestCase):
    def test_slice(self):
        """Data that says the same gets the same answer, or one warning says why not."""
        known, ran, failed = same.known(), 0, {}
        for method in same.methods():
            for change in same.CHANGES:
                for seed in SEEDS if (method, change) not in known else ():
                    why = same.case(method, change, seed)
                    ran += why != "-"
                    if why not in (None, "-"):
                        failed[f"{method}: {change}: {seed}"] = why
        self.maxDiff = None
        self.assertEqual(failed, {})
        self.assertGreater(ran, 1000)

    def test_equal_rows(self):
        """Rows that hold equally much: of counts many do, and their order in the file decided."""
        for method, change, seed in (("HTLIC", "order of columns", 181260), ("Triplex", "order of rows", 322706),
                                     ("Triplex", "order of columns", 37860), ("Triplex", "order of classes", 734006),
                                     ("TTLPaper", "order of rows", 552341), ("TTLPaper", "order of columns", 854797), ("TTLPaper", "order of columns", 894528),
                                     ("Gibbs", "order of rows", 788428), ("HetOMTL", "order of columns", 637160)):
            with self.subTest(f"{method}: {change}: {seed}"):
                self.assertIsNone(same.case(method, change, seed))

    def test_scores(self):
        """Not only classes: how decided a method is, too, in any order of rows and columns."""
        far, ran = {}, 0
        for method, (kind, goal, _) in same.methods().items():
            for change in ("order of rows", "order of columns") if goal == "classify" else ():
                w = same.made(method, 1)
                back, _ = same.CHANGES[change](w, np.random.default_rng([1, len(change)]))
                (_, one), (_, two) = same.answer(kind, same.made(method, 1))[0], same.answer(kind, w)[0]
                if one is None:
                    continue
                ran += 1
                off = np.abs(one - (back(two) if back else two)).max()
                if not off < 1e-4:
                    far[f"{method}: {change}"] = off
        self.assertEqual(far, {})
        self.assertGreater(ran, 60)

    def test_known(self):
        """A failure that is mended comes off the list."""
        known = same.known()
        self.assertEqual([pair for pair in known if pair[0] not in same.methods() or pair[1] not in same.CHANGES], [])
        self.assertEqual(same.mended(known), [])


if __name__ == "__main__":
    same.support.main()
