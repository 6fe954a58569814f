"""The files, the repository and the database that the servers work on."""

import sqlite3
import subprocess
from pathlib import Path

files = Path("files")
files.mkdir()
Path("memory").mkdir()
Path("logs").mkdir()
# 280,000 characters, of one, two and four bytes.
(files / "long.txt").write_text(("é line of text 🦀 with \"quotes\"\n" * 10000)[:280000], encoding="utf-8")
(files / "short.txt").write_text("short é\n", encoding="utf-8")
(files / "huge.txt").write_text("a line of a huge log, again and again\n" * 540000, encoding="utf-8")
(files / "page.txt").write_text("a line of a page\n" * 8000, encoding="utf-8")

repository = Path("repository")
repository.mkdir()


def git(*words):
    author = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", *author, *words], cwd=repository, check=True, capture_output=True)


git("init", "-q")
(repository / "code.rs").write_text("".join(f"pub fn f{n}() -> u32 {{ {n} }}\n" for n in range(4000)))
git("add", ".")
git("commit", "-q", "-m", "many functions")

with sqlite3.connect(files / "rows.db") as database:
    database.execute("create table t (id integer, name text)")
    database.executemany("insert into t values (?, ?)", [(n, f"name {n}") for n in range(2000)])
