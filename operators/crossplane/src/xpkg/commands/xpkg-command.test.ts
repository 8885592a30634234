import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { systemClock } from '@capstan/kube';
import { assertReport, createRandom, createTestCluster } from '@capstan/testing';
import { parse, parseAllDocuments } from 'yaml';
import { REPORT_SCHEMAS } from '../../commands/report-schemas.ts';
import { Provider } from '../../kinds/index.ts';
import { createRegistryClient } from '../../oci/client.ts';
import { digestOf } from '../../oci/digest.ts';
import { parseReference } from '../../oci/reference.ts';
import { createCrossplane } from '../../operator.ts';
import { startRegistry } from '../../registry/index.ts';
import { tarFile, writeTar } from '../archive/tar-writer.ts';
import { bytesOf } from '../image.test-support.ts';
import { globOf } from './source-files.ts';
import { xpkgCommand } from './xpkg-command.ts';

const root = mkdtempSync(join(tmpdir(), 'capstan-xpkg-'));
const seen: string[] = [];
const registry = await startRegistry({
  access: { type: 'basic', users: { me: 'open sesame' } },
  onRequest: ({ method, path }) => void seen.push(`${method} ${path}`),
});
const client = createRegistryClient({ retries: 0 });
after(async () => {
  await client.close();
  await registry.close();
  rmSync(root, { recursive: true });
});

/** The command in a folder of its own files. */
async function run(cwd: string, ...argv: string[]) {
  return runWith({ cwd }, ...argv);
}

async function runWith(more: object, ...argv: string[]) {
  let [stdout, stderr] = ['', ''];
  const io = {
    stdout: (text: string) => void (stdout += text),
    stderr: (text: string) => void (stderr += text),
    env: { DOCKER_CONFIG: join(root, 'docker') },
    cwd: root,
    signal: new AbortController().signal,
    files: { read: () => Promise.reject(new Error('no files')) },
    ...more,
  };
  const code = await xpkgCommand(argv, io);
  return { code, stdout, stderr };
}

function folder(name: string, files: Readonly<Record<string, string>>): string {
  const path = join(root, name);
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(path, file, '..'), { recursive: true });
    writeFileSync(join(path, file), text);
  }
  return path;
}

const META = `apiVersion: meta.pkg.crossplane.io/v1
kind: Provider
metadata: {name: provider-nop}
spec:
  crossplane: {version: ">=v1.14"}
  dependsOn: [{function: example.org/f, version: ">=1"}]
`;
const CRD = 'apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.x}\n';
const auths = { [registry.address]: { auth: Buffer.from('me:open sesame').toString('base64') } };
folder('docker', { 'config.json': JSON.stringify({ auths }) });
const layer = await bytesOf(writeTar([tarFile('bin/x', 'program')]));
const archive = async (architecture: string) =>
  bytesOf(
    writeTar([
      tarFile('manifest.json', JSON.stringify([{ Config: 'c', Layers: ['l'] }])),
      tarFile(
        'c',
        JSON.stringify({ architecture, os: 'linux', rootfs: { type: 'layers', diff_ids: [digestOf(layer)] } }),
      ),
      tarFile('l', layer),
    ]),
  );

