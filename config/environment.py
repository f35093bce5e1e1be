"""What the environment may set, read in one place; `docs/operations.md` has the table."""

import os
import secrets
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


def text(name: str, default: str = "") -> str:
    return os.environ.get(name, "").strip() or default


def flag(name: str, default: str = "") -> bool:
    return text(name, default).lower() in {"1", "true", "yes", "on"}


def words(name: str, default: list[str]) -> list[str]:
    """A comma-separated list."""
    found = [word.strip() for word in text(name).split(",") if word.strip()]
    return found or default


def data_directory() -> Path:
    """Where the database and the secret key live; made on first use, for its owner only."""
    directory = Path(text("PLANNER_DATA_DIR", str(REPOSITORY / "data"))).resolve()
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return directory


def secret_key(directory: Path) -> str:
    """SECRET_KEY, or a key drawn on first start and kept with mode 0600."""
    if given := text("SECRET_KEY"):
        return given
    path = directory / "secret-key"
    if not path.exists():
        _draw_key(path)
    return path.read_text().strip()


def _draw_key(path: Path) -> None:
    """Two processes that start together agree on one key: the link of only one of them succeeds."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(50))
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
