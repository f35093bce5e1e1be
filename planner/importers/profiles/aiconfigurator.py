"""Estimates of NVIDIA's AIConfigurator, asked for by a small file; its package is needed only while they are imported.

    {"aiconfigurator": {"model": "Qwen/Qwen3-235B-A22B", "system": "h200_sxm", "backend": "vllm", "tp": 8}}

`version`, `kv_dtype`, `quant` and `lengths` may be given too. Nothing is fetched: the models are those whose
configuration comes with the package.
"""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata, resources
from typing import Any

from planner.documents.errors import DocumentError, refuse
from planner.importers.base import Assumption, Mapped
from planner.importers.profiles.nodes import Node
from planner.importers.profiles.rows import Results, Row
from planner.importers.tables import quoted

PACKAGE, VERSION = "aiconfigurator-core", "0.12.0"
BACKENDS = ("sglang", "trtllm", "vllm")
FIELDS = ("model", "system", "backend", "tp", "version", "kv_dtype", "quant", "lengths")
LENGTHS = (1024, 8192, 32768, 131072)
CACHED = ((1024, 8192), (8192, 8192), (1024, 65536), (8192, 65536))
"""New tokens behind cached ones."""
BATCHES, CONTEXTS = (1, 8, 32, 128), (1024, 8192, 32768)
KNOWN_TO_DIFFER = {
    "XiaomiMiMo/MiMo-V2-Flash": "its windowed layers are counted as full ones there",
    "moonshotai/Kimi-K3": "it is counted with five slots of state a request there",
}


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the file asks for, checked."""

    node: Node
    model: str
    system: str
    backend: str
    tp: int
    lengths: tuple[float, ...]

    def options(self, tp: int) -> dict[str, Any]:
        """What their model is built with. Its experts are divided as its tensors are."""
        quant, kv_dtype = self.node.at("quant").text(), self.node.at("kv_dtype").text()
        return {
            "tp_size": tp,
            "moe_tp_size": tp,
            "moe_ep_size": 1,
            "gemm_quant_mode": quant,
            "kvcache_quant_mode": kv_dtype,
        }


def is_request(node: Node) -> bool:
    """Whether a file asks for estimates."""
    return isinstance(node.at("aiconfigurator").value, dict)


def read(requests: Sequence[Node]) -> Results:
    """The estimates that the file asks for, kind estimated. Raises DocumentError, also where the package is absent."""
    engine = _module("aiconfigurator_core.sdk.engine")
    asked = _asked(requests[0].at("aiconfigurator"))
    warnings: list[str] = []
    with _theirs(asked.node), _listening(warnings):
        version = asked.node.at("version").text()
        handle = engine.EngineHandle.compile(
            asked.model, asked.system, asked.backend, backend_version=version, **asked.options(asked.tp)
        )
        rows = list(_prefill(asked, handle.predict_prefill_latency))
        decode = tuple(_decode(handle.predict_decode_latency))
        kv_dtype, sizes = _kv_bytes(asked)
    return Results(
        format=f"AIConfigurator {metadata.version(PACKAGE)} estimate",
        rows=rows,
        mapping=(
            Mapped("predict_prefill_latency", "ttft_s", "milliseconds; one prompt at a time"),
            Mapped("predict_decode_latency", "decode", "milliseconds of one step"),
        ),
        notes=_notes(asked, warnings),
        assumptions=(Assumption("kv_dtype", kv_dtype, "of the KVCache, as AIConfigurator takes it for this model"),),
        model=asked.model,
        system=asked.system,
        engine=" ".join(filter(None, (asked.backend, version))),
        gpus=asked.tp,
        precision=f"{kv_dtype} KV",
        provenance="estimated",
        facts={"their_s_kv_bytes": sizes},
        decode=decode,
    )


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as problem:
        remedy = f"pip install {PACKAGE}=={VERSION} where the import runs; nothing else needs it"
        raise refuse("aiconfigurator", None, f"needs a package that is not installed: {remedy}") from problem


def _asked(node: Node) -> _Asked:
    unknown = [key for key in node.value if key not in FIELDS]
    if unknown:
        raise node.at(unknown[0]).wrong(f"is not asked for here; allowed: {', '.join(FIELDS)}")
    tp = node.at("tp").number(1)
    if tp != int(tp) or tp > 1024:
        raise node.at("tp").wrong("must be a whole number from 1 to 1024", tp)
    lengths = tuple(length.number(1) for length in node.at("lengths").items()) or LENGTHS
    if len(lengths) > 100:
        raise node.at("lengths").wrong("takes at most 100 lengths", len(lengths))
    return _Asked(
        node=node,
        model=_one_of(node.at("model"), _models()),
        system=_one_of(node.at("system"), _systems()),
        backend=_one_of(node.at("backend"), BACKENDS),
        tp=int(tp),
        lengths=lengths,
    )


def _one_of(node: Node, allowed: Sequence[str]) -> str:
    """A model or system that is not in the package would be fetched, or guessed: it is refused."""
    if node.value not in allowed:
        raise node.wrong(f"must be one of {quoted(allowed, 100)}", node.value)
    return str(node.value)


def _models() -> list[str]:
    tail = "_config.json"
    names = (file.name for file in resources.files("aiconfigurator_core").joinpath("model_configs").iterdir())
    found = (name.removesuffix(tail) for name in names if name.endswith(tail) and not name.endswith("_quant" + tail))
    return sorted(name.replace("--", "/", 1) for name in found)


def _systems() -> list[str]:
    data = resources.files("aiconfigurator_core").joinpath("systems", "data")
    return sorted(folder.name for folder in data.iterdir() if folder.is_dir())


def _prefill(asked: _Asked, predict: Callable[..., float]) -> Iterator[Row]:
    """Prefill of one prompt, then of new tokens behind cached ones; their length counts the cached tokens too."""
    pairs = [(length, 0) for length in asked.lengths] + [(new + cached, cached) for new, cached in CACHED]
    for length, cached in pairs:
        yield Row(
            place=asked.node.place,
            input_tokens=length,
            ttft_s=predict(1, int(length), cached) / 1e3,
            concurrency=1.0,
            cached_tokens=float(cached),
            alone=True,
        )


def _decode(predict: Callable[..., float]) -> Iterator[dict[str, float]]:
    for batch in BATCHES:
        for context in CONTEXTS:
            seconds = predict(batch, context, 2) / 1e3  # two tokens are a prefill and one step
            yield {"batch": float(batch), "context_tokens": float(context), "seconds": seconds}


def _kv_bytes(asked: _Asked) -> tuple[str, dict[str, float]]:
    """Their KV dtype and S_kv by length: of one GPU that holds everything, as with more theirs is a GPU's share."""
    models, builders = (_module(f"aiconfigurator_core.sdk.{name}") for name in ("models", "config_builders"))
    config = builders.build_model_config(pp_size=1, attention_dp_size=1, **asked.options(tp=1))
    model = models.get_model(asked.model, config, asked.backend)
    sizes = {f"{length:g}": float(model.get_kvcache_bytes_per_sequence(int(length))) for length in asked.lengths}
    return str(config.kvcache_quant_mode.name), sizes


