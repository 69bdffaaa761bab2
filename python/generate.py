#!/usr/bin/env python3
"""Writes what ferryml has from the C library, so that nothing is told twice.

usage: generate.py abi > ferryml/_abi.py            structs, constants and signatures, from include/ferry/*.h
       generate.py sizes                            a C program that prints how the compiler lays the structs out
       generate.py estimators > ferryml/_methods.py one class a method, from the library's own method table
       generate.py schema > ../docs/task.schema.json the JSON Schema of task files, from the library's tables
       generate.py update                           write these files

tests/test_abi.py fails when a committed file is not what this makes.
"""
import glob
import os
import re
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.path.join(HERE, "..", "include", "ferry")
NUMBERS = {"int": "c_int", "unsigned": "c_uint", "int64_t": "c_int64", "uint64_t": "c_uint64", "int32_t": "c_int32",
           "uint8_t": "c_uint8", "size_t": "c_size_t", "double": "c_double", "float": "c_float",
           "bool": "c_bool"}


def headers():
    """The text of all headers without comments and preprocessor lines."""
    text = ""
    for path in sorted(glob.glob(os.path.join(INCLUDE, "*.h"))):
        with open(path, encoding="utf-8") as f:
            text += re.sub(r"/\*.*?\*/", " ", f.read(), flags=re.S)
    return text


class Header:
    """What the headers declare."""

    def __init__(self, text):
        self.version = tuple(int(re.search(rf"FERRY_VERSION_{p} (\d+)", text).group(1)) for p in ("MAJOR", "MINOR"))
        self.defines = re.findall(r"^#define (FERRY_\w+) \(?(-?\d+)\)?$", text, flags=re.M)
        text = re.sub(r"^\s*#.*?$", "", re.sub(r"\\\n", " ", text), flags=re.M)
        text = re.sub(r"FERRY_PRINTF\([^)]*\)", "", text)
        self.enums = {m.group(2): self.values(m.group(1))
                      for m in re.finditer(r"typedef enum \w+ \{(.*?)\} (\w+);", text, flags=re.S)}
        self.structs = {m.group(2): m.group(1)
                        for m in re.finditer(r"typedef struct \w+ \{(.*?)\} (\w+);", text, flags=re.S)}
        self.callbacks = {m.group(2): (m.group(1), m.group(3))
                          for m in re.finditer(r"typedef ([\w ]+?[ *]+)\(\*(\w+)\)\((.*?)\);", text, flags=re.S)}
        self.opaque = set(re.findall(r"typedef struct (\w+) \1;", text)) - set(self.structs)
        self.functions = []
        for m in re.finditer(r"FERRY_API\s+([^;]+?);", text):
            flat = " ".join(m.group(1).split())
            got = re.match(r"(.*?)\b(ferry_\w+)\((.*)\)$", flat)
            if "(*" not in flat:  # ferry_set_allocator: not for Python, whose objects have memory of their own
                self.functions.append((got.group(2), got.group(1).strip(), self.parameters(got.group(3))))

    @staticmethod
    def values(body):
        at, out = 0, []
        for word in filter(None, (w.strip() for w in body.split(","))):
            name, _, value = (p.strip() for p in word.partition("="))
            at = int(value) if value else at
            out.append((name, at))
            at += 1
        return out

    @staticmethod
    def parameters(text):
        out = []
        for word in text.split(","):
            if word.strip() != "void":
                kind, name = re.match(r"(.*?)(\w+)$", word.strip()).groups()
                out.append((kind.strip(), name))
        return out

    def fields(self, body):
        """(name, C type, array length or None) of each field, in order."""
        for line in filter(None, (" ".join(part.split()) for part in body.split(";"))):
            first, *more = line.split(",")
            base, stars, name = re.match(r"((?:const )?\w+(?: const)?)([ *const]*?[ *])(\w+ ?(?:\[\d+\])?)$", first).groups()
            for stars, name in [(stars, name)] + [re.match(r"\s*(\**)(.*)", m).groups() for m in more]:
                n = re.match(r"(\w+) ?(?:\[(\d+)\])?$", name.strip())
                yield n.group(1), f"{base} {stars}".strip(), n.group(2)

    def ctype(self, kind, result=False):
        """The ctypes type for a C type. Pointers to numbers and to what is opaque are plain addresses."""
        stars = kind.count("*")
        base = kind.replace("const", "").replace("*", "").strip()
        if base == "void" and stars == 0:
            return "None"
        if base in self.callbacks:
            return base
        if base in self.enums or base in NUMBERS:
            return NUMBERS.get(base, "c_int") if stars == 0 else "c_void_p"
        if base == "char":
            lent = kind.startswith("const char")
            if stars == 1:  # a char * that is not const is new memory: its address must be kept to free it
                return "c_char_p" if lent else "c_void_p"
            return "POINTER(c_char_p)" if lent or result else "POINTER(c_void_p)"
        if base in self.structs:
            return {1: f"POINTER({base})", 2: f"POINTER(POINTER({base}))"}[stars]
        if base == "void" or base in self.opaque:
            return {1: "c_void_p", 2: "POINTER(c_void_p)"}[stars]
        raise SystemExit(f"generate.py: what is '{kind}'?")


