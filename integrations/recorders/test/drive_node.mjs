/**
 * Sends requests with the TypeScript SDK: `drive_node.mjs NODE_MODULES URL [CAPTURE]` with the calls on standard
 * input. What the caller saw of each answer is printed. The calls of one list inside the list are sent together.
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { recordingFetch } from '../typescript/recorder.mjs';

const [modules, baseURL, capture] = process.argv.slice(2);
const { Anthropic } = createRequire(`${modules}/`)('@anthropic-ai/sdk');

const client = new Anthropic({
  apiKey: 'sk-test-planted',
  baseURL,
  maxRetries: 1,
  fetch: capture ? recordingFetch(capture, { labels: () => ({ session_id: 'test' }) }) : undefined,
});

const send = async ({ how, body }) => {
  const seen = { text: '' };
  try {
    if (how === 'create') {
      const message = await client.beta.messages.create(body);
      Object.assign(seen, { text: message.content[0].text, usage: message.usage });
    } else if (how === 'events') {
      seen.events = [];
      for await (const event of await client.beta.messages.create({ ...body, stream: true })) seen.events.push(event);
    } else {
      const times = [];
      for await (const event of client.beta.messages.stream(body)) {
        times.push(performance.now());
        if (how === 'live') seen.is_live = times.at(-1) - times[0] > 250;
        seen.text += event.delta?.text ?? '';
        if (how === 'give up' && seen.text) break;
      }
    }
  } catch (error) {
    seen.error = error.constructor.name;
  }
  return seen;
};

const calls = JSON.parse(readFileSync(0, 'utf8'));
const seen = [];
for (const call of calls) seen.push(Array.isArray(call) ? await Promise.all(call.map(send)) : await send(call));
console.log(JSON.stringify(seen));
