"""Options from a TOML file: each key is an option's long name; command-line options take precedence."""

from pathlib import Path
from typing import Any, Final

import click

from shuffledp.core.parsing import Unreadable, parse_toml
from shuffledp.errors import InvalidInput


class StoreUrl(click.ParamType[str]):
    """A store's URL, or the path of its file."""

    name = "store"


STORE: Final = StoreUrl()


def config_option(command: Any) -> Any:
    """The option --config FILE, read before all others."""
    return click.option(
        "--config", type=click.Path(dir_okay=False, path_type=Path), is_eager=True, expose_value=False, callback=_read,
        help="File with these options (TOML); paths in it are relative to it. Command-line options take precedence.",
    )(command)  # fmt: skip


def _read(ctx: click.Context, _: click.Parameter, path: Path | None) -> None:
    if path is None:
        return
    try:
        settings = parse_toml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        raise InvalidInput(f"cannot read the configuration {path}. Check the path.") from None
    except Unreadable as why:
        raise InvalidInput(f"{path} is not a configuration file: {why}. Fix it.") from None
    known = {parameter.name: parameter for parameter in ctx.command.params if parameter.name != "config"}
    defaults: dict[str, Any] = {}
    for key, value in settings.items():
        parameter = known.get(key.replace("-", "_"))
        if parameter is None:
            raise InvalidInput(f"{path}: there is no option {key}. Known: {', '.join(sorted(map(_shown, known)))}.")
        several = isinstance(value, list)
        if several != (parameter.nargs == -1 or parameter.multiple):
            raise InvalidInput(f"{path}: {key} must be {'one value' if several else 'a list'}.")
        if isinstance(parameter.type, click.Path):
            value = [_placed(path, key, entry) for entry in value] if several else _placed(path, key, value)
        if isinstance(parameter.type, StoreUrl) and "://" not in str(value):
            value = _placed(path, key, value)
        defaults[str(parameter.name)] = value
    ctx.default_map = defaults


def _shown(name: str | None) -> str:
    return str(name).replace("_", "-")


def _placed(config: Path, key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{config}: {key} must be a path in quotation marks.")
    return str(config.parent / value)
