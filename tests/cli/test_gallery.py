"""The gallery's real data sets: the list, what was kept of its runs, and the page that is made of both."""
import os
import re
import sys

from harness import FERRY, TOP, main

sys.path.insert(0, os.path.join(TOP, "site"))
sys.dont_write_bytecode = True


def listed():
    try:
        import real
    except ImportError as e:
        print("# skipped: %s" % e)
        return None
    return real


def test_list(folder):
    """What was kept is of the list, all of it ran, no path of a machine is in it, and one of the list runs as it says."""
    real = listed()
    if not real:
        return
    names, kept = [e["name"] for e in real.listed()], real.kept()
    assert len(names) >= 8 and set(kept) <= set(names) and len(set(names)) == len(names), (names, list(kept))
    for name, r in kept.items():
        text = r.get("printed") or r["failed"]
        assert not re.search("/(tmp|work|home|root)/", text), (name, text)
        assert "failed" in r or all("\n  %-8s " % w in text for w in ("Use", "Expect", "Source", "Next")), (name, text)
    digits = next(e for e in real.listed() if e["name"] == "halves")
    r = real.run(FERRY, dict(digits, prepare=digits["prepare"] + " --set source=60 --set bridge=60 --set repeats=2"))
    assert "failed" not in r and r["printed"].startswith("digits: classify 'right'"), r


def test_page(folder):
    """Every entry of the list is on the page, those whose source is worth it first."""
    if not listed():
        return
    import gallery

    class Site:
        pages = {}

        def add(self, name, text):
            self.pages[name] = text
    rows = gallery.real(Site())[2:]
    text = Site.pages["gallery/real.md"]
    said = ["worth it" in r.split("|")[3] and "not worth it" not in r.split("|")[3] for r in rows]
    assert len(rows) == len(listed().listed()) and said == sorted(said, reverse=True), rows
    assert all("{ #%s }" % e["name"] in text and e["title"] in text for e in listed().listed()), text


main(sys.modules[__name__])
