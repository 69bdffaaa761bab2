"""Writes a C program that gives NULL to every public function, one pointer at a time and all at once: what is not said
to be optional in the headers must come back as FERRY_EINVAL with a message, and out as NULL.

usage: nulls.py INCLUDE-FOLDER > nulls.inc (test_nulls.c includes it)
"""
import glob
import os
import re
import sys

# Pointers that may be NULL, as the headers say; with a count of 0 all arrays may.
OPTIONAL = {("*", "opts"), ("*", "sets"), ("ferry_fit", "info"), ("*", "ids"), ("*", "features"), ("*", "weight"),
            ("*", "borrow"), ("*", "user"), ("ferry_task_add_method", "as"), ("ferry_model_load", "method"),
            ("ferry_model_from_memory", "method"), ("ferry_domain_write", "view"), ("ferry_model_read_view", "view"),
            ("ferry_catalog_load", "path"), ("ferry_recommend", "users"), ("ferry_model_see", "score"),
            ("ferry_model_see", "votes"), ("ferry_model_learn", "votes"), ("ferry_model_learn_rows", "cls"),
            ("ferry_domain_set_ratings", "values"), ("ferry_domain_add_data", "name"), ("ferry_evaluate", "folder"),
            ("ferry_results_explain", "method"), ("ferry_results_table", "format"), ("ferry_summary_table", "format"),
            ("ferry_selection_table", "format"), ("ferry_task_links", "format"), ("ferry_stream_feed", "bytes")}
REQUIRED = {("ferry_opts_set", "opts")}
SKIP = {"ferry_set_allocator", "ferry_stream_close"}  # process-wide; frees what it is given

VALID = {"ferry_ctx *": "ctx", "char *": '"x"', "ferry_opts *": "NULL"}


def functions(folder):
    for path in sorted(glob.glob(os.path.join(folder, "ferry", "*.h"))):
        with open(path) as f:
            text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
        for m in re.finditer(r"^FERRY_API\s+([^;]+?);", text, flags=re.M):
            flat = " ".join(m.group(1).split())
            got = re.match(r"(.*?)\b(ferry_\w+)\((.*)\)$", flat)
            if not got or got.group(2) in SKIP:
                continue
            params = []
            for word in got.group(3).split(","):
                if word.strip() != "void":
                    kind, name = re.match(r"(.*?)(\w+)$", word.strip()).groups()
                    params.append((kind.strip(), name))
            yield got.group(1).strip(), got.group(2), params


def valid(kind, name):
    bare = re.sub(r"^const ", "", kind)
    if bare.endswith("**"):
        return f"({kind})&slot"
    if bare in VALID:
        return VALID[bare]
    if "*" in kind:
        return f"({kind})room"  # some memory that is not NULL: nobody may look at it before the NULL is found
    return "NULL" if kind.endswith("_fn") else f"({kind})1"


def optional(name, param):
    return (name, param) not in REQUIRED and ({("*", param), (name, param)} & OPTIONAL)


def main():
    print("static void call_all(ferry_ctx *ctx)\n{")
    for result, name, params in functions(sys.argv[1]):
        pointers = [p for k, p in params if "*" in k]
        if not pointers:
            continue
        for missing in [None] + pointers:  # None: all of them
            if missing and optional(name, missing):
                continue
            args = []
            for kind, param in params:
                args.append(f"({kind})0" if missing in (None, param) and "*" in kind else valid(kind, param))
            call = f"{name}({', '.join(args)})"
            if result == "ferry_status":
                said = int(missing not in (None, "ctx") and params[0][1] == "ctx")
                print(f'    slot = trap;\n    refused(ctx, {call}, {said}, "{name}: {missing or "all"}",'
                      f' {int(missing not in (None, "out") and any(p == "out" and k.endswith("**") for k, p in params))});')
            elif not name.endswith("_free"):
                print(f"    (void){call};")
            else:
                print(f"    {call};")
    print("}")


main()
