"""The C API's pages, from the comments of include/ferry/*.h: one page a header, an entry for each declaration."""
import glob
import os
import re

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# The headers by topic, in the order in which a program meets them.
GROUPS = [("Foundations", ["base", "context", "options", "array"]),
          ("Data and tasks", ["data", "domain", "task", "generate", "fetch"]),
          ("Methods and models", ["method", "model", "stream", "serve"]),
          ("Evaluation", ["evaluate", "results", "select", "ranks"])]


def groups():
    """GROUPS as far as the headers are there; what is in no group comes last."""
    found = {os.path.basename(p)[:-2] for p in glob.glob(os.path.join(TOP, "include/ferry/*.h"))} - {"ferry"}
    out = [(title, [h for h in names if h in found]) for title, names in GROUPS]
    rest = sorted(found - {h for _, names in out for h in names})
    return out + ([("More", rest)] if rest else [])


def headers():
    return [h for _, names in groups() for h in names]


def examples():
    """The programs of examples/: (file, text)."""
    for path in sorted(glob.glob(os.path.join(TOP, "examples/*.c"))):
        with open(path) as f:
            yield os.path.relpath(path, TOP), f.read().rstrip()


def uses(name):
    """Where the examples call a function: the lines, and the programs."""
    for path, text in examples():
        for line in text.split("\n"):
            if re.search(r"\b%s\(" % name, line):
                yield path, line.strip()
                break


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


def capi_index():
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
    used = list(uses(name_of(code))) if code.startswith("FERRY_API") else []
    if used:
        out += ["Used in " + ", ".join("[%s](index.md#%s)" % (os.path.basename(p), os.path.basename(p)[:-2]) for p, _ in used) + ":", "",
                "```c", used[0][1], "```", ""]
    return out


def pages(site):
    where, index = capi_index(), []
    for group, names in groups():
        index += ["## %s" % group, "", "| header | what | functions |", "| --- | --- | --- |"]
        for h in names:
            text = read(h)
            head = uncomment(re.match(r"/\*.*?\*/", text, re.S).group(0))
            listed = list(declarations(text))
            out = ["# ferry/%s.h" % h, "", re.sub(r"(?m)(?<=[^\n])\n- ", "\n\n- ", prose(head, where, h), count=1), ""]
            for comment, code in listed:
                out += entry(comment, code, where, h)
            site.add("capi/%s.md" % h, "\n".join(out))
            functions = ", ".join("[`%s`](%s.md#%s)" % (name_of(code), h, name_of(code)) for _, code in listed if code.startswith("FERRY_API"))
            index.append("| [ferry/%s.h](%s.md) | %s | %s |" % (h, h, head.split("\n\n")[0].replace("\n", " "), functions))
        index.append("")
    programs = []
    for path, text in examples():
        name = os.path.basename(path)
        programs += ["### %s { #%s }" % (name, name[:-2]), "", "[Download](../%s)" % site.download(path), "", "```c", text, "```", ""]
    site.add("capi/index.md", "\n".join(
        ["# C API", "", "Made from the comments of the headers. `#include <ferry/ferry.h>` has all of them; link with",
         "`pkg-config --cflags --libs ferry` or CMake's `find_package(ferry)`.", ""] + index + ["## Examples", ""] + programs))


def navigation(site):
    return [{"Overview": "capi/index.md"}] + [{group: [{"ferry/%s.h" % h: "capi/%s.md" % h} for h in names]} for group, names in groups()]
