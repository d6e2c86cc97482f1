"""Programs from package registries, unpacked under CACHE, and the versions that the registries offer."""

import functools
import itertools
import lzma
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.request
import zipfile

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "huginn-net-clients"


def once(function):
    """Calls a function once for each of its arguments, from one thread at a time."""
    cached, lock = functools.cache(function), threading.Lock()

    def call(*arguments):
        with lock:
            return cached(*arguments)

    return call


def output_of(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout.strip()


def download(url, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".part")
    with urllib.request.urlopen(url, timeout=120) as source, open(partial, "wb") as target:
        shutil.copyfileobj(source, target)
    partial.rename(path)


def npm(package, version):
    """Unpacks a package of the npm registry and returns its folder."""
    folder = CACHE / "npm" / f"{package.replace('/', '-')}-{version}"
    if not folder.exists():
        archive = CACHE / "package.tgz"
        name = package.rsplit("/", 1)[-1]
        download(f"{npm_registry()}/{package}/-/{name}-{version}.tgz", archive)
        folder.with_suffix(".new").mkdir(parents=True)
        subprocess.run(["tar", "-xzf", archive, "-C", folder.with_suffix(".new")], check=True)
        archive.unlink()
        folder.with_suffix(".new").rename(folder)
    return folder / "package" if (folder / "package").exists() else next(folder.iterdir())


def npm_newest(package):
    return output_of("npm", "view", package, "version", timeout=60)


def npm_registry():
    return output_of("npm", "config", "get", "registry").rstrip("/")


def go_toolchain(version):
    """Unpacks a Go toolchain of the module proxy and returns its folder."""
    folder = CACHE / "go" / version
    if not folder.exists():
        archive = CACHE / "go.zip"
        module = f"v0.0.1-go{version}.linux-amd64"
        proxy = output_of("go", "env", "GOPROXY").split(",")[0].rstrip("/")
        download(f"{proxy}/golang.org/toolchain/@v/{module}.zip", archive)
        with zipfile.ZipFile(archive) as files:
            # Half of the files are tests.
            names = [name for name in files.namelist() if not re.search(r"/test/|/testdata/|_test\.go$", name)]
            files.extractall(CACHE / "unpacked", names)
        archive.unlink()
        folder.parent.mkdir(parents=True, exist_ok=True)
        (CACHE / "unpacked" / f"golang.org/toolchain@{module}").rename(folder)
        for tool in [*(folder / "bin").iterdir(), *(folder / "pkg/tool").rglob("*")]:
            tool.chmod(0o755)
    return folder


def go_newest():
    """The newest release of Go that the module proxy has."""
    names = output_of("go", "list", "-m", "-versions", "golang.org/toolchain", timeout=60).split()
    releases = [match[1] for match in (re.fullmatch(r"v0\.0\.1-go([0-9.]+)\.linux-amd64", name) for name in names) if match]
    return max(releases, key=number)


def go_module_newest(module):
    return output_of("go", "list", "-m", "-f", "{{.Version}}", f"{module}@latest", cwd=tempfile.gettempdir(), timeout=60)


def number(version):
    """The numbers of a version, which order versions."""
    return [int(part) for part in re.findall(r"[0-9]+", version)]


def python_environment(name, *packages, python=sys.executable):
    """Installs packages into a virtual environment and returns its interpreter."""
    folder = CACHE / "python" / name
    if not (folder / "done").exists():
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([folder / "bin/pip", "install", "--quiet", *packages], check=True)
        (folder / "done").touch()
    return folder / "bin/python"


def installed_version(python, package):
    return output_of(python, "-c", f"import importlib.metadata as m; print(m.version({package!r}))")


def pypi_newest(package):
    """The newest version of a package that this Python can install."""
    output = output_of(sys.executable, "-m", "pip", "index", "versions", package, timeout=60)
    return re.match(r"\S+ \((.+)\)", output)[1]


def apt(*packages):
    """Installs Debian packages that are missing."""
    missing = [package for package in packages if not debian_version(package)]
    if missing:
        apt_upgrade(*missing)


def apt_upgrade(*packages):
    """Installs Debian packages, or their newest versions, and what these need."""
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "install", "-q", "-y", "--no-install-recommends", "--no-remove", "-o", "APT::Keep-Downloaded-Packages=false", *packages]
    subprocess.run([*command, "--download-only"], check=True, env=environment, stdout=subprocess.DEVNULL)
    # A time limit does not interrupt dpkg.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    try:
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])


