"""JSON Schemas of what a task is made of: the documents of protocols, domains and randomizers."""

from typing import Any, Final

Schema = dict[str, Any]


def ref(name: str) -> Schema:
    """A schema by its name."""
    return {"$ref": f"#/components/schemas/{name}"}


def whole(low: int, high: int | None = None) -> Schema:
    """A whole number in a range."""
    return {"type": "integer", "minimum": low} | ({} if high is None else {"maximum": high})


def record(required: Schema, optional: Schema | None = None, *, closed: bool = False) -> Schema:
    """An object; a closed one has no other members, which are else to be ignored."""
    found = {"type": "object", "required": list(required), "properties": required | (optional or {})}
    return found | ({"additionalProperties": False} if closed else {})


def _kind(name: str, **members: Schema) -> Schema:
    """A document of that kind, with these members and no others."""
    return record({"kind": {"const": name}, **members}, closed=True)


def _some(items: Schema, least: int = 1) -> Schema:
    """A list of at least so many."""
    return {"type": "array", "items": items, "minItems": least}


TEXT: Final[Schema] = {"type": "string"}
NUMBER: Final[Schema] = {"type": "number"}
_LABELS: Final[Schema] = {"type": "array", "items": TEXT, "uniqueItems": True, "minItems": 2}
_RANGE: Final[dict[str, Schema]] = {"low": NUMBER, "high": NUMBER}
_THRESHOLD: Final[Schema] = {"type": "string", "pattern": "^[1-9][0-9]{0,19}$", "description": "An integer of 64 bits."}
_KEY: Final[Schema] = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
_RATE: Final = {"type": "number", "minimum": 1e-9, "maximum": 1000}
_POSITIVE: Final[Schema] = {"type": "number", "exclusiveMinimum": 0}
_COLUMNS: Final[Schema] = {"type": "array", "items": TEXT, "uniqueItems": True}
_AFFINE: Final = _kind("affine", prime=whole(2, 65521), dimension={"enum": [2, 3]})
DOCUMENTS: Final[dict[str, Schema]] = {
    "Domain": {
        "oneOf": [
            _kind("labels", labels=_LABELS),
            _kind("whole-numbers", size=whole(2, 2**32)),
            _kind("intervals", size=whole(2, 2**32), **_RANGE),
            _kind("reals", **_RANGE),
            *(_kind(name, by=_some(ref("Group")), value=ref("Domain")) for name in ("cross-table", "grouped-reals")),
        ]
    },
    "Group": _kind("group", column=TEXT, labels=_LABELS),
    "Texts": _kind("texts", key=_KEY),
    "Spelled": _kind("spelled", alphabet=TEXT, max_length=whole(1)),
    "Randomizer": _kind("response", size=whole(2, 2**32), threshold=_THRESHOLD),
    "Design": _kind("design", structure=_AFFINE, threshold=_THRESHOLD),
    "Dummies": _kind(
        "dummies",
        structure={"oneOf": [_AFFINE, _kind("identity", size=whole(2, 2**32))]},
        dummies=_RATE,
    ),
    "TwoSidedGeometric": _kind("two-sided-geometric", ratio=_THRESHOLD, peak=whole(0)),
    "ShufflerNoise": _kind(
        "shuffler-noise",
        size=whole(2, 2**32),
        noise={
            "oneOf": [
                ref("TwoSidedGeometric"),
                _kind("thinned-geometric", kept=_THRESHOLD, ratio=_THRESHOLD),
            ]
        },
    ),
    "Vectors": {
        "oneOf": [
            _kind("ball", dimension=whole(1, 2**20), norm=_POSITIVE, columns=_COLUMNS),
            _kind("box", lows=_some(NUMBER), highs=_some(NUMBER), columns=_COLUMNS),
        ]
    },
    "Products": _kind("products", lows=_some(NUMBER), highs=_some(NUMBER), columns=_some(TEXT)),
    "Regression": record(
        {"target": TEXT, "features": _some(TEXT), "ridge": {"type": "number", "minimum": 0}}, closed=True
    ),
    "Codebook": _kind(
        "codebook", dimension=whole(1, 2**20), size=whole(2, 2**14), repeats=whole(1, 2**10), threshold=_THRESHOLD
    ),
    "Digits": _kind("digits", base=whole(2, 2**30), groups=whole(1, 2**31), dummies=_some(_RATE)),
    "Levels": _kind(
        "mixture",
        weights=_some(whole(1)),
        parts=_some(ref("Randomizer")),
    ),
    "Mixture": _kind(
        "mixture",
        weights=_some(whole(1)),
        parts=_some(ref("Design")),
    ),
    "Protocol": {
        "oneOf": [
            _kind("histogram", domain=ref("Domain"), randomizer=ref("Randomizer")),
            *(
                _kind(
                    name, total={"enum": ["sum", "mean", "query"]}, domain=ref("Domain"), randomizer=ref("Randomizer")
                )
                for name in ("summation", "grouped-summation", "one-bit-mean")
            ),
            *(
                _kind(name, total={"enum": ["sum", "mean", "query"]}, domain=ref("Domain"), randomizer=ref("Digits"))
                for name in ("digit-sums", "grouped-digit-sums")
            ),
            _kind("vector-mean", domain=ref("Vectors"), randomizer=ref("Codebook")),
            _kind(
                "moments",
                domain=ref("Products"),
                randomizer=ref("Codebook"),
                regression={"oneOf": [ref("Regression"), {"type": "null"}]},
            ),
            _kind("frequencies", domain=ref("Domain"), randomizer=ref("Design")),
            _kind("text-frequencies", domain=ref("Texts"), randomizer=ref("Design")),
            *(
                _kind(f"{what}-with-shuffler-noise", domain=ref("Domain"), randomizer=ref("ShufflerNoise"))
                for what in ("counts", "distribution")
            ),
            _kind("counts-with-dummies", domain=ref("Domain"), randomizer=ref("Dummies")),
            _kind(
                "heavy-hitters",
                domain=ref("Spelled"),
                randomizer=ref("Mixture"),
                key=_KEY,
                step=whole(1),
                false_positives=_POSITIVE,
            ),
            _kind(
                "distribution",
                domain=ref("Domain"),
                randomizer=ref("Levels"),
                widths=_some(whole(1)),
            ),
            *(
                _kind(
                    f"survey-{way}",
                    names=_some(TEXT, 2),
                    weights=_some(whole(1), 2),
                    questions=_some(ref("Protocol"), 2),
                )
                for way in ("one", "all", "table", "table-with-shuffler-noise")
            ),
        ]
    },
    "Wording": record({}, {"title": TEXT, "question": TEXT, "unit": TEXT}, closed=True),
    "Rounds": _kind(
        "rounds",
        rounds=whole(1),
        per_person=whole(1),
        epsilon={"type": "number", "exclusiveMinimum": 0},
        delta={"type": "number", "exclusiveMinimum": 0},
    ),
}