describe('xpkg build', () => {
  test('makes a file of the folder, named after the package and its digest, twice the same', async () => {
    const cwd = folder('plain', { 'crossplane.yaml': META, 'crds/a.yaml': CRD, 'README.md': 'no', 'empty.yaml': '' });
    const { code, stdout, stderr } = await run(cwd, 'build');
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^provider-nop-[0-9a-f]{12}\.xpkg\n$/);
    assert.match(stderr, /^Provider provider-nop: 1 objects, sha256:/);
    await run(cwd, 'build', '-o', 'again.xpkg');
    assert.ok(readFileSync(join(cwd, stdout.trim())).equals(readFileSync(join(cwd, 'again.xpkg'))));
    assert.deepEqual(
      readdirSync(cwd).filter((name) => name.endsWith('.tmp')),
      [],
    );
  });

  test('takes the folder, the name, examples and what to leave out', async () => {
    const cwd = folder('options', {
      'package/crossplane.yaml': META,
      'package/x/secret.yaml': 'apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n',
      'package/examples/e.yaml': 'kind: Anything\n',
    });
    const refused = await run(cwd, 'build', '-f', 'package');
    assert.equal(refused.code, 1);
    assert.match(
      refused.stderr,
      /Secret "s" \(v1\) at x\/secret.yaml, line 1 is a kind that a Provider package may not hold/,
    );
    const built = await run(cwd, 'build', '--package-root=package', '--ignore', 'none.yaml,x/*.yaml', '--name', 'mine');
    assert.equal(built.code, 0, built.stderr);
    const shown = await run(cwd, 'inspect', 'package/mine.xpkg', '-o', 'json');
    const { layers } = JSON.parse(shown.stdout) as { layers: { mark: string }[] };
    assert.deepEqual(
      layers.map(({ mark }) => mark),
      ['base', 'upbound'],
    );
  });

  test('puts a runtime below the package', async () => {
    const cwd = folder('runtime', { 'crossplane.yaml': META });
    writeFileSync(join(cwd, 'image.tar'), await archive('arm64'));
    const built = await run(cwd, 'build', '--embed-runtime-image-tarball', 'image.tar', '-o', 'p.xpkg');
    assert.equal(built.code, 0, built.stderr);
    const { stdout } = await run(cwd, 'inspect', 'p.xpkg');
    assert.match(stdout, /Package: +Provider provider-nop\n/);
    assert.match(
      stdout,
      /Size: +\d+ bytes in 2 layers\nPlatform: +linux\/arm64\nFound by: +annotation\nCrossplane: +>=v1.14\n/,
    );
    assert.match(stdout, /Depends on:\n {2}Function example.org\/f >=1\n/);
  });

  for (const [argv, code, message] of [
    [['build', '-f', 'nowhere'], 1, /nowhere: it is not a folder/],
    [['build', '--embed-runtime-image-tarball', 'absent.tar'], 1, /cannot read .*absent.tar/],
    [['build', '--embed-runtime-image-tarball', 'a', '--embed-runtime-image', 'b'], 2, /do not go together/],
    [['build', '-o', 'nowhere/x.xpkg'], 1, /cannot write .*nowhere/],
    [['build', 'extra'], 2, /too few or too many arguments; write crossplane xpkg build/],
    [['build', '--nam', 'x'], 2, /has no flag --nam/],
    [['build', '-o'], 2, /-o needs a value/],
    [['inspect', 'x.xpkg'], 1, /cannot read .*x.xpkg: ENOENT/],
    [['inspect', 'x', '-o', 'xml'], 2, /-o cannot be "xml"; use one of table, wide, json, yaml, name, text/],
    [['push', 'UPPER/case:v1'], 1, /does not name an image/],
    [['push', '127.0.0.1:1/a:v1'], 1, /has no .xpkg file; name the file with -f/],
    [['bild'], 2, /no command "bild"; use one of build, push, inspect/],
    [[], 2, /needs a command/],
  ] as const)
    test(`says what is wrong with: ${argv.join(' ')}`, async () => {
      const cwd = folder('wrong', { 'crossplane.yaml': META });
      const { code: got, stderr, stdout } = await run(cwd, ...argv);
      assert.match(stderr, message);
      assert.equal(got, code);
      assert.equal(stdout, '');
    });

  test('and all others show help', async () => {
    for (const argv of [['--help'], ['build', '--help'], ['push', '-h'], ['inspect', '--help']]) {
      const { code, stdout } = await run(root, ...argv);
      assert.equal(code, 0);
      assert.match(stdout, /^Usage: crossplane xpkg/);
    }
  });
});