@once
def apt_update():
    subprocess.run(["apt-get", "update", "-q"], check=True, stdout=subprocess.DEVNULL)


@once
def debian_newest(package):
    """The version of a package that this Debian offers."""
    apt_update()
    found = re.search(r"Candidate: ([^(\s]+)", output_of("apt-cache", "policy", package))
    if not found:
        raise LookupError(f"Debian has no package {package}")
    return found[1]


DEBIAN = "http://deb.debian.org/debian"


SUITE_FIELDS = ("Package: ", "Version: ", "Filename: ", "Depends: ", "Pre-Depends: ")


@once
def suite_packages(suite):
    """Fields of each package of a Debian suite, by name."""
    index = CACHE / "debian" / f"{suite}.xz"
    if not index.exists():
        download(f"{DEBIAN}/dists/{suite}/main/binary-amd64/Packages.xz", index)
    packages = {}
    with lzma.open(index, "rt", encoding="utf-8") as file:
        for paragraph in file.read().split("\n\n"):
            fields = dict(line.split(": ", 1) for line in paragraph.splitlines() if line.startswith(SUITE_FIELDS))
            packages[fields.get("Package")] = fields
    return packages


def suite_libraries(suite, package):
    """A package of a Debian suite, and the libraries that it needs."""
    packages = suite_packages(suite)
    wanted, left = [], [package]
    while left:
        name = left.pop()
        if name in wanted or name not in packages:
            continue
        wanted.append(name)
        depends = ",".join(packages[name].get(field, "") for field in ("Depends", "Pre-Depends")).split(",")
        names = [alternatives.split("|")[0].split("(")[0].split(":")[0].strip() for alternatives in depends]
        left += [name for name in names if name.startswith(("lib", "zlib1g"))]
    return wanted


def suite_library_version(suite, package, library):
    """The version of a library that a package of a Debian suite needs. Names of libraries end with the version of their interface."""
    name = next(name for name in suite_libraries(suite, package) if re.fullmatch(library + r"[0-9.-]*(t64)?", name))
    return upstream(suite_packages(suite)[name]["Version"])


def debian_suite(suite, package):
    """Unpacks a package of another Debian suite and the libraries that it depends on, beside the system. Returns its version, its
    folder, and the command that starts a program with these libraries."""
    packages = suite_packages(suite)
    folder = CACHE / "debian" / f"{suite}-{package}"
    if not folder.exists():
        # Libraries only: programs run from the folder as they are.
        unpacked = folder.with_suffix(".new")
        for name in suite_libraries(suite, package):
            archive = folder.with_suffix(".deb")
            download(f"{DEBIAN}/{packages[name]['Filename']}", archive)
            subprocess.run(["dpkg-deb", "-x", archive, unpacked], check=True)
            archive.unlink()
        unpacked.rename(folder)
    loader = next(itertools.chain(folder.glob("usr/lib64/ld-linux-x86-64.so.2"), folder.glob("lib/x86_64-linux-gnu/ld-*.so*")))
    libraries = ":".join(str(folder / path) for path in ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"))
    return packages[package]["Version"], folder, [loader, "--library-path", libraries]


def debian_version(package):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def upstream(version):
    """The upstream part of a Debian version: 3:5.68-2+deb12u1 is 5.68."""
    return version.split(":")[-1].rsplit("-", 1)[0].split("+")[0]


# For wheels of Python 3.6, whose programs and libraries are used without this Python.
PYTHON_36 = ["--python-version", "36", "--implementation", "cp", "--abi", "cp36m", "--abi", "abi3", "--abi", "none", "--platform", "manylinux1_x86_64",
             "--platform", "manylinux2014_x86_64"]


def pypi_wheel(package, version, options=()):
    """Unpacks a wheel for this machine and returns its folder."""
    folder = CACHE / "wheels" / f"{package}-{version}"
    if not folder.exists():
        downloads = folder.with_suffix(".new")
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", *options,
                        "-d", downloads, f"{package}=={version}"], check=True)
        wheel = next(downloads.glob("*.whl"))
        with zipfile.ZipFile(wheel) as files:
            files.extractall(downloads / "files")
        (downloads / "files").rename(folder)
        shutil.rmtree(downloads)
    return folder


