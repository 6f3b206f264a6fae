// The protocol's reference client against a server: `client.cjs PROGRAM ARGUMENT...`. Standard input has an array of steps,
// standard output gets an array of what each came to.
const { readFileSync } = require("node:fs");
const { isDeepStrictEqual } = require("node:util");
const { setTimeout: wait } = require("node:timers/promises");
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");

// The processes that a process has started.
const children = (pid) => readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();

// Waits for something to be so, for ten seconds at most.
async function until(isSo) {
  const began = Date.now();
  while (!isSo() && Date.now() - began < 10_000) await wait(5);
  return isSo();
}

const failure = ({ code, message }) => ({ failed: { code, message } });

async function step(client, transport, asked) {
  switch (asked.do) {
    case "initialized":
      return {
        server: client.getServerVersion(),
        capabilities: client.getServerCapabilities(),
        instructions: client.getInstructions(),
      };
    case "list":
      return await client.listTools();
    case "call": {
      const answer = await client.callTool(asked.call);
      const { structuredContent: structured, content } = answer;
      const isAsTold = () => isDeepStrictEqual(structured, JSON.parse(content[0].text));
      return { ...answer, isAsTold: structured === undefined ? null : isAsTold() };
    }
    case "request":
      return await client.request(asked.request, { parse: (result) => result });
    case "cancel": {
      const aborts = new AbortController();
      const called = client.callTool(asked.call, undefined, { signal: aborts.signal });
      const ended = called.then(() => "answered", () => "cancelled");
      const hasBegun = await until(() => children(transport.pid) !== "");
      aborts.abort();
      const hasEnded = await until(() => children(transport.pid) === "");
      return { hasBegun, call: await ended, hasEnded };
    }
    case "together":
      return await Promise.all(asked.calls.map((call) => client.callTool(call).catch(failure)));
  }
}

async function main([program, ...args]) {
  const steps = JSON.parse(readFileSync(0, "utf8"));
  const transport = new StdioClientTransport({ command: program, args, env: process.env, stderr: "inherit" });
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  const results = [];
  for (const asked of steps) results.push(await step(client, transport, asked).catch(failure));
  const pid = transport.pid;
  await client.close();
  let isGone = false;
  try { process.kill(pid, 0); } catch { isGone = true; }
  results.push({ isGone });
  process.stdout.write(JSON.stringify(results));
}

main(process.argv.slice(2));
