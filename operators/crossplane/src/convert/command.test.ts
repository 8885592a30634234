import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { convertCommand } from './command.ts';
import { readInputs } from './inputs.ts';
import { systemFiles } from './io.ts';

const CONFIG =
  'apiVersion: pkg.crossplane.io/v1alpha1\nkind: ControllerConfig\nmetadata: {name: debug}\nspec: {replicas: 2}\n';
const PROVIDER =
  'apiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: p}\nspec:\n  package: x\n  controllerConfigRef: {name: debug}\n';
const OTHER = 'apiVersion: v1\nkind:   Pod\n';

/** Runs a command in a folder in memory. Its output files are in `files`. */
async function run(argv: readonly string[], given: Record<string, string> = {}, stdin = '') {
  const files = { ...given };
  const printed = { out: '', err: '' };
  const missing = (path: string) => Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' });
  const at = (path: string) => path.replace(/^\/home\//, '');
  const code = await convertCommand(argv, {
    stdout: (text) => void (printed.out += text),
    stderr: (text) => void (printed.err += text),
    cwd: '/home',
    files: {
      async read(path) {
        const text = files[at(path)];
        if (text === undefined) throw missing(path);
        return text;
      },
      async list(path) {
        if (files[at(path)] !== undefined) return undefined;
        const prefix = path === '/home' ? '' : `${at(path)}/`;
        const names = Object.keys(files).filter((name) => name.startsWith(prefix));
        if (names.length === 0) throw missing(path);
        return [...new Set(names.map((name) => name.slice(prefix.length).split('/')[0] ?? ''))].toSorted();
      },
      stdin: async () => stdin,
      async write(path, text) {
        files[at(path)] = text;
      },
    },
  });
  return { code, files, ...printed };
}

test('standard input is converted to standard output, the report goes to standard error', async () => {
  for (const argv of [[], ['-f', '-'], ['-'], ['-f', '-', '-o', '-']]) {
    const { code, out, err } = await run(['deployment-runtime', ...argv], {}, `${CONFIG}---\n${PROVIDER}`);
    assert.equal(code, 0);
    assert.match(out, /kind: DeploymentRuntimeConfig\n[^]*---\n[^]*runtimeConfigRef: \{apiVersion/);
    assert.equal(err, '');
  }
});

test('several files go to standard output as one stream', async () => {
  const { out } = await run(['deployment-runtime', '-f', 'a.yaml', '-f', 'b.yaml'], {
    'a.yaml': OTHER.trimEnd(),
    'b.yaml': `---\n${OTHER}`,
  });
  assert.equal(out, `${OTHER}---\n${OTHER}`);
});

test('a folder is mirrored below another, files without manifests left out', async () => {
  const given = {
    'in/a.yaml': CONFIG,
    'in/sub/p.yml': PROVIDER,
    'in/README.md': 'hi',
    'in/.git/x.yaml': 'x',
    'in/o.json': '{}',
  };
  const { code, files } = await run(['deployment-runtime', '-f', 'in', '-o', 'out'], given);
  assert.equal(code, 0);
  assert.deepEqual(
    Object.keys(files).filter((name) => name.startsWith('out/')),
    ['out/a.yaml', 'out/o.json', 'out/sub/p.yml'],
  );
  assert.match(files['out/sub/p.yml'] ?? '', /runtimeConfigRef/);
  assert.equal(files['out/o.json'], '{}');
  assert.equal(files['in/a.yaml'], CONFIG);
});

test('one file goes to a file, or into a folder', async () => {
  const given = { 'a.yaml': CONFIG, 'there/x': '' };
  const converted = (await run(['deployment-runtime', 'a.yaml', '-o', 'b.yaml'], given)).files['b.yaml'];
  assert.match(converted ?? '', /DeploymentRuntimeConfig/);
  assert.equal((await run(['deployment-runtime', 'a.yaml', '-o', 'there'], given)).files['there/a.yaml'], converted);
  assert.equal((await run(['deployment-runtime', 'a.yaml', '-o', 'new/'], given)).files['new/a.yaml'], converted);
});

test('an input is not overwritten unless asked for', async () => {
  const given = { 'in/a.yaml': CONFIG, 'in/o.yaml': OTHER };
  for (const argv of [
    ['-f', 'in/a.yaml', '-o', 'in/a.yaml'],
    ['-f', 'in', '-o', 'in'],
  ]) {
    const { code, err, files } = await run(['deployment-runtime', ...argv], given);
    assert.equal(code, 1);
    assert.match(err, /would be overwritten; .*--in-place/);
    assert.deepEqual(files, given);
  }
  const { code, files } = await run(['deployment-runtime', '-f', 'in', '--in-place'], given);
  assert.equal(code, 0);
  assert.match(files['in/a.yaml'] ?? '', /DeploymentRuntimeConfig/);
  assert.equal(files['in/o.yaml'], OTHER);
  const twice = await run(['deployment-runtime', '-f', 'in', '--in-place', '--strict'], files);
  assert.deepEqual(twice.files, files);
  assert.equal(twice.code, 0);
});

test('warnings end with 2 under --strict and with 0 otherwise; the result is written in both cases', async () => {
  for (const [strict, wanted] of [
    [[], 0],
    [['--strict'], 2],
  ] as const) {
    const { code, err, out } = await run(['deployment-runtime', '-f', 'p.yaml', ...strict], { 'p.yaml': PROVIDER });
    assert.equal(code, wanted);
    assert.match(err, /^warning: p\.yaml:1: Provider\/p: refers to the ControllerConfig debug/);
    assert.equal(out, PROVIDER);
  }
});

test('a dry run writes the report alone', async () => {
  const { out, err, files, code } = await run(['deployment-runtime', '-f', 'a.yaml', '-o', 'b.yaml', '--dry-run'], {
    'a.yaml': CONFIG,
  });
  assert.equal(code, 0);
  assert.equal(out, '');
  assert.match(err, /no package in the input refers to it/);
  assert.deepEqual(Object.keys(files), ['a.yaml']);
});

for (const [title, argv, code, detail] of [
  ['nothing', [], 2, /^Usage/],
  ['help', ['--help'], 0, /^Usage/],
  ['help of it', ['deployment-runtime', '-h'], 0, /^Usage/],
  ['something else', ['pipeline'], 2, /nothing to convert to called "pipeline"/],
  ['an unknown flag', ['deployment-runtime', '--nme'], 2, /--nme/],
  ['a file that is not there', ['deployment-runtime', '-f', 'no.yaml'], 1, /cannot read no\.yaml/],
  ['a folder without manifests', ['deployment-runtime', '-f', 'docs'], 1, /docs holds no YAML/],
  [
    'two files into one',
    ['deployment-runtime', 'a.yaml', 'b.yaml', '-o', 'c.yaml'],
    1,
    /c\.yaml is a file and the input has 2/,
  ],
  ['two of one name', ['deployment-runtime', 'a.yaml', 'd/a.yaml', '-o', 'out/'], 1, /two inputs would be written to/],
  ['in place and elsewhere', ['deployment-runtime', 'a.yaml', '-o', 'x', '--in-place'], 2, /exclude each other/],
  ['a stage that is none', ['deployment-runtime', '--runtime-config-stage', 'gamma'], 2, /alpha, beta, GA/],
  ['broken YAML', ['deployment-runtime', 'broken.yaml', '-o', 'x.yaml'], 1, /broken\.yaml:1 cannot be read/],
] as const) {
  test(`${title} ends with ${code}`, async () => {
    const given = { 'a.yaml': OTHER, 'b.yaml': OTHER, 'd/a.yaml': OTHER, 'docs/README.md': '', 'broken.yaml': '{]' };
    const ran = await run(argv, given);
    assert.equal(ran.code, code);
    assert.match(ran.out + ran.err, detail);
    assert.deepEqual(ran.files, given);
  });
}

test('a shorter result leaves nothing of a longer file behind on a real machine', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'capstan-convert-'));
  try {
    await writeFile(join(folder, 'in.yaml'), CONFIG);
    await writeFile(join(folder, 'out.yaml'), 'x'.repeat(10_000));
    const files = systemFiles(Readable.from([]));
    const io = { stdout: () => undefined, stderr: () => undefined, cwd: folder, files };
    assert.equal(await convertCommand(['deployment-runtime', 'in.yaml', '-o', 'out.yaml'], io), 0);
    assert.equal(await convertCommand(['deployment-runtime', '-f', '.', '-o', 'deep/er'], io), 0);
    const text = await readFile(join(folder, 'out.yaml'), 'utf8');
    assert.ok(text.startsWith('apiVersion: pkg.crossplane.io/v1beta1') && text.length < 400);
    assert.equal(await readFile(join(folder, 'deep/er/out.yaml'), 'utf8'), text);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a spec that is no object is refused with its place', async () => {
  const { code, err, files } = await run(['deployment-runtime', '--in-place', '-f', 'a.yaml'], {
    'a.yaml': CONFIG.replace('spec: {replicas: 2}', 'spec: [1]'),
  });
  assert.notEqual(code, 0);
  assert.match(err, /a\.yaml:1: spec of the ControllerConfig must be an object; correct it there/);
  assert.match(files['a.yaml'] ?? '', /spec: \[1\]/);
});

