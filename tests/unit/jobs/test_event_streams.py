"""Event streams: one message for all streams of a topic, and messages that cannot be made."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from headrace.jobs.live import Hub


async def next_data(stream: AsyncIterator[bytes]) -> Any:
    while True:
        block = (await anext(stream)).decode()
        if "data: " in block:
            return json.loads(block.partition("data: ")[2])


def test_message_is_made_once_for_all_pages() -> None:
    made: list[str] = []

    def message(topic: str) -> int:
        made.append(topic)
        return len(made)

    async def follow() -> list[Any]:
        hub = Hub(message, interval=0.01)
        first, second = hub.stream("jobs"), hub.stream("jobs")
        greetings = [await next_data(first), await next_data(second)]
        return [*greetings, await next_data(first) > 2]

    assert asyncio.run(follow()) == [1, 2, True]


def test_stream_of_a_deleted_job_ends() -> None:
    answers = iter([{"state": "running"}, None])

    async def follow() -> list[bytes]:
        return [block async for block in Hub(lambda topic: next(answers), interval=0.01).stream("job")]

    assert asyncio.run(follow())[-1].startswith(b"event: gone")


def test_stream_continues_after_a_message_that_cannot_be_made() -> None:
    answers = iter([1, RuntimeError("the database restarts"), 3])

    def message(topic: str) -> object:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def follow() -> list[Any]:
        stream = Hub(message, interval=0.01).stream("jobs")
        return [await next_data(stream), await next_data(stream)]

    assert asyncio.run(follow()) == [1, 3]
