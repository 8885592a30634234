import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { processIo } from '../cli/process-io.ts';
import { testIo } from '../cli/test-io.test-support.ts';
import { parseManifests, readKustomization, readManifests } from './read-manifests.ts';

const configMap = (name: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;
const namesIn = (manifests: readonly { object: { metadata: { name?: string } } }[]) =>
  manifests.map(({ object }) => object.metadata.name);

describe('manifests', () => {
  test('are documents of a file, and items of Lists, with the line where each begins', () => {
    const list = 'apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: c}}\n';
    const found = parseManifests(`${configMap('a')}---\n# nothing\n---\n${configMap('b')}---\n${list}`, 'x.yaml');
    assert.deepEqual(namesIn(found), ['a', 'b', 'c']);
    assert.deepEqual(
      found.map(({ place }) => place),
      ['x.yaml, line 1', 'x.yaml, line 7', 'x.yaml, line 11, items[0]'],
    );
  });

  test('are read as kubectl reads YAML', () => {
    const text = `${configMap('a')}data: {mode: 0644, on: yes, time: 2026-01-01T00:00:00Z, ports: 22:22, quoted: "yes"}\n`;
    const [found] = parseManifests(text, 'x.yaml');
    const data = { mode: 420, true: true, time: '2026-01-01T00:00:00Z', ports: '22:22', quoted: 'yes' };
    assert.deepEqual(found?.object['data'], data);
  });

  test('are found in folders, in the order of their names, and on standard input', async () => {
    const files = {
      '/home/user/d/b.yaml': configMap('b'),
      '/home/user/d/a.json': configMap('a'),
      '/home/user/d/c.txt': 'no',
    };
    const { io } = testIo({ files, stdin: configMap('in') });
    assert.deepEqual(namesIn(await readManifests(['d', '-'], io)), ['a', 'b', 'in']);
  });

  test('are found in all folders inside one on request', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'capstan-manifests-'));
    spawnSync('mkdir', ['-p', join(folder, 'a', 'b')]);
    writeFileSync(join(folder, 'top.yaml'), configMap('top'));
    writeFileSync(join(folder, 'a', 'b', 'deep.yaml'), configMap('deep'));
    const { io } = realIo();
    assert.deepEqual(namesIn(await readManifests([folder], io)), ['top']);
    assert.deepEqual(namesIn(await readManifests([folder], io, { isRecursive: true })), ['deep', 'top']);
    rmSync(folder, { recursive: true });
  });

  test('are read from a URL, and an answer that is not one is named', async (t) => {
    const server = createServer((asked, answer) => {
      answer.statusCode = asked.url === '/a.yaml' ? 200 : 404;
      answer.end(asked.url === '/a.yaml' ? configMap('there') : 'no');
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { io } = realIo();
    assert.deepEqual(namesIn(await readManifests([`${url}/a.yaml`], io)), ['there']);
    await assert.rejects(readManifests([`${url}/b.yaml`], io), /cannot read http.*b\.yaml: the server answered 404/);
  });

  test('are built from a kustomization', { skip: skipWithoutKubectl() }, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'capstan-kustomize-'));
    t.after(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'map.yaml'), configMap('a'));
    writeFileSync(join(folder, 'kustomization.yaml'), 'namePrefix: edge-\nresources: [map.yaml]\n');
    const { io } = realIo();
    assert.deepEqual(namesIn(await readKustomization(folder, io)), ['edge-a']);
    await assert.rejects(readKustomization(join(folder, 'none'), io), /the kustomization .*none cannot be built: /);
    const without = { ...io, execute: async () => undefined };
    await assert.rejects(readKustomization(folder, without), /neither kubectl nor kustomize is installed/);
  });

  test('a file that is not UTF-8 is refused with its name, and so is standard input of every command', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'capstan-utf8-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const latin = Buffer.from([0x61, 0x3a, 0x20, 0xe9, 0x0a]);
    writeFileSync(join(folder, 'latin.yaml'), latin);
    await assert.rejects(
      readManifests([join(folder, 'latin.yaml')], realIo().io),
      /latin\.yaml is not UTF-8; save it as UTF-8/,
    );
    const program = join(import.meta.dirname, '../programs/crossplane.ts');
    const ran = spawnSync(process.execPath, [program, 'convert', 'deployment-runtime', '-f', '-'], { input: latin });
    assert.notEqual(ran.status, 0);
    assert.equal(ran.stdout.toString(), '');
    assert.match(ran.stderr.toString(), /standard input is not UTF-8; save it as UTF-8/);
  });

  test('manifests without a name of their own are refused with the reason', () => {
    const generated = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n';
    assert.throws(() => parseManifests(generated, 'x.yaml'), /x\.yaml, line 1 .*generateName .* give it a name/);
    const unnamed = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n';
    assert.throws(() => parseManifests(unnamed, 'x.yaml'), /it has no metadata\.name/);
  });

  test('manifests that cannot be read are named', async () => {
    await assert.rejects(
      readManifests(['gone.yaml'], testIo().io),
      /^CodedError: cannot read gone\.yaml: ENOENT.*; check the path/,
    );
  });
});

/** The io of this process, without its signals. */
function realIo() {
  const emitter = Object.create(process, { on: { value: () => undefined } }) as NodeJS.Process;
  return processIo(emitter);
}

function skipWithoutKubectl(): string | false {
  return spawnSync('kubectl', ['version', '--client']).status === 0 ? false : 'kubectl is not installed';
}
