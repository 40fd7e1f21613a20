"""The requests of the flow editor: apply operations to a document, and the form of an entry."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import groupby
from typing import Annotated, Any

from fastapi import APIRouter, Body, HTTPException, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict, Field

from headrace.access import restrict
from headrace.access.effort import limit_effort
from headrace.dashboard.editor.completion import AGGREGATES, EXPRESSIONS, FUNCTIONS, columns_before
from headrace.dashboard.editor.documents import check_document
from headrace.dashboard.editor.flow.forms import form_of
from headrace.dashboard.editor.flow.operations import Operation, apply
from headrace.dashboard.editor.flow.palette import PaletteItem, palette
from headrace.dashboard.live import MAX_DOCUMENT, FeedOf
from headrace.dashboard.rendering import render
from headrace.errors import HeadraceError
from headrace.jobs.api.access import Operator

router = APIRouter(prefix="/ui/flow", include_in_schema=False)
Text = Annotated[str, Field(max_length=MAX_DOCUMENT)]


class Edit(BaseModel):
    """A document, and the operations on it."""

    model_config = ConfigDict(extra="forbid")

    document: Text
    operations: list[Operation]


@router.post("/edit")
def edit(feed: FeedOf, body: Edit, _: Operator) -> dict[str, Any]:
    """Return the document after the operations with its check, as `/ui/check` returns it."""
    try:
        edited = apply(body.document, body.operations)
    except HeadraceError as error:
        hint = f". {error.hint[:1].upper()}{error.hint[1:]}" if error.hint else ""
        raise HTTPException(422, f"{error.what}{hint}") from None
    return {**asdict(edited), "checked": asdict(check_document(edited.document, feed.policy))}


@router.post("/form")
def form(
    request: Request, feed: FeedOf, name: str, document: Annotated[Text, Body(embed=True)], _: Operator
) -> HTMLResponse:
    """Return the form of an entry, with the problems of the document at their fields."""
    checked = check_document(document, feed.policy)
    try:
        shown = form_of(document, name, checked.problems)
        with restrict(feed.policy.access), limit_effort("document"):
            columns = columns_before(document, name)
    except HeadraceError as error:
        raise HTTPException(404, error.what) from None
    nodes = (checked.flow or {"nodes": ()})["nodes"]
    outputs = [(node["id"], output) for node in nodes if node["id"] != name for output in node["outputs"]]
    refs = [f"{node}.{output}" if output else node for node, output in outputs]
    words = [name for name, _ in columns] + ([*AGGREGATES, *FUNCTIONS] if shown.section == "steps" else [])
    return render(
        request,
        "flow_form.html",
        form=shown,
        refs=refs,
        words=words,
        expressions=EXPRESSIONS,
        dumps=json.dumps,
    )


def palette_groups() -> list[tuple[str, list[PaletteItem]]]:
    """Return the items of the palette by group, in order."""
    return [(group, list(items)) for group, items in groupby(palette(), key=lambda item: item.group)]
