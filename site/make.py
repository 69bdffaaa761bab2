"""Collect the pages of the site: docs/ as it is, the files of the repository's root, and what is made from Ferry itself.

    make.py FERRY OUT    FERRY: the built command; OUT gets mkdocs.yml, theme/ and pages/ for `mkdocs build`

Runs in site/build's venv. Links to files that are no pages are downloads: the file is copied. A link that leads nowhere ends
the build with its page and line.
"""
import json
import os
import re
import shutil
import subprocess
import sys

import yaml

import capi
import evidence
import gallery
import methods
import pyapi

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Files of the root that are pages, and folders that a page speaks for.
ROOT_PAGES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md",
              "CODE_OF_CONDUCT.md": "conduct.md", "LICENSE": "licence.md", "README.md": "index.md"}
FOLDERS = {"docs/methods": "methods/index.md", "repro/results": "evidence.md", "docs": "index.md"}
# Addresses that people may have kept or guess, and where they lead.
MOVED = {"README.html": "index.html", "methods.html": "methods/index.html", "gallery.html": "gallery/index.html",
         "atlas.html": "evidence.html", "api.html": "capi/index.html", "python-api.html": "pyapi/index.html", "changes.html": "changelog.html"}


class Site:
    """The pages while they are made: texts by path below pages/, and files to copy there."""

    def __init__(self, ferry, out):
        self.ferry, self.out, self.pages, self.files = ferry, out, {}, {}
        self.work = os.path.join(os.path.dirname(out), "site-gallery")  # kept: examples are run again when Ferry changed
        self.methods = json.loads(self.run("methods", "--json"))

    def run(self, *words, cwd=None):
        """Output of a ferry command; its failure ends the build."""
        got = subprocess.run([self.ferry, *words], cwd=cwd, capture_output=True, text=True)
        if got.returncode:
            sys.exit("site: ferry %s: %s" % (" ".join(words), got.stderr.strip()))
        return got.stdout

    def add(self, path, text, origin=None):
        """A page; `origin` is the file of the repository that its links are relative to."""
        self.pages[path] = self.tidy(text, path, origin) if origin else text

    def has(self, path):
        return os.path.exists(os.path.join(TOP, path))

    def tidy(self, text, page, origin):
        """A page of the repository as this Markdown wants it: links, and a blank line before a list."""
        out, fence, before = [], False, ""
        for number, line in enumerate(text.split("\n"), 1):
            if line.lstrip().startswith("```"):
                fence = not fence
            elif not fence and not line.startswith("    "):
                where = "%s:%d" % (origin, number)
                line = re.sub(r"\]\(([^)\s]+)\)", lambda m: "](%s)" % self.link(m.group(1), page, origin, where), line)
                item = r"([-*]|\d+\.) "
                if re.match(item, line) and before.strip() and not re.match(item + "|  |#|```", before):
                    out.append("")
            out.append(line)
            before = line
        return "\n".join(out)

    def link(self, to, page, origin, where):
        if re.match(r"[a-z]+:", to) or to.startswith("#"):
            return to
        path, _, anchor = to.partition("#")
        full = os.path.normpath(os.path.join(os.path.dirname(origin), path))
        if full in ROOT_PAGES:
            found = ROOT_PAGES[full]
        elif full in FOLDERS:
            found = FOLDERS[full]
        elif full.startswith("docs/") and full.endswith(".md"):
            found = full[len("docs/"):]
        elif os.path.isfile(os.path.join(TOP, full)):
            found = self.files[full] = "files/" + full
        else:
            sys.exit("site: %s: the link to %s leads nowhere" % (where, to))
        return os.path.relpath(found, os.path.dirname(page) or ".") + ("#" + anchor if anchor else "")

    def download(self, path):
        """Address, below pages/, of a file of the repository that readers may take."""
        self.files[path] = "files/" + path
        return self.files[path]


def read(path):
    with open(os.path.join(TOP, path)) as f:
        return f.read()


