// The package as npm would unpack it: the programs start from it, on the installed Node.js, and find all their files.
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { buildProgramPackage } from './program-package.ts';

const root = dirname(dirname(import.meta.dirname));
const run = promisify(execFile);

/** A Node.js of this machine that does not run TypeScript by itself. */
const OLD_NODE = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((path) => join(path, 'node'))
  .find((file) => existsSync(file) && /^v2[0-3]\./.test(execFileSync(file, ['--version'], { encoding: 'utf8' })));
const NO_OLD_NODE = 'needs Node.js 20, 22 or 23 on the PATH';

describe('the built package', () => {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-build-'));
  const installed = join(folder, 'node_modules/capstan');
  const program = (name: string) => join(installed, 'bin', `${name}.js`);
  before(async () => {
    mkdirSync(join(folder, 'node_modules'));
    await buildProgramPackage(root, installed);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  test('has a launcher for every program, and each prints its usage', async () => {
    const names = readdirSync(join(installed, 'bin')).map((file) => file.replace('.js', ''));
    assert.deepEqual(names.toSorted(), [
      'capstan',
      'crossplane',
      'gimbal',
      'kroxylicious',
      'sesame',
      'subctl',
      'submariner',
    ]);
    for (const name of names) {
      const { stdout, stderr } = await run(process.execPath, [program(name), '--help'], { cwd: folder });
      assert.match(stdout, /^Usage:/m, name);
      assert.equal(stderr, '', name);
    }
  });

  test('runs on an older Node.js by the one that comes with it', {
    skip: OLD_NODE === undefined && NO_OLD_NODE,
  }, async () => {
    const modules = join(folder, 'node_modules');
    const own = ['node', 'node-bin'].map((prefix) => `${prefix}-${process.platform}-${process.arch}`);
    const locked = own.find((name) => existsSync(join(root, 'node_modules', name, 'bin/node')));
    const launch = (...args: string[]) => run(OLD_NODE ?? '', [program('capstan'), ...args], { cwd: folder });
    await assert.rejects(launch('version'), /Capstan needs Node\.js \d+ and found v2\d\..*Install Node\.js/s);
    symlinkSync(join(root, 'node_modules', locked ?? ''), join(modules, locked ?? ''));
    try {
      assert.equal(
        (await launch('version')).stdout,
        (await run(process.execPath, [program('capstan'), 'version'])).stdout,
      );
      assert.match((await launch('--help')).stdout, /^Usage: capstan/m);
      await assert.rejects(launch('versoin'), { code: 2 });
    } finally {
      rmSync(join(modules, locked ?? ''));
    }
  });

  test('serves the page of the console without a build', async () => {
    const up = spawn(
      process.execPath,
      [program('capstan'), 'up', '-o', 'json', '--listen', '127.0.0.1:0', '--operators', 'gimbal'].concat([
        '--fetch',
        'none',
        '--data',
        join(folder, 'data'),
        '--kubeconfig-out',
        join(folder, 'kubeconfig'),
      ]),
      { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] },
    );
    try {
      for await (const line of createInterface(up.stdout)) {
        const event = JSON.parse(line) as { event: string; console?: string };
        if (event.event !== 'ready') continue;
        const answer = await fetch(new URL('/', event.console));
        assert.equal(answer.status, 200);
        const [, script = ''] = /<script type="module" src="([^"]+)"/.exec(await answer.text()) ?? [];
        assert.match(script, /^\/assets\/main\./);
        assert.equal((await fetch(new URL(script, event.console))).status, 200);
        return;
      }
      assert.fail('the cluster was not ready');
    } finally {
      up.kill('SIGTERM');
      if (up.exitCode === null) await once(up, 'exit');
    }
  });

  test('has the licence of every module that is bundled', () => {
    const text = readFileSync(join(installed, 'THIRD-PARTY-LICENSES.txt'), 'utf8');
    const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
      packages: Record<
        string,
        { version?: string; license?: string; dev?: boolean; optional?: boolean; link?: boolean }
      >;
    };
    const direct = ['undici', 'yaml', 'ws', 'js-yaml', '@sigstore/verify', 'preact', '@codemirror/view'];
    for (const name of direct) {
      const { version, license } = packages[`node_modules/${name}`] ?? {};
      assert.ok(text.includes(`\n${name} ${version} (${license})\n`), name);
    }
    assert.match(text, /Permission is hereby granted, free of charge/);
    for (const part of text.split('='.repeat(80)).slice(1)) assert.ok(part.length > 500, part);
    assert.doesNotMatch(text, /node_modules/);
  });

  test('prints what the sources print, in every format', async () => {
    const printed = async (...args: string[]) => (await run(process.execPath, [program('capstan'), ...args])).stdout;
    assert.match(await printed('version', '-o', 'yaml'), /^capstan: \d/);
    assert.match(await printed('crds', '--operators', 'gimbal'), /^---\napiVersion: apiextensions\.k8s\.io\/v1\n/);
    assert.match(await printed('install', '-o', 'yaml', '--operators', 'sesame'), /kind: Deployment\n/);
    assert.match(await printed('__complete', 'stat'), /^status\t/);
  });

  test('runs every example of its documentation in place', async () => {
    const examples = join(installed, 'docs/examples');
    const names = readdirSync(examples).filter((name) => name.endsWith('.ts'));
    assert.ok(names.length > 10, names.join());
    for (const name of names) {
      const file = join(examples, 'built', name.replace('.ts', '.js'));
      await run(process.execPath, ['--input-type=module', '-e', `await import(${JSON.stringify(file)})`], {
        cwd: folder,
      });
    }
    const page = readFileSync(join(installed, 'docs/write-an-operator.md'), 'utf8');
    const [, command = ''] = /^capstan run (--operator \S+) --install-crds$/m.exec(page) ?? [];
    const { stdout } = await run(process.execPath, [program('capstan'), 'crds', ...command.split(' ')], {
      cwd: folder,
    });
    assert.match(stdout, /kind: Website\n/);
    const source = readFileSync(join(examples, 'manager.ts'), 'utf8');
    const [, manager = ''] = /^\/\/ +node (\S+) \[KUBECONFIG\]$/m.exec(source) ?? [];
    const absent = join(folder, 'no-kubeconfig');
    await assert.rejects(run(process.execPath, [manager, absent], { cwd: folder }), /no-kubeconfig/);
  });

  test('needs no other package than Node.js, and runs nothing from the workspace', () => {
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as { dependencies?: object };
    assert.equal(manifest.dependencies, undefined);
    for (const file of readdirSync(join(installed, 'lib')).filter((name) => name.endsWith('.js')))
      assert.doesNotMatch(
        readFileSync(join(installed, 'lib', file), 'utf8'),
        /(?:from|import)\s*\(?['"](?:@capstan\/|[^'"]*\.ts['"])/,
        file,
      );
  });

  test('evaluates no members of node:http that load the HTTP client of Node.js', async () => {
    const preload = join(folder, 'loaded.cjs');
    const loaded = "process.moduleLoadList.some((each) => each.endsWith('deps/undici/undici'))";
    writeFileSync(preload, `process.on('exit', () => process.stderr.write(String(${loaded})));`);
    for (const command of ['gateway', 'operator']) {
      const args = ['--require', preload, program('submariner'), command, '--help'];
      const { stderr } = await run(process.execPath, args);
      assert.equal(stderr, 'false', command);
    }
  });

  test('is the same tarball when it is built again, in another folder', { timeout: 120_000 }, async () => {
    const again = join(folder, 'again');
    await buildProgramPackage(root, again);
    const packed = [installed, again].map((from, index) => {
      const to = join(folder, `packed-${index}`);
      mkdirSync(to);
      execFileSync('npm', ['pack', from, '--pack-destination', to, '--silent'], { stdio: 'pipe' });
      const [name = ''] = readdirSync(to);
      return readFileSync(join(to, name));
    });
    assert.ok(packed[0]?.equals(packed[1] ?? Buffer.alloc(0)));
  });

  test('brings up a cluster with its demonstration in an empty folder', { timeout: 120_000 }, async () => {
    const data = join(folder, 'data');
    const args = ['up', '--demo', '--listen', '127.0.0.1:0', '--data', data, '-o', 'json', '--log-level', 'error'];
    const up = spawn(process.execPath, [program('capstan'), ...args], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const events: string[] = [];
      for await (const line of createInterface({ input: up.stdout })) {
        events.push((JSON.parse(line) as { event: string }).event);
        if (events.includes('ready')) break;
      }
      assert.deepEqual(events, ['started', 'ready']);
      const env = { ...process.env, KUBECONFIG: join(data, 'kubeconfig') };
      const { stdout } = await run(process.execPath, [program('capstan'), 'status'], { cwd: folder, env });
      assert.match(stdout, /KafkaProxy\.kroxylicious\.io/);
      assert.ok(existsSync(join(data, 'demo/crossplane/registry')), 'the packages of the demonstration were pushed');
    } finally {
      up.kill('SIGTERM');
      if (up.exitCode === null) await once(up, 'exit');
    }
    assert.equal(up.exitCode, 0);
  });
});
