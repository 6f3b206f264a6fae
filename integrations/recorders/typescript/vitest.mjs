/**
 * Fails a test whose requests do not keep their prefix: a helper for Vitest.
 *
 *     import { stablePrefix } from './vitest.mjs';
 *
 *     test('the prefix stays', async () => {
 *       await agent.run(new Anthropic({ fetch: stablePrefix() }));
 *     });
 *
 * `recorder.mjs`, which stands beside this file, records what the test sends. After a test that passed, the program
 * `cachesim` looks for what moved, and the test fails with its words: request, place, byte, tokens and dollars.
 *
 * @module
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { expect, onTestFinished as whenFinished } from 'vitest';
import { recordingFetch } from './recorder.mjs';

/**
 * @typedef {object} Options
 * @property {string} [failOn] Findings that fail: the least severity (`error`, `warning`, `note`) or names of rules,
 *   with commas between. Without it, `warning`.
 * @property {string} [allow] Rules whose findings are left out, with commas between.
 * @property {string} [tokens] How tokens are counted: `exact`, in the model's vocabulary, or `bytes:N`.
 * @property {string} [baseline] A report that the requests are held against, relative to the test's file.
 *   UPDATE_BASELINE=1 writes it.
 * @property {string} [program] The program: a name on the path, or a path.
 * @property {boolean} [usage] Usage of the answers counts: of the real service, as that of made-up answers tells
 *   nothing.
 * @property {typeof whenFinished} [onTestFinished] That of the test's context, for tests that run concurrently.
 */

/**
 * A `fetch` that records the requests of the test that runs, and fails the test at its end if their prefix moved.
 * Further options are those of `recordingFetch`.
 *
 * @param {Options & import('./recorder.mjs').Options} [options]
 * @returns {typeof globalThis.fetch}
 */
export function stablePrefix({ onTestFinished = whenFinished, usage = false, labels, fetch, ...options } = {}) {
  const capture = join(mkdtempSync(join(tmpdir(), 'cachesim-')), 'capture.jsonl');
  const tests = dirname(expect.getState().testPath ?? '.');
  onTestFinished(({ task }) => {
    try {
      if (task.result?.state !== 'fail') check(capture, tests, options);
    } finally {
      rmSync(dirname(capture), { recursive: true });
    }
  });
  return recordingFetch(capture, { labels, fetch, usage });
}

/**
 * Throws if the prefix moved, or if the requests cost more than the baseline's.
 *
 * @param {string} capture
 * @param {string} tests The folder of the test.
 * @param {Options} options
 */
function check(capture, tests, { failOn = 'warning', allow, tokens = 'exact', baseline, program = 'cachesim' }) {
  if (!existsSync(capture)) {
    fail('no request was recorded: give the SDK `fetch: stablePrefix()`, and answer its requests');
  }
  // A name is looked for on the path, anything else from where the tests run.
  const path = /[\\/]/.test(program) ? resolve(program) : program;
  const run = (/** @type {string} */ command, /** @type {string[]} */ ...given) => {
    const all = [command, 'capture.jsonl', `--assume=tokens=${tokens}`, ...given];
    // In the folder of the capture, where no configuration of the project holds.
    const { error, status, stdout, stderr } = spawnSync(path, all, { cwd: dirname(capture), encoding: 'utf8' });
    if (error) {
      const how = '`npm install --save-dev cachesim`, or name its path as `program`';
      fail(`the program ${program} cannot be run (${error.message}): ${how}`);
    }
    if (status === 0) return;
    const old = `If an option is unknown, ${program} is older than this file: \`npm install cachesim@latest\`.`;
    const more = status === 1 ? stdout : status === 2 ? old : '';
    fail(`${stderr.trim()}\n\n${more.trim()}`);
  };
  run('lint', `--fail-on=${failOn}`, ...(allow ? [`--ignore=${allow}`] : []));
  if (baseline === undefined) return;
  const key = process.env.UPDATE_BASELINE ? '--save-baseline' : '--baseline';
  run('check', `${key}=${resolve(tests, baseline)}`);
}

/**
 * @param {string} message
 * @returns {never}
 */
function fail(message) {
  // Where it was thrown says nothing to the reader of a test.
  throw Object.assign(new Error(message), { stack: message });
}