def _notes(asked: _Asked, warnings: Sequence[str]) -> tuple[str, ...]:
    notes = ["estimated, not measured; their S_kv is only a cross-check: sizes stay those of the model's entry"]
    if asked.model in KNOWN_TO_DIFFER:
        notes.append(f"their S_kv of {asked.model} is too large: {KNOWN_TO_DIFFER[asked.model]}")
    tables = {found for text in warnings for found in re.findall(r"fallback rows for (\w+)", text)}
    if tables:
        notes.append(f"another engine's measurements may stand in where this one has none: {quoted(sorted(tables))}")
    if metadata.version(PACKAGE) != VERSION:
        notes.append(f"{PACKAGE} is not the {VERSION} that this was tried with")
    return tuple(notes)


@contextmanager
def _theirs(node: Node) -> Iterator[None]:
    """What goes wrong in the package, in many kinds of errors, as one of ours: most often a table it does not have."""
    try:
        yield
    except DocumentError:
        raise
    except Exception as problem:
        told = re.sub(r"\S*/aiconfigurator_core/", "", " ".join(str(problem).split()))[:300]
        raise node.wrong(f"is not estimated: {told or type(problem).__name__}") from problem


@contextmanager
def _listening(warnings: list[str]) -> Iterator[None]:
    """Collects what the package warns of, instead of printing it."""

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if len(warnings) < 1000:
                warnings.append(record.getMessage())

    logger, collector = logging.getLogger("aiconfigurator_core"), Collector()
    propagate = logger.propagate
    logger.addHandler(collector)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(collector)
        logger.propagate = propagate
