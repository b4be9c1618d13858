#!/usr/bin/env python3
"""Runs the steps of a Dockerfile in chroots, for machines without docker; for scripts/chroot-test.

    dockerfile.py --base FOLDER --work FOLDER Dockerfile

Knows what ours uses: FROM .. AS, WORKDIR, COPY (--from), RUN, ENV, USER, EXPOSE, STOPSIGNAL, HEALTHCHECK CMD, ENTRYPOINT, CMD.
Every FROM is a copy of the folder --base, which stands for the image. Prints what `docker inspect` would: one JSON object with
the root of the last stage, user, folder, command and health check. Mounts of the caller's namespace are used: run it in one
of its own.
"""

import argparse
import fnmatch
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "HOME": "/root",
               "DEBIAN_FRONTEND": "noninteractive"}


def fail(text):
    sys.exit(f"dockerfile: {text}")


def instructions(path):
    """(line, word, rest), with continued lines joined and comments left out."""
    pending, begin = "", 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.lstrip().startswith("#") or (not pending and not line.strip()):
            continue
        begin = begin or number
        if line.endswith("\\"):
            pending += line[:-1] + " "
            continue
        word, _, rest = (pending + line).strip().partition(" ")
        yield begin, word.upper(), rest.strip()
        pending, begin = "", 0


def ignored(relative, patterns):
    return any(fnmatch.fnmatch(relative, pattern) or relative.startswith(pattern + "/") or
               (pattern.startswith("**/") and fnmatch.fnmatch(Path(relative).name, pattern[3:])) for pattern in patterns)


class Stage:
    def __init__(self, base, root, variables):
        self.root, self.folder, self.user, self.env = root, "/", "root", {**ENVIRONMENT, **variables}
        self.health = self.entry = self.command = None
        self.exposed = []
        subprocess.run(["cp", "-a", "--one-file-system", base, root], check=True)
        for name in ("proc", "dev"):
            subprocess.run(["umount", "-lqR", root / name], stderr=subprocess.DEVNULL)
        subprocess.run(["mount", "-t", "proc", "proc", root / "proc"], check=True)
        subprocess.run(["mount", "--rbind", "/dev", root / "dev"], check=True)

    def inside(self, path):
        return self.root / os.path.normpath(os.path.join(self.folder, path)).lstrip("/")

    def run(self, shell):
        user = [] if self.user == "root" else ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--init-groups"]
        subprocess.run(["chroot", self.root, "/usr/bin/env", "-i", *(f"{k}={v}" for k, v in self.env.items()), *user,
                        "/bin/sh", "-c", f"cd {shlex.quote(self.folder)} && {shell}"], check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)

    def copy(self, sources, target, origin, patterns):
        into = self.inside(target)
        many = target.endswith(("/", ".")) or len(sources) > 1
        for source in sources:
            path = origin / source.lstrip("/")
            if not path.exists():
                fail(f"COPY {source}: there is no {path}")
            if path.is_dir():
                def skip(folder, names):
                    place = os.path.relpath(folder, origin)
                    return [name for name in names if ignored(os.path.normpath(os.path.join(place, name)), patterns)]
                shutil.copytree(path, into, symlinks=True, dirs_exist_ok=True, ignore=skip)
            else:
                to = into / path.name if many else into
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, to)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dockerfile", type=Path)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--env", action="append", default=[], help="NAME=VALUE for the steps, such as a proxy or certificates")
    args = parser.parse_args()
    context = args.dockerfile.resolve().parent
    ignore = context / ".dockerignore"
    patterns = ignore.read_text().split() if ignore.exists() else []
    stages, stage = {}, None
    for line, word, rest in instructions(args.dockerfile):
        print(f"dockerfile:{line}: {word} {rest}", file=sys.stderr, flush=True)
        if word == "FROM":
            image, _, name = rest.partition(" AS ")
            stage = stages[name or image] = Stage(args.base, args.work / f"stage{len(stages)}",
                                                  dict(each.split("=", 1) for each in args.env))
        elif word == "WORKDIR":
            stage.folder = os.path.normpath(os.path.join(stage.folder, rest))
            stage.inside(".").mkdir(parents=True, exist_ok=True)
        elif word == "ENV":
            stage.env.update(pair.split("=", 1) for pair in shlex.split(rest))
        elif word == "RUN":
            stage.run(rest)
        elif word == "COPY":
            words = shlex.split(rest)
            origin, from_stage = context, words[0].startswith("--from=")
            if from_stage:
                origin = stages[words.pop(0).split("=", 1)[1]].root
            stage.copy(words[:-1], words[-1], origin, [] if from_stage else patterns)
        elif word == "USER":
            stage.user = rest
        elif word == "EXPOSE":
            stage.exposed += rest.split()
        elif word == "HEALTHCHECK":
            stage.health = json.loads(rest[rest.index("CMD ") + 4:])
        elif word in ("ENTRYPOINT", "CMD"):
            setattr(stage, "entry" if word == "ENTRYPOINT" else "command", json.loads(rest))
        elif word != "STOPSIGNAL":
            fail(f"line {line}: {word} is not known here")
    print(json.dumps({"root": str(stage.root), "user": stage.user, "folder": stage.folder, "health": stage.health,
                      "command": (stage.entry or []) + (stage.command or []), "exposed": stage.exposed}))


if __name__ == "__main__":
    main()
