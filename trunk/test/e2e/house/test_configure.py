"""./configure: what its flags mean, what it refuses; and that a release build has nothing of the diagnosis tools."""

import itertools
import re
import shutil
import subprocess

import pytest

from weir import BINARY, SANITIZED, TOP

TOOLS = ["sanitizer", "gprof", "gperf", "valgrind", "coverage"]
GPERF = ["gcp", "gmp", "gmc", "gmd"]
# The four rotations of rdi that stand in front of every request to valgrind (amd64): together they change nothing.
VALGRIND_REQUEST = bytes.fromhex("48c1c703 48c1c70d 48c1c73d 48c1c733")


@pytest.fixture
def configure(folder):
    """Runs a copy of it, so that what is configured here stays. Gives exit code, output and config.mk."""
    shutil.copy(TOP / "configure", folder)

    def run(*flags, compiler="true"):  # `true` finds every header
        (folder / "objs" / "config.mk").unlink(missing_ok=True)
        done = subprocess.run([folder / "configure", *flags], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={"PATH": f"{folder}/bin:/usr/bin:/bin", "CXX": compiler}, timeout=60)
        written = folder / "objs" / "config.mk"
        return done.returncode, done.stdout, written.read_text() if written.exists() else ""

    (folder / "bin").mkdir()
    for tool in ("gprof", "gcov"):  # that the tools are there is another test's subject
        (folder / "bin" / tool).symlink_to("/bin/true")
    return run


def flags_of(text):
    return re.findall(r"^  --([a-z-]+)  +\S", text, re.M)


def test_help_explains_every_flag(configure):
    code, text, _ = configure("--help")
    assert code == 0
    known = flags_of(text)
    assert {*TOOLS, *GPERF, "sanitizer-static", "sanitizer-log", "frame-pointer", "debug", "plants", "transcode"} <= set(known)
    for name in known:
        line = re.search(rf"^  --{name} +(.+)$", text, re.M)[1]
        assert re.search(r"\w+ \w+.* \[(on|off)\]$", line), line


def test_each_tool_has_a_folder_of_its_own(configure):
    folders = [re.search(r"^VARIANT := (\S+)$", configure(*flags)[2], re.M)[1] for flags in (
        [], ["--srt=off"], ["--debug=on"], ["--frame-pointer=off"], ["--plants=on"], ["--transcode=off"],
        ["--transcode=off", "--sanitizer=on"], *([f"--{tool}=on"] for tool in TOOLS),
        *(["--gperf=on", f"--{part}=on"] for part in GPERF), ["--sanitizer=on", "--sanitizer-static=on"],
        ["--sanitizer=on", "--sanitizer-log=on"], ["--gperf=on", "--gcp=on", "--plants=on"])]
    assert folders[0] == "release"
    assert len(set(folders)) == len(folders), folders


def test_release_is_configured_without_any_tool(configure):
    _, _, written = configure()
    settings = dict(re.findall(r"-DWEIR_(\w+)=(\w+)", written))
    assert {name for name, value in settings.items() if value == "on"} == {"BATCHES", "FRAME_POINTER", "PCH", "SRT", "TESTS", "TRANSCODE"}


def test_a_build_without_transcoding_is_one_of_its_own(configure):
    _, text, written = configure("--transcode=off")
    assert "variant: release-notranscode " in text and "-DWEIR_TRANSCODE=off" in written
    _, text, _ = configure("--transcode=off", "--plants=on")
    assert "variant: release-notranscode-plants " in text


def refused(result):
    """One line on which `configure:` says why; nothing was configured."""
    code, text, written = result
    assert code == 2 and not written
    assert text.startswith("configure: ") and text.count("\n") == 1, text
    return text


@pytest.mark.parametrize("first, second", [pair for pair in itertools.combinations(TOOLS, 2) if pair not in (
    ("sanitizer", "coverage"), ("gperf", "coverage"), ("valgrind", "coverage"))])
def test_tools_that_exclude_each_other_are_refused_with_the_reason(configure, first, second):
    text = refused(configure(f"--{first}=on", f"--{second}=on"))
    assert f"--{first}=on" in text and f"--{second}=on" in text and "exclude each other: " in text


@pytest.mark.parametrize("flags", [
    ["--gperf=on", "--gmd=on", "--gmc=on"], ["--gperf=on", "--gmd=on", "--gmp=on"], ["--gperf=on", "--gmc=on", "--gmp=on"],
    ["--gprof=on", "--gperf=on", "--gcp=on"], ["--coverage=on", "--gperf=on", "--gcp=on"], ["--sanitizer=on", "--frame-pointer=off"], ["--gprof=on", "--frame-pointer=off"]])
def test_parts_that_exclude_each_other_are_refused_with_the_reason(configure, flags):
    assert "exclude each other: " in refused(configure(*flags))


@pytest.mark.parametrize("part, whole", [*((part, "gperf") for part in GPERF), ("sanitizer-static", "sanitizer"),
                                         ("sanitizer-log", "sanitizer")])
