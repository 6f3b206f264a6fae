#!/usr/bin/env node
// Makes the npm packages: a launcher, and one package for each platform that a program was built for.
//
//   node build.mjs --version V --binaries DIR --out DIR [--target T …]
//
// Programs are read from DIR/TARGET/cachesim (cachesim.exe). Without --target all that are there are
// packed. Run it on Linux or macOS: Windows has no executable bit to keep.
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const here = dirname(fileURLToPath(import.meta.url));
const project = resolve(here, '../..');
const LICENSES = ['LICENSE', 'THIRD_PARTY.md', 'fonts/OFL.txt'];

function fail(message) {
  console.error(`build.mjs: ${message}`);
  process.exit(2);
}

function options() {
  const text = { type: 'string' };
  const { values } = parseArgs({
    options: { version: text, binaries: text, out: text, target: { type: 'string', multiple: true } },
  });
  for (const name of ['version', 'binaries', 'out']) if (!values[name]) fail(`--${name} is missing`);
  if (!/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(values.version)) fail(`--version: ${values.version} is no version`);
  return values;
}

/** A text field of the `[package]` table, which stands first in Cargo.toml. */
function ofCargo(field) {
  const found = readFileSync(join(project, 'Cargo.toml'), 'utf8').match(new RegExp(`^${field} = "(.*)"$`, 'm'));
  return found ? found[1] : fail(`Cargo.toml has no ${field}`);
}

function nameOf({ npm }) {
  return `@cachesim/${npm.os}-${npm.cpu}`;
}

/** Writes a package into a folder and packs it into the folder of the results. */
function pack(folder, manifest, files, out) {
  for (const [from, to, mode] of files) {
    mkdirSync(dirname(join(folder, to)), { recursive: true });
    copyFileSync(from, join(folder, to));
    chmodSync(join(folder, to), mode);
  }
  for (const file of LICENSES) {
    const to = join(folder, file.split('/').pop());
    copyFileSync(join(project, file), to);
    chmodSync(to, 0o644);
  }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  const made = spawnSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', out], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (made.error || made.status !== 0) fail(`npm pack failed for ${manifest.name}`);
  console.log(join(out, made.stdout.trim()));
}

const { version, binaries, out: outFolder, target: asked } = options();
const targets = JSON.parse(readFileSync(join(here, '../targets.json'), 'utf8'));
const placeOf = ({ target, binary }) => join(binaries, target, binary);
for (const name of asked ?? []) {
  const target = targets.find(({ target }) => target === name) ?? fail(`${name} is not in targets.json`);
  if (!existsSync(placeOf(target))) fail(`${placeOf(target)} is missing`);
}
const built = targets.filter((target) => (asked ? asked.includes(target.target) : existsSync(placeOf(target))));
if (built.length === 0) fail(`${binaries} has no program of any target`);
for (const target of targets.filter((target) => !built.includes(target))) {
  console.error(`build.mjs: no package ${nameOf(target)}: it has to be there before the launcher is published`);
}

const out = resolve(outFolder);
mkdirSync(out, { recursive: true });
const folder = mkdtempSync(join(tmpdir(), 'cachesim-npm-'));
const common = {
  version,
  license: ofCargo('license'),
  homepage: ofCargo('homepage'),
  repository: { type: 'git', url: `git+${ofCargo('repository')}.git` },
  publishConfig: { access: 'public' },
};
try {
  for (const target of built) {
    const { npm, binary } = target;
    const platform = `${npm.os}-${npm.cpu}`;
    const manifest = {
      name: nameOf(target),
      description: `The program of the package cachesim for ${platform}`,
      ...common,
      os: [npm.os],
      cpu: [npm.cpu],
      // What is run is no module: package managers that keep packages zipped have to unpack it.
      preferUnplugged: true,
    };
    const readme = join(folder, `${platform}.md`);
    const text = `The program for ${platform}. Install the package \`cachesim\`, which brings it.`;
    writeFileSync(readme, `# ${nameOf(target)}\n\n${text}\n`);
    const files = [[placeOf(target), `bin/${binary}`, 0o755], [readme, 'README.md', 0o644]];
    pack(join(folder, platform), manifest, files, out);
  }
  const manifest = {
    name: 'cachesim',
    description: ofCargo('description'),
    keywords: ['llm', 'prompt-cache', 'claude-code', 'cost', 'simulation'],
    ...common,
    bin: { cachesim: 'launcher.cjs' },
    engines: { node: '>=18' },
    optionalDependencies: Object.fromEntries(targets.map((target) => [nameOf(target), version])),
  };
  const files = [[join(here, 'launcher.cjs'), 'launcher.cjs', 0o755], [join(here, 'README.md'), 'README.md', 0o644]];
  pack(join(folder, 'cachesim'), manifest, files, out);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
