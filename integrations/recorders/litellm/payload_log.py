"""Appends each payload of LiteLLM's proxy to a file, with the body as the client sent it.

    litellm_settings:
      callbacks: [payload_log.handler]      # in the proxy's config.yaml, with this file beside it

`cachesim` reads the payloads as they are. With the body in `proxy_server_request` they count as captured
requests; without it their usage alone is known. LiteLLM adds members of its own to the body, which were never
sent: they are left out. CACHESIM_PAYLOADS names the file [litellm.jsonl].
"""

import json
import os
from typing import Any

from litellm.integrations.custom_logger import CustomLogger


# What a client may tell the proxy in the body: keys, addresses and headers.
NOT_OF_THE_BODY = ("api_", "extra_headers", "headers")


class PayloadLog(CustomLogger):
    """The callback."""

    async def async_log_success_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        request = kwargs["litellm_params"].get("proxy_server_request") or {}
        sent = request.get("body", {}).items()
        body = {name: value for name, value in sent if not name.startswith(("litellm_", *NOT_OF_THE_BODY))}
        line = json.dumps({**kwargs["standard_logging_object"], "proxy_server_request": body}, default=str)
        for_owner = lambda path, flags: os.open(path, flags, 0o600)  # noqa: E731
        path = os.environ.get("CACHESIM_PAYLOADS", "litellm.jsonl")
        with open(path, "ab", buffering=0, opener=for_owner) as file:
            file.write(line.encode() + b"\n")


handler = PayloadLog()
