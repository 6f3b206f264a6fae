"""Tests of the agent. `test.py` runs them, and knows which of them have to fail."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import anthropic
import pytest
from agent import RULES, Agent

#: What the SDK sends with: `httpx2` in newer versions, `httpx` in older ones.
sdk_http: Any = sys.modules[anthropic.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0]]
#: An answer whose usage says that nothing was cached.
ANSWER = {
    "id": "msg_made_up",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-5",
    "content": [{"type": "text", "text": "Tests."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
SDK = {"api_key": "sk-test-planted", "base_url": os.environ["MOCK_API"]}


def clock() -> Agent:
    """An agent that says the time in front of everything else."""
    times = iter(range(60))
    return Agent(lambda: f"It is 2026-11-29T10:00:{next(times):02}Z. {RULES}")


@pytest.fixture
def client(stable_prefix: Any) -> anthropic.Anthropic:
    return anthropic.Anthropic(http_client=stable_prefix.client(), **SDK)


def test_stable(client: anthropic.Anthropic) -> None:
    Agent().run(client)


def test_stable_async(stable_prefix: Any) -> None:
    client = anthropic.AsyncAnthropic(http_client=stable_prefix.async_client(), **SDK)
    asyncio.run(Agent().run_async(client))


@pytest.mark.stable_prefix(usage=True)
def test_stable_as_billed(client: anthropic.Anthropic) -> None:
    Agent().run(client)


def test_stable_made_up(stable_prefix: Any) -> None:
    transport = sdk_http.MockTransport(lambda _: sdk_http.Response(200, json=ANSWER))
    Agent().run(anthropic.Anthropic(http_client=stable_prefix.client(transport=transport), **SDK))


@pytest.mark.stable_prefix(tokens="bytes:1")
def test_clock(client: anthropic.Anthropic) -> None:
    clock().run(client)


@pytest.mark.stable_prefix(allow="timestamp")
def test_clock_allowed(client: anthropic.Anthropic) -> None:
    clock().run(client)


@pytest.mark.stable_prefix(fail_on="error,tool-order")
def test_clock_not_asked_for(client: anthropic.Anthropic) -> None:
    clock().run(client)


@pytest.mark.stable_prefix(baseline="prefix.json")
def test_baseline(client: anthropic.Anthropic) -> None:
    rules = RULES + "Be brief. " * 200 * bool(os.environ.get("IS_LONGER"))
    Agent(lambda: rules).run(client)


def test_nothing_recorded(stable_prefix: Any) -> None:
    Agent().run(anthropic.Anthropic(**SDK))


def test_nothing_compared(client: anthropic.Anthropic) -> None:
    Agent().run(client, questions=1)


@pytest.mark.stable_prefix(program="no-such-program")
def test_no_program(client: anthropic.Anthropic) -> None:
    Agent().run(client)


@pytest.mark.stable_prefix(program="./old-cachesim")
def test_old_program(client: anthropic.Anthropic) -> None:
    Agent().run(client)


def test_own_failure(client: anthropic.Anthropic) -> None:
    clock().run(client)
    assert not "what the test itself says"
