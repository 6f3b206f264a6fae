/**
 * Records what the TypeScript SDK sends to the Messages API, as a capture that `cachesim` reads.
 *
 *     import Anthropic from '@anthropic-ai/sdk';
 *     import { recordingFetch } from './recorder.mjs';
 *
 *     const client = new Anthropic({ fetch: recordingFetch('capture.jsonl') });
 *
 * Answers come as they would without it, piece by piece. A failure to record is told on standard error and
 * never thrown.
 *
 * Each answered request is one line. It holds the body as it was sent, byte for byte, with times, ids, beta
 * features and usage. A request that was refused, or that lost its connection before an answer began, leaves
 * no line: nothing tells what became of it. An answer that broke off has the usage known by then, or none.
 *
 * Of the headers only `anthropic-beta` is written; keys are not. The prompts are: keep the file to yourself.
 *
 * @module
 */

import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';

/** @typedef {{ session_id?: string, agent_id?: string, scope?: string }} Labels What names a request. */

/**
 * @typedef {object} Options
 * @property {Labels | (() => Labels)} [labels] What names the requests, or a function that tells for each.
 * @property {typeof globalThis.fetch} [fetch] What sends the requests; otherwise the global `fetch`.
 * @property {boolean} [usage] `false` leaves out the usage, as that of made-up answers tells nothing.
 */

/**
 * A `fetch` that appends a line to a file for each answered request to the Messages API.
 *
 * @param {string} path
 * @param {Options} [options]
 * @returns {typeof globalThis.fetch}
 */
export function recordingFetch(path, { labels = {}, fetch = globalThis.fetch, usage = true } = {}) {
  return async (input, init) => {
    const sentAt = now();
    const response = await fetch(input, init);
    const body = sentBody(input, init);
    if (body === undefined || !response.ok || typeof response.body?.getReader !== 'function') return response;
    const record = (/** @type {string} */ text, /** @type {string | undefined} */ startedAt) => {
      const answer = answerOf(text);
      if (!answer) return;
      const beta = new Headers(init?.headers).get('anthropic-beta');
      const { session_id, agent_id, scope } = typeof labels === 'function' ? labels() : labels;
      const known = JSON.stringify({
        timestamp: sentAt,
        response_started_at: startedAt,
        request_id: response.headers.get('request-id') ?? `local_${randomUUID()}`,
        session_id,
        agent_id,
        scope,
        ...answer,
        ...(usage ? {} : { usage: undefined }),
        // Headers without `anthropic-beta` tell that no beta feature was asked for.
        headers: beta ? { 'anthropic-beta': beta } : {},
      });
      const line = `${known.slice(0, -1)},"request":${onOneLine(body)}}\n`;
      appendFileSync(path, line, { mode: 0o600 });
    };
    return recorded(response, init?.signal, record);
  };
}

/**
 * The body of a POST to the Messages API; `undefined` of any other request.
 *
 * @param {RequestInfo | URL} input
 * @param {RequestInit} [init]
 * @returns {string | undefined}
 */
function sentBody(input, init) {
  const { pathname } = new URL(input instanceof Request ? input.url : input, 'http://relative');
  if (init?.method?.toUpperCase() !== 'POST' || !pathname.endsWith('/v1/messages')) return undefined;
  const { body } = init;
  if (typeof body === 'string') return body;
  if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return new TextDecoder().decode(body);
  return undefined;
}

/**
 * The same response, whose body passes everything on as it comes and is recorded when it ends.
 *
 * @param {Response} response
 * @param {AbortSignal | null | undefined} signal
 * @param {(text: string, startedAt: string | undefined) => void} record
 * @returns {Response}
 */
function recorded(response, signal, record) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const decoder = new TextDecoder();
  let text = '';
  let isFinished = false;
  /** @type {string | undefined} */
  let startedAt;
  const finish = () => {
    if (isFinished) return;
    isFinished = true;
    try {
      record(text + decoder.decode(), startedAt);
    } catch (error) {
      console.warn('cachesim: a request was not recorded:', error instanceof Error ? error.message : error);
    }
  };
  reader.closed.catch(finish); // the connection broke; a body that ends is closed before its last piece is read
  signal?.addEventListener('abort', finish, { once: true }); // a body that is being read may never end then
  const body = new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) {
          finish();
          return controller.close();
        }
        startedAt ??= now();
        text += decoder.decode(value, { stream: true });
        controller.enqueue(value);
      },
      cancel: (reason) => {
        finish();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  const { status, statusText, headers, url, redirected } = response;
  const copy = new Response(body, { status, statusText, headers });
  return Object.defineProperties(copy, { url: { value: url }, redirected: { value: redirected } });
}

/**
 * The message's id and usage, of a message or of a stream of events; `undefined` of an error.
 *
 * @param {string} text
 * @returns {{ message_id?: string, usage?: Record<string, unknown> } | undefined}
 */
function answerOf(text) {
  const isMessage = text.trimStart().startsWith('{');
  const data = isMessage ? [text] : text.split('\n').filter((line) => line.startsWith('data:'));
  /** @type {string | undefined} */
  let id;
  /** @type {Record<string, unknown> | undefined} */
  let usage;
  for (const line of data) {
    if (!line.includes('"usage"') && !line.includes('"error"')) continue;
    const event = parsed(isMessage ? line : line.slice(5));
    if (event.type === 'error' && !usage) return undefined;
    const message = event.message ?? event; // the first event of a stream has the message in it
    id ??= message.id;
    // Later figures are of the whole answer; one that is zero or missing tells nothing.
    const told = Object.entries(message.usage ?? {}).filter(([name, value]) => value || !(usage && name in usage));
    if (told.length) usage = { ...usage, ...Object.fromEntries(told) };
  }
  return { message_id: id, usage };
}

/**
 * @param {string} text
 * @returns {Record<string, any>} The object, or an empty one if the text broke off.
 */
function parsed(text) {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

/**
 * A body as it is. Line ends, which JSON has only between its tokens, become spaces.
 *
 * @param {string} body
 * @returns {string}
 */
function onOneLine(body) {
  JSON.parse(body);
  return body.replace(/[\r\n]/g, ' ');
}

const now = () => new Date().toISOString();
