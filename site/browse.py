"""Open the built site in Chromium from the file system, as a reader does: nothing may fail on the way.

    browse.py FOLDER [PICTURES]    exit code 1 with a line for each fault; PICTURES gets screenshots

On some pages, in light and dark colours and on a narrow screen: no error in the console, text that stands out from what is behind it
(WCAG 2 AA: 4.5 to 1, 3 to 1 for large text), no page wider than the screen, a table that sorts, copy buttons, and a search
that finds something.
"""
import os
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tests", "cli"))
import chrome  # noqa: E402

PAGES = ["index.html", "choose.html", "gallery/index.html", "gallery/bridge.html", "methods/index.html", "methods/ttl.html", "methods/bias.html",
         "evidence.html", "capi/index.html", "capi/task.html", "pyapi/compare.html", "pyapi/estimators.html", "messages.html", "404.html"]
# Elements whose own text does not stand out, as "text: ratio".
CONTRAST = r"""(() => {
  const parse = c => { const n = c.match(/[\d.]+/g).map(Number); const k = c.startsWith("color(") ? 255 : 1
                       return {rgb: n.slice(0, 3).map(v => v * k), a: n.length > 3 ? n[3] : 1} }
  const over = (top, under) => top.rgb.map((v, i) => v * top.a + under[i] * (1 - top.a))
  const light = rgb => { const [r, g, b] = rgb.map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
                         return .2126 * r + .7152 * g + .0722 * b }
  const behind = e => { const chain = []
    for (; e; e = e.parentElement) chain.push(parse(getComputedStyle(e).backgroundColor))
    return chain.reverse().reduce((under, c) => over(c, under), [255, 255, 255]) }
  const bad = {}
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.textContent.trim()).join("")
    const box = e.getBoundingClientRect(), s = getComputedStyle(e)
    if (!own || !box.width || s.visibility !== "visible" || e.closest("[hidden], [aria-hidden=true], script, style, .headerlink, .md-search__overlay, .md-top")) continue
    let faint = 1
    for (let p = e; p; p = p.parentElement) faint *= getComputedStyle(p).opacity
    if (faint < .1 || box.right < 0) continue
    const back = behind(e), colour = parse(s.color), front = over({rgb: colour.rgb, a: colour.a * faint}, back)
    const [a, b] = [light(front), light(back)].sort((x, y) => y - x), ratio = (a + .05) / (b + .05)
    const size = parseFloat(s.fontSize), large = size >= 24 || size >= 18.6 && s.fontWeight >= 700
    if (ratio < (large ? 3 : 4.5)) bad[e.className + " " + own.slice(0, 30)] = ratio.toFixed(2)
  }
  return Object.entries(bad).slice(0, 8).map(([k, v]) => k + ": " + v)
})()"""
SEARCH = """(() => { document.querySelector("[data-md-toggle=search]").click()
  const field = document.querySelector(".md-search__input"); field.focus(); field.value = "verdict"
  field.dispatchEvent(new Event("keyup", {bubbles: true})); field.dispatchEvent(new Event("input", {bubbles: true})) })()"""


def url(folder, name):
    return "file://" + os.path.join(os.path.abspath(folder), name)


def look(folder, pictures, faults, dark, width):
    kind = "narrow" if width < 600 else "dark" if dark else "light"
    with chrome.Page(url(folder, PAGES[0]), width=width, height=900, dark=dark) as page:
        for name in PAGES:
            page.console.clear()
            page.call("Page.navigate", url=url(folder, name))
            page.wait("location.href.endsWith('%s') && document.readyState === 'complete' && !!document.querySelector('h1')" % name)
            for text in page.console:
                faults.append("%s, %s: console: %s" % (name, kind, text[:200]))
            for text in page.eval(CONTRAST):
                faults.append("%s, %s: too little contrast: %s" % (name, kind, text))
            if page.eval("document.documentElement.scrollWidth > innerWidth + 1"):
                faults.append("%s, %s: wider than the screen" % (name, kind))
            if pictures:
                page.screenshot(os.path.join(pictures, "%s-%s.png" % (name.replace("/", "-")[:-5], kind)))


def act(folder, faults):
    with chrome.Page(url(folder, "evidence.html"), width=1300) as page:
        page.wait("document.querySelectorAll('.sortable th button').length > 5")
        first = "document.querySelector('.sortable tbody tr td:nth-child(4)').textContent"
        page.eval("document.querySelectorAll('.sortable th button')[3].click()")
        low = page.eval(first)
        page.eval("document.querySelectorAll('.sortable th button')[3].click()")
        if not int(low.split()[0]) < int(page.eval(first).split()[0]):
            faults.append("evidence.html: the table does not sort")
        page.eval(SEARCH)
        try:
            page.wait("document.querySelectorAll('.md-search-result__item').length > 0", 60)
        except AssertionError as e:
            faults.append("the search finds nothing from the file system: %s" % str(e)[:300])
        page.call("Page.navigate", url=url(folder, "install.html"))
        page.wait("location.href.endsWith('install.html') && document.readyState === 'complete'")
        try:
            page.wait("document.querySelectorAll('button[data-clipboard-target], .md-code__button, .md-clipboard').length > 0", 20)
        except AssertionError:
            faults.append("install.html: no copy buttons")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder, pictures, faults = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None, []
    for dark, width in ((False, 1300), (True, 1300), (False, 390)):
        look(folder, pictures, faults, dark, width)
    act(folder, faults)
    for fault in faults[:40]:
        print("site: " + fault, file=sys.stderr)
    if faults:
        sys.exit("site: %d faults in the browser" % len(faults))
    print("site: %d pages in light, dark and narrow, tables, search and copy buttons work in Chromium" % len(PAGES))


main()
