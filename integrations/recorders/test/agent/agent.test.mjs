/** Tests of the agent. `test.py` runs them, and knows which of them have to fail. */

import Anthropic from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { RULES, run } from './agent.mjs';
import { stablePrefix } from './vitest.mjs';

const clientOf = (fetch) => new Anthropic({ apiKey: 'sk-test-planted', baseURL: process.env.MOCK_API, fetch });

/** A system prompt with the time in front of everything else. */
function clock() {
  let second = 10;
  return () => `It is 2026-11-29T10:00:${second++}Z. ${RULES}`;
}

test('stable', () => run(clientOf(stablePrefix())));

test.concurrent('stable concurrently', ({ onTestFinished }) => run(clientOf(stablePrefix({ onTestFinished }))));

test('stable as billed', () => run(clientOf(stablePrefix({ usage: true }))));

test('stable made up', () => {
  const usage = { input_tokens: 1, output_tokens: 1 }; // which says that nothing was cached
  const answer = { type: 'message', role: 'assistant', content: [{ type: 'text', text: 'Tests.' }], usage };
  return run(clientOf(stablePrefix({ fetch: async () => Response.json(answer) })));
});

test('clock', () => run(clientOf(stablePrefix({ tokens: 'bytes:1' })), { system: clock() }));

test('clock allowed', () => run(clientOf(stablePrefix({ allow: 'timestamp' })), { system: clock() }));

test('clock not asked for', () => run(clientOf(stablePrefix({ failOn: 'error,tool-order' })), { system: clock() }));

test('baseline', () => {
  const rules = RULES + 'Be brief. '.repeat(process.env.IS_LONGER ? 200 : 0);
  return run(clientOf(stablePrefix({ baseline: 'prefix.json' })), { system: () => rules });
});

test('nothing recorded', () => {
  stablePrefix();
  return run(clientOf(undefined));
});

test('nothing compared', () => run(clientOf(stablePrefix()), { questions: 1 }));

test('no program', () => run(clientOf(stablePrefix({ program: 'no-such-program' }))));

test('old program', () => run(clientOf(stablePrefix({ program: './old-cachesim' }))));

test('own failure', async () => {
  await run(clientOf(stablePrefix()), { system: clock() });
  expect('what the test itself says').toBe('');
});
