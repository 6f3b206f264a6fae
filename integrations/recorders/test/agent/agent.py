"""A tiny agent, which asks one question after another."""

from __future__ import annotations

from typing import Any, Callable

RULES = "You review code. Say what is wrong, and nothing else. " * 400
MARKER = {"cache_control": {"type": "ephemeral"}}


class Agent:
    def __init__(self, system: Callable[[], str] = lambda: RULES) -> None:
        self.system = system
        self.messages: list[Any] = []

    def body(self, question: str) -> dict[str, Any]:
        """The next request. The marker moves on with it."""
        asked = {"type": "text", "text": question}
        marked = {"role": "user", "content": [{**asked, **MARKER}]}
        body = {
            "model": "claude-opus-5",
            "max_tokens": 64,
            "system": [{"type": "text", "text": self.system(), **MARKER}],
            "messages": [*self.messages, marked],
        }
        self.messages.append({"role": "user", "content": [asked]})
        return body

    def hear(self, answer: Any) -> None:
        said = [{"type": "text", "text": answer.content[0].text}]
        self.messages.append({"role": "assistant", "content": said})

    def run(self, client: Any, questions: int = 3) -> None:
        for number in range(questions):
            self.hear(client.messages.create(**self.body(f"What does file {number} lack?")))

    async def run_async(self, client: Any) -> None:
        for number in range(3):
            self.hear(await client.messages.create(**self.body(f"What does file {number} lack?")))