MAVEN = "https://repo1.maven.org/maven2"


def maven(group, artifact, version):
    """Downloads a JAR of Maven Central and returns its path."""
    path = CACHE / "maven" / f"{artifact}-{version}.jar"
    if not path.exists():
        download(f"{MAVEN}/{group.replace('.', '/')}/{artifact}/{version}/{path.name}", path)
    return path


def maven_newest(group, artifact):
    with urllib.request.urlopen(f"{MAVEN}/{group.replace('.', '/')}/{artifact}/maven-metadata.xml", timeout=60) as page:
        return max(re.findall(r"<version>([0-9.]+)</version>", page.read().decode()), key=number)


def cargo_project(name, dependencies):
    """Writes a Rust program's folder and its lock file, if it is missing, and returns the folder."""
    folder = CACHE / "cargo" / name
    if not (folder / "Cargo.lock").exists():
        (folder / "src").mkdir(parents=True, exist_ok=True)
        (folder / "src/main.rs").touch()
        (folder / "Cargo.toml").write_text(
            '[package]\nname = "client"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n'
            f"[profile.release]\nopt-level = 0\n[dependencies]\n{dependencies}\n")
        subprocess.run(["cargo", "generate-lockfile", "--quiet"], cwd=folder, check=True, timeout=60)
    return folder


def cargo_program(name, dependencies, source):
    """Builds a Rust program with these dependencies and returns its path."""
    folder = cargo_project(name, dependencies)
    program = folder / "target/release/client"
    if not program.exists():
        shutil.copy(source, folder / "src/main.rs")
        subprocess.run(["cargo", "build", "--quiet", "--release"], cwd=folder, check=True,
                       env=os.environ | {"CARGO_TARGET_DIR": str(folder / "target")})
    return program


def cargo_version(name, package):
    """The version of a package in the lock file of a program of `cargo_program`."""
    lines = (CACHE / "cargo" / name / "Cargo.lock").read_text().splitlines()
    return lines[lines.index(f'name = "{package}"') + 1].split('"')[1]


def crate_source(package, version):
    """Fetches a package of crates.io and returns the folder of its source."""
    folder = CACHE / "cargo" / f"source-{package}"
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "src/lib.rs").touch()
    (folder / "Cargo.toml").write_text(f'[package]\nname = "client"\nversion = "0.0.0"\n[workspace]\n[dependencies]\n{package} = "={version}"\n')
    (folder / "Cargo.lock").unlink(missing_ok=True)
    subprocess.run(["cargo", "vendor", "--quiet"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder / "vendor" / package


def go_program(name, go_version, modules, source):
    """Builds a Go program with these modules by a Go toolchain, and returns its path."""
    toolchain = go_toolchain(go_version)
    folder = CACHE / "go" / "programs" / name
    program = folder / "client"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, folder / "client.go")
        minor = go_version.rsplit(".", 1)[0]
        (folder / "go.mod").write_text(f"module client\n\ngo {minor}\n")
        environment = os.environ | {
            "GOROOT": str(toolchain), "GOPATH": str(CACHE / "gopath"), "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod",
            "GOCACHE": str(CACHE / "gocache"), "CGO_ENABLED": "0", "GOENV": "off"}
        for module in modules:
            subprocess.run([toolchain / "bin/go", "get", module], check=True, cwd=folder, env=environment)
        subprocess.run([toolchain / "bin/go", "build", "-o", "client", "."], check=True, cwd=folder, env=environment)
    return program