def write_abi(out):
    h = Header(headers())
    out.write('"""The C library\'s structs, constants and signatures. Written by generate.py from include/ferry: do not edit."""\n'
              "from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char_p, c_double, c_float, c_int, c_int32,\n"
              "                    c_int64, c_size_t, c_uint, c_uint8, c_uint64, c_void_p)\n\n"
              f"VERSION = {h.version}\n")
    for name, value in h.defines:
        if not name.startswith("FERRY_VERSION"):
            out.write(f"{name} = {value}\n")
    for name, values in h.enums.items():
        out.write(f"\n# {name}\n" + "".join(f"{n} = {v}\n" for n, v in values))
    for name in h.structs:
        out.write(f"\n\nclass {name}(Structure):\n    pass\n")
    out.write("\n\n")
    for name, (result, params) in h.callbacks.items():
        # what a callback gets is turned into Python by hand, so that a call costs little
        kinds = ["c_void_p" if "*" in k and "char" not in k and k.split()[-2] not in h.structs else h.ctype(k)
                 for k, _ in h.parameters(params)]
        out.write(f"{name} = CFUNCTYPE({', '.join([h.ctype(result.strip())] + kinds)})\n")
    for name, body in h.structs.items():
        out.write(f"\n{name}._fields_ = [\n")
        for field, kind, n in h.fields(body):
            text = h.ctype(kind, result=True)
            out.write(f'    ("{field}", {text}{f" * {n}" if n else ""}),\n')
        out.write("]\n")
    out.write("\nFUNCTIONS = {\n")
    for name, result, params in h.functions:
        out.write(f'    "{name}": ({h.ctype(result, True)}, [{", ".join(h.ctype(k) for k, _ in params)}]),\n')
    out.write("}\n")


def write_sizes(out):
    h = Header(headers())
    out.write('#include <stdio.h>\n#include "ferry/ferry.h"\n\nint main(void)\n{\n')
    for name, body in h.structs.items():
        out.write(f'    printf("{name} %zu\\n", sizeof({name}));\n')
        for field, _, _ in h.fields(body):
            out.write(f'    printf("{name}.{field} %zu\\n", offsetof({name}, {field}));\n')
    for values in h.enums.values():
        out.write("".join(f'    printf("{n} %d\\n", (int){n});\n' for n, _ in values))
    out.write("    return 0;\n}\n")


def main():
    what = sys.argv[1] if len(sys.argv) > 1 else ""
    if what == "abi":
        write_abi(sys.stdout)
    elif what == "sizes":
        write_sizes(sys.stdout)
    elif what in ("estimators", "schema", "update"):
        if what == "update":
            with open(os.path.join(HERE, "ferryml", "_abi.py"), "w", encoding="utf-8") as f:
                write_abi(f)
        package = types.ModuleType("ferryml")  # without its __init__, which needs the file that is being made
        package.__path__ = [os.path.join(HERE, "ferryml")]
        sys.modules["ferryml"] = package
        import estimators
        import schema
        made = {"estimators": (estimators.source, os.path.join(HERE, "ferryml", "_methods.py")),
                "schema": (schema.source, os.path.join(HERE, "..", "docs", "task.schema.json"))}
        for part, (source, path) in made.items():
            if what == part:
                sys.stdout.write(source())
            elif what == "update":
                with open(path, "w", encoding="utf-8") as f:
                    f.write(source())
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
