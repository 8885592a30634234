import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { indexedPath, managerOfPath, yamlLines, yamlText } from './yaml-lines.ts';

describe('yamlLines', () => {
  it('writes maps, lists, lists of maps and empty values', () => {
    const text = yamlText(
      yamlLines({
        kind: 'HTTPProxy',
        metadata: { name: 'web', labels: {} },
        spec: {
          replicas: 2,
          on: true,
          hosts: ['a.test', '10:30'],
          routes: [{ prefix: '/', services: [{ name: 'x' }] }],
        },
        gone: undefined,
        none: null,
      }),
    );
    assert.equal(
      text,
      `kind: HTTPProxy
metadata:
  name: web
  labels: {}
spec:
  replicas: 2
  "on": true
  hosts:
  - a.test
  - "10:30"
  routes:
  - prefix: /
    services:
    - name: x
none: null
`,
    );
  });

  it('quotes text that would be another type or another line', () => {
    const text = yamlText(
      yamlLines({ a: 'true', b: '1', c: 'x\ny', d: '<img src=x onerror=alert(1)>', e: 'a:80', f: '' }),
    );
    assert.equal(text, 'a: "true"\nb: "1"\nc: "x\\ny"\nd: "<img src=x onerror=alert(1)>"\ne: a:80\nf: ""\n');
  });

  it('each line has the path of its field', () => {
    const paths = yamlLines({ spec: { routes: [{ prefix: '/' }] } }).map(({ path, section }) => [path, section]);
    assert.deepEqual(paths, [
      ['spec', 'spec'],
      ['spec.routes', 'spec'],
      ['spec.routes[0].prefix', 'spec'],
    ]);
  });
});

describe('managerOfPath', () => {
  it('names the owner of a field, of a list as a whole, and of a parent with one owner', () => {
    const manager = managerOfPath([
      { path: 'spec.routes', manager: 'kubectl' },
      { path: 'status.a', manager: 'capstan' },
      { path: 'status.b', manager: 'capstan' },
      { path: 'metadata.labels.x', manager: 'kubectl' },
      { path: 'metadata.labels.y', manager: 'helm' },
    ]);
    assert.equal(manager('spec.routes'), 'kubectl');
    assert.equal(manager('spec.routes[0].prefix'), 'kubectl');
    assert.equal(manager('status'), 'capstan');
    assert.equal(manager('metadata.labels'), undefined);
    assert.equal(manager('metadata.labels.y'), 'helm');
    assert.equal(manager('kind'), undefined);
  });
});

describe('indexedPath', () => {
  const object = { status: { conditions: [{ type: 'Valid' }, { type: 'Ready' }] } };
  it('names an item of a list by its index', () => {
    assert.equal(indexedPath(object, 'status.conditions[{"type":"Ready"}].reason'), 'status.conditions[1].reason');
  });
  it('leaves the path of an item that is gone as it is', () => {
    assert.equal(
      indexedPath(object, 'status.conditions[{"type":"Old"}].reason'),
      'status.conditions[{"type":"Old"}].reason',
    );
    assert.equal(indexedPath(object, 'spec.a'), 'spec.a');
  });
});
