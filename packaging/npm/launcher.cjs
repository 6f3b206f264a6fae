#!/usr/bin/env node
// Runs the program of this platform's package as if it had been started directly: same arguments,
// streams, exit code and signals. It exits with 127 where there is no program, and with 126 where
// the program cannot be run, as a shell does.
'use strict';

const isWindows = process.platform === 'win32';
const name = `@cachesim/${process.platform}-${process.arch}`;

function refuse(code, ...lines) {
  process.stderr.write(`cachesim: ${lines.join('\n')}\n`);
  process.exit(code);
}

function find() {
  try {
    return require.resolve(`${name}/bin/cachesim${isWindows ? '.exe' : ''}`);
  } catch {
    return missing();
  }
}

function missing() {
  const names = Object.keys(require('./package.json').optionalDependencies);
  const cargo = 'With Rust you can build it yourself: cargo install --features full cachesim-cli';
  if (!names.includes(name)) {
    const known = names.map((name) => name.slice('@cachesim/'.length)).join(', ');
    const here = `${process.platform}-${process.arch}`;
    refuse(127, `there is no package for ${here}.`, `There are packages for: ${known}.`, cargo);
  }
  refuse(
    127,
    `the package ${name} is not installed. It has the program for this computer.`,
    'It is left out under --omit=optional, or where a lock file or node_modules is from another platform.',
    'Remove node_modules, and the lock file if it does not list the package.',
    'Then install again, with optional packages.',
    cargo,
  );
}

function unusable(program, error) {
  refuse(126, `${program} cannot be run (${error.code}). Install the package ${name} again.`);
}

// Newer versions of Node become the program, so that nothing stands between it and the terminal.
function become(program, args) {
  if (isWindows || typeof process.execve !== 'function') return;
  const fs = require('node:fs');
  try {
    fs.accessSync(program, fs.constants.X_OK);
  } catch (error) {
    unusable(program, error);
  }
  try {
    process.execve(program, [program, ...args]);
  } catch {
    // Not on this platform: it is started as a child.
  }
}

function run(program, args) {
  const { spawn } = require('node:child_process');
  let child;
  const pass = (signal) => child.kill(signal);
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];
  // A Windows console tells the child by itself. The launcher only has to outlive it.
  const heard = isWindows ? ['SIGINT', 'SIGBREAK', 'SIGHUP'] : signals;
  for (const signal of heard) process.on(signal, isWindows ? () => {} : pass);

  child = spawn(program, args, { stdio: 'inherit' });
  child.on('error', (error) => unusable(program, error));
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    // The child was ended by a signal, so the launcher ends by it.
    for (const signal of heard) process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    setTimeout(() => process.exit(128 + require('node:os').constants.signals[signal]), 1000);
  });
}

const program = find();
const args = process.argv.slice(2);
become(program, args);
run(program, args);