def test_a_part_without_its_whole_names_the_command(configure, part, whole):
    assert f"./configure --{whole}=on --{part}=on" in refused(configure(f"--{part}=on"))


def test_a_missing_package_is_named(configure):
    assert "apt-get install libgoogle-perftools-dev" in refused(configure("--gperf=on", "--transcode=off", "--srt=off", compiler="false"))
    assert "apt-get install valgrind" in refused(configure("--valgrind=on", "--transcode=off", "--srt=off", compiler="false"))
    assert configure("--transcode=off", "--srt=off", compiler="false")[0] == 0  # a release build needs none of them
    text = refused(configure(compiler="false"))
    assert "apt-get install libavcodec-dev" in text and "./configure --transcode=off" in text


def test_mistakes_are_refused(configure):
    assert "unknown flag '--gprf=on'" in refused(configure("--gprf=on"))
    assert "expected --gprof=on or --gprof=off" in refused(configure("--gprof=yes"))
    assert "unexpected argument 'gprof'" in refused(configure("gprof"))


@pytest.mark.skipif(SANITIZED, reason="is about the release build")
def test_a_release_build_has_nothing_of_the_tools(weir):
    assert subprocess.run([BINARY, "-v"], text=True, stdout=subprocess.PIPE).stdout == "weir 0.1.0\n"
    libraries = subprocess.run(["ldd", BINARY], text=True, stdout=subprocess.PIPE).stdout
    assert "libc.so" in libraries and not re.search("profiler|tcmalloc|asan|ubsan|gcov|valgrind", libraries)
    symbols = subprocess.run(["nm", "-C", BINARY], text=True, stdout=subprocess.PIPE).stdout
    assert "weir::io::Scheduler" in symbols
    assert not re.search(r"plant|Profiler(Start|Stop)|HeapProfile|HeapLeak|tcmalloc|__gcov|mcount|__asan|__ubsan|__lsan",
                         symbols)
    assert VALGRIND_REQUEST not in BINARY.read_bytes()
    assert weir.api("/api/v1/plant?what=leak")["http_status"] == 404
    for kind in ("cpu", "heap"):
        answer = weir.api(f"/api/v1/profile/{kind}")
        assert answer["http_status"] == 501 and "./configure --gperf=on" in answer["error"]


# ---- a tree that was copied or moved ----


@pytest.fixture
def tree(folder):
    """A checkout in a folder with a space in its name, and a cmake that only says that it ran."""
    top = folder / "a tree"
    (top / "trunk" / "www").mkdir(parents=True)
    (top / "trunk" / "www" / "index.html").touch()
    for name in ("configure", "Makefile"):
        shutil.copy(TOP / name, top)
    tools = folder / "tools"
    tools.mkdir()
    (tools / "cmake").write_text("#!/bin/sh\necho \"$PWD: $@\" >>\"$(dirname \"$0\")/ran\"\n")
    (tools / "cmake").chmod(0o755)
    (top / "objs" / "release").mkdir(parents=True)
    (top / "objs" / "release" / "old").touch()
    return top


@pytest.mark.parametrize("built_in, kept", [("itself", True), ("/somewhere/else", False), ("itself-2", False)])
def test_what_another_folder_has_built_is_built_anew(tree, built_in, kept):
    cache = tree / "objs" / "release" / "CMakeCache.txt"
    cache.write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={built_in.replace('itself', str(tree))}/trunk\n")
    done = subprocess.run(["make"], cwd=tree, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
                          env={"PATH": f"{tree.parent}/tools:/usr/bin:/bin", "CXX": "true"})
    assert done.returncode == 0, done.stdout
    assert (tree / "objs" / "release" / "old").exists() == kept
    assert ("built in another folder" in done.stdout) != kept
    assert "--build objs/release" in (tree.parent / "tools" / "ran").read_text()


def test_what_is_missing_says_so_of_the_page_libraries(folder):
    top = folder / "a tree"
    (top / "scripts").mkdir(parents=True)
    (top / "trunk" / "test" / "e2e").mkdir(parents=True)
    shutil.copy(TOP / "scripts/install-deps.sh", top / "scripts")
    (top / "trunk" / "www").mkdir()
    for name in ("package.json", "package-lock.json"):
        shutil.copy(TOP / "trunk/www" / name, top / "trunk/www")

    def check():
        return subprocess.run([top / "scripts/install-deps.sh", "--check"], text=True, capture_output=True, timeout=60)

    def speaks_of_pages(done):
        return any("page libraries" in line and "mpegts.js" in line for line in done.stdout.splitlines())
    nothing = check()
    assert nothing.returncode == 1 and speaks_of_pages(nothing), nothing.stdout + nothing.stderr
    vendor = top / "objs" / "www" / "vendor"
    shutil.copytree(TOP / "objs/www/vendor", vendor)
    assert not speaks_of_pages(check())
    for script in (vendor / "mpegts.js").glob("*.js"):
        script.unlink()
    assert speaks_of_pages(check()), "the stamp alone is not the library"