for (const [what, from, to, message] of [
  ['metadata', 'metadata: {name: debug}', 'metadata: [debug]', 'metadata of the ControllerConfig must be an object'],
  ['a name', 'metadata: {name: debug}', 'metadata: {}', 'metadata.name of the ControllerConfig must be a text'],
] as const)
  test(`${what} of another type is refused with its place`, async () => {
    const { code, err } = await run(['deployment-runtime', '-f', 'a.yaml'], { 'a.yaml': CONFIG.replace(from, to) });
    assert.notEqual(code, 0);
    assert.ok(err.includes(`a.yaml:1: ${message}; correct it there`), err);
  });

test('a reference that is no object is refused with its place', async () => {
  const provider =
    'apiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: p}\nspec: {controllerConfigRef: fast}\n';
  const { code, err } = await run(['deployment-runtime', '-f', 'p.yaml'], { 'p.yaml': provider });
  assert.notEqual(code, 0);
  assert.match(err, /p\.yaml:1: spec\.controllerConfigRef of the Provider must be an object with a name/);
});

test('a file that is not UTF-8 is refused, not written back as something else', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'capstan-convert-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'latin.yaml');
  await writeFile(path, Buffer.from([0x61, 0x3a, 0x20, 0xe9, 0x0a]));
  await assert.rejects(systemFiles(Readable.from([])).read(path), /latin\.yaml is not UTF-8; save it as UTF-8/);
  const io = { stdout() {}, stderr() {}, cwd: folder, files: systemFiles(Readable.from([])) };
  await assert.rejects(readInputs(['latin.yaml'], io), /^CodedError: \S+ is not UTF-8; save it as UTF-8$/);
  await assert.rejects(systemFiles(Readable.from([Buffer.from([0xe9])])).stdin(), /standard input is not UTF-8/);
});