def committed(site):
    """The pages that are files of the repository."""
    for folder, _, names in os.walk(os.path.join(TOP, "docs")):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), TOP)
            if name.endswith(".md") and not path.startswith("docs/methods/"):
                site.add(path[len("docs/"):], read(path), path)
    for origin in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md"):
        site.add(ROOT_PAGES[origin], read(origin), origin)
    site.add("licence.md", "# Licence\n\n```text\n%s```\n" % read("LICENSE"))
    contributing = read("CONTRIBUTING.md")
    study = re.search(r"^## Adding a study\n(.*?)(?=^## )", contributing, re.M | re.S)
    site.add("adding-a-study.md", "# Adding a study\n" + study.group(1), "CONTRIBUTING.md")
    site.add("citation.md", citation(yaml.safe_load(read("CITATION.cff"))))
    site.download("CITATION.cff")


def names(people):
    return ", ".join("%s %s" % (p["given-names"], p["family-names"]) if "family-names" in p else p["name"] for p in people)


def citation(cff):
    out = ["# Citing Ferry", "", cff["message"] + " The file [CITATION.cff](files/CITATION.cff) has it for programs.", "",
           "> %s: *%s*, version %s." % (names(cff["authors"]), cff["title"], cff["version"]), "",
           "## The papers behind the methods", "", "Cite the paper of a method that you use.", ""]
    for r in cff["references"]:
        where = r.get("journal") or r.get("conference", {}).get("name") or r.get("institution", {}).get("name", "")
        out.append("- %s: *%s*. %s %s. (%s)" % (names(r["authors"]), r["title"], where, r["year"], r["notes"]))
    return "\n".join(out) + "\n"


def navigation(site, entries):
    """The navigation without optional pages that are not there, and with those that stand for a "*"."""
    out = []
    for entry in entries:
        (title, to), = entry.items()
        if isinstance(to, list):
            out.append({title: navigation(site, to)})
        elif to.endswith("*"):
            out.append({title: {"gallery/*": gallery, "methods/*": methods, "capi/*": capi, "pyapi/*": pyapi}[to].navigation(site)})
        elif not to.endswith("?"):
            out.append({title: to})
        elif to[:-1] in site.pages:
            out.append({title: to[:-1]})
    return out


def redirect(to):
    return ('<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Moved</title>'
            '<meta http-equiv="refresh" content="0; url=%s"></head><body><p>This page is now <a href="%s">here</a>.</p></body></html>\n' % (to, to))


def write(site):
    config = yaml.safe_load(read("site/mkdocs.yml"))
    config["nav"] = navigation(site, config["nav"])
    if os.environ.get("SITE_URL"):
        config["site_url"] = os.environ["SITE_URL"]
    pages = os.path.join(site.out, "pages")
    shutil.copytree(os.path.join(TOP, "site", "assets"), os.path.join(pages, "assets"), dirs_exist_ok=True)
    shutil.copytree(os.path.join(TOP, "site", "theme"), os.path.join(site.out, "theme"))
    for path, text in site.pages.items():
        full = os.path.join(pages, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w") as f:
            f.write(text)
    for origin, path in site.files.items():
        full = os.path.join(pages, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        shutil.copyfile(os.path.join(TOP, origin), full)
    for old, new in MOVED.items():
        with open(os.path.join(pages, old), "w") as f:
            f.write(redirect(new))
    with open(os.path.join(site.out, "mkdocs.yml"), "w") as f:
        yaml.safe_dump(config, f, sort_keys=False)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    site = Site(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]))
    os.makedirs(site.work, exist_ok=True)
    committed(site)
    evidence.pages(site)
    gallery.pages(site)
    methods.pages(site)
    capi.pages(site)
    pyapi.pages(site)
    site.add("index.md", gallery.home(site, read("site/home.md")).replace("DECISION\n", methods.decision(site)))
    write(site)


main()
