"""The C API's pages, from the comments of include/ferry/*.h: one page a header, an entry for each declaration."""
import glob
import os
import re

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# In the order in which a program meets them.
ORDER = ["base", "context", "options", "array", "data", "domain", "task", "method", "model", "evaluate", "results", "select",
         "stream", "generate", "fetch"]


def headers():
    found = {os.path.basename(p)[:-2] for p in glob.glob(os.path.join(TOP, "include/ferry/*.h"))} - {"ferry"}
    return [h for h in ORDER if h in found] + sorted(found - set(ORDER))


def read(name):
    with open(os.path.join(TOP, "include/ferry", name + ".h")) as f:
        return f.read()


def uncomment(text):
    """The words of a comment."""
    text = re.sub(r"^/\*\*?|\*/$", "", text.strip())
    return "\n".join(re.sub(r"^\s*\* ?", "", line).rstrip() for line in text.split("\n")).strip()


def declarations(text):
    """(comment, code) of each declaration, in the header's order. A comment stands for the one after it."""
    body = text[text.index("#define FERRY_"):]
    token = re.compile(
        r"/\*(?P<comment>.*?)\*/"
        r"|^#define (?P<macro>FERRY_(?!API|PRINTF)\w+(?:[ \t]|\()[^\n]*)"
        r"|^(?P<struct>typedef (?:struct|enum)[^{;]*\{.*?\}\s*\w+;)"
        r"|^(?P<other>(?:typedef|FERRY_API)[^;]*;)", re.S | re.M)
    comment = ""
    for m in token.finditer(body):
        if m.group("comment") is not None:
            comment = m.group(0) if m.group(0).startswith("/**") else ""
            continue
        code = "#define " + m.group("macro") if m.group("macro") else m.group(0)
        yield uncomment(comment), code
        comment = ""


def name_of(code):
    for pattern in (r"#define (\w+)", r"typedef .*?\(\*(\w+)\)", r"typedef .*\b(\w+);$", r"(ferry_\w+)\("):
        m = re.search(pattern, code, re.S)
        if m:
            return m.group(1)
    return None


def index():
    """Where each name is declared: name to header."""
    return {name_of(code): h for h in headers() for _, code in declarations(read(h))}


def prose(text, where, here):
    """Words of a comment as Markdown: names link to their entries."""
    def link(m):
        name = m.group(1)
        if name not in where:
            return m.group(0)
        page = "" if where[name] == here else where[name] + ".md"
        return "[`%s`](%s#%s)" % (m.group(0), page, name)
    text = text.replace("<", "&lt;").replace("*", "\\*")
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(p if p.startswith("`") else re.sub(r"\b(ferry_\w+)(?:\(\))?", link, p) for p in parts)


def entry(comment, code, where, here):
    lines, params, returns, into = [], [], "", None
    for line in comment.split("\n"):
        m = re.match(r"@(param|return)\s+(?:(\w+)\s+)?(.*)" if line.startswith("@param") else r"@(return)()\s*(.*)", line)
        if m and m.group(1) == "param":
            params.append([m.group(2), m.group(3)])
            into = "param"
        elif m:
            returns, into = m.group(3), "return"
        elif into == "param":
            params[-1][1] += " " + line.strip()
        elif into == "return":
            returns += " " + line.strip()
        else:
            lines.append(line)
    out = ["## `%s` { #%s }" % (name_of(code), name_of(code)), "", "```c", re.sub(r"^FERRY_API ", "", code), "```", ""]
    out += [prose("\n".join(lines), where, here), ""]
    if params:
        out += ["| argument | |", "| --- | --- |"]
        out += ["| `%s` | %s |" % (p, prose(t.strip(), where, here).replace("|", "\\|")) for p, t in params] + [""]
    if returns:
        out += ["Returns " + prose(returns.strip(), where, here) + ".", ""]
    return out


def pages(site):
    where = index()
    rows = []
    for h in headers():
        text = read(h)
        head = uncomment(re.match(r"/\*.*?\*/", text, re.S).group(0))
        out = ["# ferry/%s.h" % h, "", re.sub(r"(?m)(?<=[^\n])\n- ", "\n\n- ", prose(head, where, h), count=1), ""]
        listed = list(declarations(text))
        for comment, code in listed:
            out += entry(comment, code, where, h)
        site.add("capi/%s.md" % h, "\n".join(out))
        functions = sum(code.startswith("FERRY_API") for _, code in listed)
        rows.append("| [ferry/%s.h](%s.md) | %s | %d |" % (h, h, head.split("\n\n")[0].replace("\n", " "), functions))
    examples = []
    for path in sorted(glob.glob(os.path.join(TOP, "examples/*.c"))):
        rel = os.path.relpath(path, TOP)
        with open(path) as f:
            examples += ["### %s { #%s }" % (os.path.basename(path), os.path.basename(path)[:-2]), "",
                         "[Download](../%s)" % site.download(rel), "", "```c", f.read().rstrip(), "```", ""]
    site.add("capi/index.md", "\n".join(
        ["# C API", "", "Made from the comments of the headers. `#include <ferry/ferry.h>` has all of them; link with",
         "`pkg-config --cflags --libs ferry` or CMake's `find_package(ferry)`.", "", "| header | what | functions |", "| --- | --- | --- |"]
        + rows + ["", "## Examples", ""] + examples))


def navigation(site):
    return [{"Overview": "capi/index.md"}] + [{"ferry/%s.h" % h: "capi/%s.md" % h} for h in headers()]