describe('xpkg push', () => {
  test('publishes the only package of the folder, with the credentials of docker login', async () => {
    const cwd = folder('push', { 'crossplane.yaml': META, 'a.yaml': CRD });
    await run(cwd, 'build');
    const target = `${registry.address}/acme/provider-nop:v1.0.0`;
    seen.length = 0;
    const pushed = await run(cwd, 'push', target);
    assert.equal(pushed.code, 0, pushed.stderr);
    assert.match(pushed.stdout, new RegExp(`^${target}@sha256:[0-9a-f]{64}\n$`));
    // The tag comes last.
    assert.equal(seen.at(-1), 'PUT /v2/acme/provider-nop/manifests/v1.0.0');
    const shown = await run(cwd, 'inspect', target, '--output=yaml');
    const inspection = parse(shown.stdout) as { digest: string; foundBy: string; objects: unknown[] };
    assertReport(REPORT_SCHEMAS['crossplane xpkg inspect'], inspection);
    assert.match((await run(cwd, 'inspect', target, '-o', 'name')).stdout, /^[a-z]+\.[a-z0-9.]+\/[a-z.]+\n$/);
    assert.match((await run(cwd, 'inspect', target, '-o', 'wide')).stdout, /\nLayers:\n {2}sha256:/);
    assert.equal(`${target}@${inspection.digest}\n`, pushed.stdout);
    assert.deepEqual([inspection.foundBy, inspection.objects.length], ['annotation', 1]);
    assert.doesNotMatch(`${pushed.stdout}${pushed.stderr}${shown.stdout}`, /sesame/);
    // The same again sends no layer.
    seen.length = 0;
    await run(cwd, 'push', target);
    assert.ok(!seen.some((line) => line.startsWith('POST')));
  });

  test('publishes one index for several platforms', async () => {
    const cwd = folder('multi', { 'crossplane.yaml': META });
    for (const architecture of ['amd64', 'arm64']) {
      writeFileSync(join(cwd, 'image.tar'), await archive(architecture));
      await run(cwd, 'build', '--embed-runtime-image-tarball', 'image.tar', '-o', `${architecture}.xpkg`);
    }
    const ambiguous = await run(cwd, 'push', `${registry.address}/acme/multi:v1`);
    assert.match(ambiguous.stderr, /has 2 .xpkg files; name the file with -f/);
    const pushed = await run(cwd, 'push', '-f', 'amd64.xpkg,arm64.xpkg', `${registry.address}/acme/multi:v1`);
    assert.equal(pushed.code, 0, pushed.stderr);
    const keychain = () => ({ type: 'basic', username: 'me', password: 'open sesame' }) as const;
    const { body } = await client.manifest(parseReference(`${registry.address}/acme/multi:v1`), { keychain });
    const { manifests } = JSON.parse(body.toString()) as { manifests: { platform: { architecture: string } }[] };
    assert.deepEqual(
      manifests.map(({ platform }) => platform.architecture),
      ['amd64', 'arm64'],
    );
    const same = await run(cwd, 'push', '-f', 'amd64.xpkg', '-f', 'amd64.xpkg', `${registry.address}/acme/multi:v1`);
    assert.match(same.stderr, /are for the same platform/);
  });

  test('does not publish what is no package', async () => {
    const cwd = folder('none', {});
    mkdirSync(cwd, { recursive: true });
    writeFileSync(join(cwd, 'image.xpkg'), await archive('amd64'));
    const { code, stderr } = await run(cwd, 'push', `${registry.address}/acme/none:v1`);
    assert.equal(code, 1);
    assert.match(stderr, /is not a package: it has no package.yaml/);
  });
});

