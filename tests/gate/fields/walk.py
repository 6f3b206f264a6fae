"""The fields of a request in the types of the package `anthropic`: lines of a top-level field, and of it with a field below."""
import typing

from anthropic.types import message_create_params as released
from anthropic.types.beta import message_create_params as beta
from typing_extensions import get_type_hints, is_typeddict


def objects(hint):
    """The objects that a value may be or hold."""
    if is_typeddict(hint):
        return [hint]
    return [found for argument in typing.get_args(hint) for found in objects(argument)]


def below(kind, seen):
    """The names of all fields in an object, at any depth."""
    if kind in seen:
        return
    seen.add(kind)
    for name, hint in get_type_hints(kind).items():
        yield name
        for found in objects(hint):
            yield from below(found, seen)


lines = set()
for kind in (released.MessageCreateParamsNonStreaming, released.MessageCreateParamsStreaming,
             beta.MessageCreateParamsNonStreaming, beta.MessageCreateParamsStreaming):
    for field, hint in get_type_hints(kind).items():
        lines.add(field)
        seen = set()
        for found in objects(hint):
            lines.update(f'{field} {name}' for name in below(found, seen))
print('\n'.join(sorted(lines)))
