import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { testIo } from '../cli/test-io.test-support.ts';
import { parseManifests, readManifests } from './read-manifests.ts';

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

  test('that cannot be read are named', async () => {
    await assert.rejects(
      readManifests(['gone.yaml'], testIo().io),
      /^CodedError: cannot read gone\.yaml: ENOENT.*; check the path/,
    );
  });
});