test('a runtime image can come from its registry', async () => {
  const cwd = folder('remote', { 'crossplane.yaml': META });
  writeFileSync(join(cwd, 'image.tar'), await archive('amd64'));
  await run(cwd, 'build', '--embed-runtime-image-tarball', 'image.tar', '-o', 'base.xpkg');
  const base = `${registry.address}/acme/base:v1`;
  await run(cwd, 'push', '-f', 'base.xpkg', base);
  folder('remote', { 'crossplane.yaml': `# newer\n${META}` });
  const built = await run(cwd, 'build', '--embed-runtime-image', base, '-o', 'top.xpkg');
  assert.equal(built.code, 0, built.stderr);
  // The base was a package too; the new one takes its place.
  const pushed = await run(cwd, 'push', '-f', 'top.xpkg', `${registry.address}/acme/top:v1`);
  assert.equal(pushed.code, 0, pushed.stderr);
  const shown = await run(cwd, 'inspect', `${registry.address}/acme/top:v1`, '-o', 'json');
  const { layers } = JSON.parse(shown.stdout) as { layers: { mark?: string }[] };
  assert.deepEqual(
    layers.map(({ mark }) => mark),
    [undefined, undefined, 'base'],
  );
});

test('patterns of files stay within one folder', () => {
  for (const [pattern, name, matches] of [
    ['*.yaml', 'a.yaml', true],
    ['*.yaml', 'x/a.yaml', false],
    ['x/*.yaml', 'x/a.yaml', true],
    ['./a.yaml', 'a.yaml', true],
    ['?.yaml', 'ab.yaml', false],
    ['a.yaml', 'abyaml', false],
    ['****.yaml', 'aaaa.yaml', true],
  ] as const)
    assert.equal(globOf(pattern).test(name), matches, `${pattern} ${name}`);
});

test('extract writes the objects of a package file as Crossplane keeps them', async () => {
  const cwd = folder('extract', { 'crossplane.yaml': META, 'crds/a.yaml': CRD });
  assert.equal((await run(cwd, 'build', '-o', 'a.xpkg')).code, 0);
  const { code, stdout, stderr } = await run(cwd, 'extract', '--from-xpkg', 'a.xpkg', '-o', 'cache.gz');
  assert.deepEqual([code, stderr], [0, '']);
  assert.equal(stdout, `${join(cwd, 'cache.gz')}\n`);
  const kinds = parseAllDocuments(gunzipSync(readFileSync(join(cwd, 'cache.gz'))).toString('utf8')).map(
    (document) => (document.toJS() as { kind: string }).kind,
  );
  assert.deepEqual(kinds, ['Provider', 'CustomResourceDefinition']);
  assert.equal((await run(cwd, 'extract')).code, 2);
  assert.match((await run(cwd, 'extract', 'crds/a.yaml')).stderr, /^error: /);
});

test('install creates a package in the cluster and update gives it another version', async (t) => {
  const cluster = await createTestCluster({
    clock: systemClock,
    random: createRandom(1),
    operators: [createCrossplane()],
  });
  t.after(() => cluster.close());
  const io = { connect: () => Promise.resolve({ ...cluster.transport(), namespace: 'default', context: 'test' }) };
  const image = 'registry.example/team/provider-nop';
  const created = await runWith(io, 'install', 'provider', `${image}:v1`, '--runtime-config=debug', '-m', '-r', '3');
  assert.deepEqual(created, { code: 0, stdout: 'provider.pkg.crossplane.io/team-provider-nop created\n', stderr: '' });
  const found = await cluster.client.get(Provider, { name: 'team-provider-nop' });
  assert.deepEqual(
    [found.spec.package, found.spec.revisionActivationPolicy, found.spec.revisionHistoryLimit],
    [`${image}:v1`, 'Manual', 3],
  );
  assert.equal(found.spec.runtimeConfigRef?.name, 'debug');
  assert.match((await runWith(io, 'install', 'provider', `${image}:v1`)).stderr, /already exists/);
  assert.equal(
    (await runWith(io, 'update', 'provider', `${image}:v2`)).stdout,
    'provider.pkg.crossplane.io/team-provider-nop updated\n',
  );
  assert.equal((await cluster.client.get(Provider, { name: 'team-provider-nop' })).spec.package, `${image}:v2`);
  assert.match((await runWith(io, 'update', 'provider', `${image}:v2`, 'other')).stderr, /not found/);
  assert.equal((await runWith(io, 'install', 'composition', image)).code, 2);
});
