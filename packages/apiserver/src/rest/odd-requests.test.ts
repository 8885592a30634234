// Requests that are unusual and right, or unusual and wrong, each answered as kube-apiserver does.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { readJson } from '../body/json-text.ts';
import { CONFIG_MAPS, configMap, DEPLOYMENTS, deployment, testServer } from '../server.test-support.ts';

const NAMESPACE = '/api/v1/namespaces/default';
const AUTHORIZATION = '/apis/authorization.k8s.io/v1';
const KEY = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
const APPLY = { contentType: 'application/apply-patch+yaml' };

const MERGE_PATCH = { contentType: 'application/merge-patch+json' };

describe('odd requests', () => {
  it('the version is served with and without a slash', async () => {
    const test = testServer();
    assert.equal((await test.send('GET', '/version/')).status, 200);
  });

  it('health is reported check by check when asked', async () => {
    const test = testServer();
    const { body } = await test.send('GET', '/healthz', undefined, { query: { verbose: '' } });
    assert.equal(body, '[+]ping ok\n[+]log ok\n[+]storage ok\nhealthz check passed\n');
  });

  it('a timeout that is no duration is refused, for everything but a watch', async () => {
    const test = testServer();
    for (const [timeout, status] of [
      ['30s', 200],
      ['0s', 200],
      ['soon', 400],
    ] as const) {
      assert.equal((await test.send('GET', CONFIG_MAPS, undefined, { query: { timeout } })).status, status, timeout);
    }
    const { message } = await test.refused('GET', CONFIG_MAPS, undefined, { query: { timeout: 'soon' } });
    assert.match(message ?? '', /^invalid timeout specified in the request URL/);
  });

  it('an empty option is a value, as every other one', async () => {
    const { ok, send, refused, watch } = testServer();
    await ok('POST', CONFIG_MAPS, configMap('a'));
    const written = await refused('POST', CONFIG_MAPS, configMap('b'), { query: { dryRun: '' } });
    assert.equal(written.code, 422);
    assert.match(written.message ?? '', /dryRun: Unsupported value: \[""\]: supported values: "All"/);
    assert.equal((await send('DELETE', `${CONFIG_MAPS}/a`, undefined, { query: { dryRun: '' } })).status, 422);
    assert.equal(
      (await send('DELETE', `${CONFIG_MAPS}/a`, undefined, { query: { gracePeriodSeconds: '' } })).status,
      400,
    );
    for (const name of ['limit', 'timeoutSeconds']) {
      const { message } = await refused('GET', CONFIG_MAPS, undefined, { query: { [name]: '' } });
      assert.equal(message, 'strconv.ParseInt: parsing "": invalid syntax');
    }
    const { message } = await refused('GET', CONFIG_MAPS, undefined, { query: { limit: '9223372036854775808' } });
    assert.match(message ?? '', /value out of range$/);
    assert.equal((await (await watch(CONFIG_MAPS, { watch: '' })).take()).length, 1);
    assert.equal((await send('GET', CONFIG_MAPS, undefined, { query: { watch: 'FALSE' } })).status, 200);
  });

  it('a patch that removes the resourceVersion is refused where an update needs one', async () => {
    const { ok, refused } = testServer();
    const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
    await ok('POST', leases, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'a' },
      spec: {},
    });
    const patch = { metadata: { resourceVersion: null, labels: { a: 'b' } } };
    const more = { contentType: 'application/merge-patch+json' };
    const { code, message } = await refused('PATCH', `${leases}/a`, patch, more);
    assert.equal(code, 422);
    assert.match(message ?? '', /metadata.resourceVersion: Invalid value: 0: must be specified for an update/);
  });

  it('a delete with a body ignores the options of its query', async () => {
    const { ok, send } = testServer();
    await ok('POST', CONFIG_MAPS, configMap('a'));
    assert.equal((await send('DELETE', `${CONFIG_MAPS}/a`, {}, { query: { dryRun: 'All' } })).status, 200);
    assert.equal((await send('GET', `${CONFIG_MAPS}/a`)).status, 404);
  });

  it('an apply needs a name only where it creates', async () => {
    const { ok, refused } = testServer();
    const { metadata: _, ...nameless } = configMap('a', { x: '1' });
    const query = { fieldManager: 'me' };
    const { code, message } = await refused('PATCH', `${CONFIG_MAPS}/a`, nameless, { ...APPLY, query });
    assert.equal(code, 400);
    assert.match(
      message ?? '',
      /^the name of the object \(a based on URL\) was undeterminable: name must be provided$/,
    );
    await ok('POST', CONFIG_MAPS, configMap('a'));
    assert.deepEqual((await ok('PATCH', `${CONFIG_MAPS}/a`, nameless, { ...APPLY, query }))['data'], { x: '1' });
  });

  it('a Table comes in the version that was asked for', async () => {
    const test = testServer();
    for (const version of ['v1', 'v1beta1']) {
      const accept = `application/json;as=Table;g=meta.k8s.io;v=${version}`;
      const table = await test.ok('GET', CONFIG_MAPS, undefined, { accept });
      assert.deepEqual([table.kind, table.apiVersion], ['Table', `meta.k8s.io/${version}`]);
    }
  });

  const posted: [path: string, kind: string, wrong: object, field: string][] = [
    [`${NAMESPACE}/pods/a/eviction`, 'Eviction', { deleteOptions: 1 }, 'Eviction.deleteOptions'],
    [`${NAMESPACE}/pods/a/binding`, 'Binding', { target: 1 }, 'Binding.target'],
    [`${NAMESPACE}/serviceaccounts/a/token`, 'TokenRequest', { spec: 1 }, 'TokenRequest.spec'],
    [
      `${AUTHORIZATION}/selfsubjectaccessreviews`,
      'SelfSubjectAccessReview',
      { spec: 1 },
      'SelfSubjectAccessReview.spec',
    ],
    [`${NAMESPACE}/configmaps`, 'ConfigMap', { data: 1 }, 'ConfigMap.data'],
  ];
  for (const [path, kind, wrong, field] of posted) {
    it(`a body of another kind or with wrong types is no ${kind}`, async () => {
      const { refused } = testServer({ serviceAccountKey: KEY });
      const message = async (body: object, query = {}) => (await refused('POST', path, body, { query })).message ?? '';
      assert.match(
        await message(wrong),
        new RegExp(`^${kind} in version "v1" .* into Go struct field ${field} of type`),
      );
      assert.match(
        await message({ apiVersion: 'v1', kind: 'Secret' }),
        new RegExp(`^Secret in .* as a ${kind}: converting \\(v1.Secret\\) to \\(\\w+.${kind}\\): unknown conversion$`),
      );
      assert.match(
        await message({ apiVersion: 'apps/v1', kind: 'Secret' }),
        /: no kind "Secret" is registered for version "apps\/v1" /,
      );
      assert.match(
        await message({ other: 1 }, { fieldValidation: 'Strict' }),
        /strict decoding error: unknown field "other"$/,
      );
    });
  }

  it('a review with metadata, or that asks two things, is refused for both', async () => {
    const { refused } = testServer();
    const both = { resourceAttributes: { verb: 'get' }, nonResourceAttributes: { path: '/' } };
    const status = await refused('POST', `${AUTHORIZATION}/subjectaccessreviews`, {
      metadata: { name: 'x' },
      spec: both,
    });
    assert.deepEqual(
      status.details?.causes?.map(({ field }) => field),
      ['spec.nonResourceAttributes', 'spec.user', 'metadata'],
    );
  });

  it('a deletion with a grace period that is no number, or with a body of another kind, deletes nothing', async () => {
    const { ok, refused } = testServer();
    await ok('POST', CONFIG_MAPS, configMap('a'));
    const period = await refused('DELETE', `${CONFIG_MAPS}/a`, undefined, { query: { gracePeriodSeconds: 'x' } });
    assert.equal(period.message, 'strconv.ParseInt: parsing "x": invalid syntax');
    const pod = await refused('DELETE', `${CONFIG_MAPS}/a`, { apiVersion: 'v1', kind: 'Pod' });
    assert.match(pod.message ?? '', /^no kind "Pod" is registered for version "v1" in scheme/);
    await ok('GET', `${CONFIG_MAPS}/a`);
  });

  it('a deletion of a collection is refused for its selection first, then for its body, and deletes nothing', async () => {
    const { ok, refused } = testServer();
    await ok('POST', CONFIG_MAPS, configMap('a'));
    const odd = { kind: 'Odd' };
    const field = await refused('DELETE', CONFIG_MAPS, odd, { query: { fieldSelector: 'spec.odd=1' } });
    assert.match(field.message ?? '', /^"spec\.odd" is not a known field selector/);
    const number = await refused('DELETE', CONFIG_MAPS, odd, { query: { limit: 'x' } });
    assert.match(number.message ?? '', /^strconv\.ParseInt/);
    // A body without a version is read as one of meta.k8s.io.
    for (const path of [CONFIG_MAPS, `${CONFIG_MAPS}/a`]) {
      const { message } = await refused('DELETE', path, odd);
      assert.match(message ?? '', /^no kind "Odd" is registered for version "meta\.k8s\.io\/v1" in scheme/);
    }
    await ok('GET', `${CONFIG_MAPS}/a`);
  });

  it('the grace period of a deletion cannot be changed by a write', async () => {
    const { ok, refused } = testServer();
    await ok('POST', CONFIG_MAPS, { ...configMap('a'), metadata: { name: 'a', finalizers: ['example.com/held'] } });
    await ok('DELETE', `${CONFIG_MAPS}/a`);
    const patch = { metadata: { deletionGracePeriodSeconds: 4 } };
    const { message } = await refused('PATCH', `${CONFIG_MAPS}/a`, patch, MERGE_PATCH);
    assert.match(message ?? '', /metadata\.deletionGracePeriodSeconds: Invalid value: 4: field is immutable/);
    const { metadata } = await ok('PATCH', `${CONFIG_MAPS}/a`, { metadata: { labels: { a: 'b' } } }, MERGE_PATCH);
    assert.equal(metadata.deletionGracePeriodSeconds, 0);
  });

  it('an apply whose apiVersion or kind is no text is refused', async () => {
    const { refused } = testServer();
    const asked = { contentType: 'application/apply-patch+yaml', query: { fieldManager: 'a' } };
    const version = await refused('PATCH', `${CONFIG_MAPS}/a`, { ...configMap('a'), apiVersion: 1 }, asked);
    assert.equal(version.message, 'invalid object type: /, Kind=ConfigMap');
    const kind = await refused('PATCH', `${CONFIG_MAPS}/a`, { ...configMap('a'), kind: [] }, asked);
    assert.equal(kind.message, 'invalid object type: /v1, Kind=');
  });

  it('a warning names a field with any character', async () => {
    const { send } = testServer();
    const { headers } = await send('POST', CONFIG_MAPS, { ...configMap('a'), 'odd\u007f\u0001é': 'x' });
    const { warning = '' } = headers;
    assert.match(warning, /^299 - "unknown field .*é/);
    assert.ok(Array.from(warning).every((character) => character >= ' ' && character !== '\u007f'));
  });

  it('a definition with wrong types deep in its schema is refused', async () => {
    const { refused } = testServer();
    const schemas: [schema: object, problem: RegExp][] = [
      [
        { items: { type: 'object', required: { a: { b: [] } } } },
        /object into Go struct field JSONSchemaProps\.required of type \[\]string/,
      ],
      [{ items: { items: { enum: 'a' } } }, /string into Go struct field JSONSchemaProps\.enum of type/],
      [
        { additionalProperties: { maxLength: 'a' } },
        /string into Go struct field JSONSchemaProps\.maxLength of type int64/,
      ],
    ];
    for (const [schema, problem] of schemas) {
      const { code, message } = await refused('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: 'odds.example.com' },
        spec: {
          group: 'example.com',
          scope: 'Cluster',
          names: { plural: 'odds', kind: 'Odd' },
          versions: [
            {
              name: 'v1',
              served: true,
              storage: true,
              schema: { openAPIV3Schema: { type: 'object', properties: { list: { type: 'array', ...schema } } } },
            },
          ],
        },
      });
      assert.equal(code, 400);
      assert.match(message ?? '', problem);
    }
  });

  it('an object of another kind is no Scale, and scales nothing', async () => {
    const { ok, refused } = testServer();
    await ok('POST', DEPLOYMENTS, deployment('web', { replicas: 2 }));
    const path = `${DEPLOYMENTS}/web/scale`;
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' } };
    assert.match((await refused('PUT', path, pod)).message ?? '', /converting \(v1.Pod\) to \(autoscaling.Scale\)/);
    assert.match(
      (await refused('PUT', path, [])).message ?? '',
      /^the object provided is unrecognized \(must be of type Scale\)/,
    );
    assert.deepEqual((await ok('GET', path))['spec'], { replicas: 2 });
  });

  it('finalize is written, not read', async () => {
    assert.equal((await testServer().refused('GET', `${NAMESPACE}/finalize`)).code, 405);
  });

  it('a watch takes no other match than NotOlderThan', async () => {
    const query = { watch: 'true', resourceVersionMatch: 'Exact' };
    const { details } = await testServer().refused('GET', CONFIG_MAPS, undefined, { query });
    assert.deepEqual(
      details?.causes?.map(({ reason }) => reason),
      ['FieldValueForbidden', 'FieldValueNotSupported'],
    );
  });

  it('a review comes as itself alone', async () => {
    const test = testServer();
    const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
    const body = { spec: { nonResourceAttributes: { path: '/', verb: 'get' } } };
    const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    assert.equal((await test.refused('POST', path, body, { accept: table })).code, 406);
    await test.ok('POST', path, body, { accept: `${table}, application/json` });
  });

  it('a request that needs a connection to a pod is refused without one', async () => {
    const test = testServer();
    const path = '/api/v1/namespaces/default/pods';
    assert.equal((await test.refused('GET', `${path}/web/exec`)).code, 404);
    await test.ok('POST', path, { metadata: { name: 'web' }, spec: { containers: [{ name: 'main', image: 'a' }] } });
    const { code, message } = await test.refused('GET', `${path}/web/exec`);
    assert.equal(code, 400);
    assert.equal(message, 'Upgrade request required');
  });

  it('a revision may be larger than an exact number of JavaScript, and no larger than 64 bits', async () => {
    const test = testServer();
    const ask = (resourceVersion: string) =>
      test.refused('GET', CONFIG_MAPS, undefined, { query: { resourceVersion, resourceVersionMatch: 'NotOlderThan' } });
    assert.equal((await ask('9007199254740993000')).code, 504);
    assert.equal((await ask('18446744073709551616')).code, 400);
  });

  it('`__proto__` is a key like any other, however it is written', async () => {
    const test = testServer();
    const key = '__proto__';
    const data: unknown = JSON.parse('{"__proto__":"one","a":"b"}');
    const created = await test.ok('POST', CONFIG_MAPS, { ...configMap('odd'), data });
    assert.equal(JSON.stringify(created['data']), '{"__proto__":"one","a":"b"}');
    for (const [contentType, word] of [
      ['application/merge-patch+json', 'merge'],
      ['application/strategic-merge-patch+json', 'strategic'],
    ] as const) {
      const patch = { data: JSON.parse(`{"__proto__":"${word}"}`) as unknown };
      const patched = await test.ok('PATCH', `${CONFIG_MAPS}/odd`, patch, { contentType });
      assert.deepEqual(Object.entries(patched['data'] as object).find(([name]) => name === key)?.[1], word);
    }
    const applied = await test.ok(
      'PATCH',
      `${CONFIG_MAPS}/odd`,
      { ...configMap('odd'), data: JSON.parse('{"__proto__":"applied"}') as unknown },
      { ...APPLY, query: { fieldManager: 'test', force: 'true' } },
    );
    assert.deepEqual(Object.entries(applied['data'] as object).find(([name]) => name === key)?.[1], 'applied');
  });

  it('half a character in an escape becomes the replacement character, as in Go', () => {
    const { value } = readJson(String.raw`{"a":"x\ud800y","\udc00":"\ud83d\ude00"}`);
    assert.deepEqual(value, { a: 'x\ufffdy', '\ufffd': '\u{1f600}' });
  });

  it('events are found by the component that reported them', async () => {
    const test = testServer();
    const event = (name: string, more: object) => ({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name },
      involvedObject: { kind: 'Pod', name: 'a', namespace: 'default' },
      ...more,
    });
    const path = '/api/v1/namespaces/default/events';
    await test.ok('POST', path, event('old', { source: { component: 'kubelet' } }));
    await test.ok('POST', path, event('other', { source: { component: 'scheduler' } }));
    const found = await test.ok('GET', path, undefined, { query: { fieldSelector: 'source=kubelet' } });
    assert.deepEqual(
      (found['items'] as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name),
      ['old'],
    );
  });
});

describe('a pod that is bound to a node', () => {
  it('keeps its generation: what was asked for has not changed', async () => {
    const test = testServer();
    const path = '/api/v1/namespaces/default/pods';
    await test.ok('POST', path, { metadata: { name: 'web' }, spec: { containers: [{ name: 'main', image: 'a' }] } });
    await test.ok('POST', `${path}/web/binding`, { metadata: { name: 'web' }, target: { kind: 'Node', name: 'one' } });
    const bound = await test.ok('GET', `${path}/web`);
    assert.deepEqual([bound.metadata.generation, (bound['spec'] as { nodeName: string }).nodeName], [1, 'one']);
  });
});

describe('a pod with a runtime class', () => {
  const pods = '/api/v1/namespaces/default/pods';
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' } };
  const spec = { runtimeClassName: 'small', containers: [{ name: 'main', image: 'a' }] };

  it('gets its overhead and its nodes, and is refused where there is no such class', async () => {
    const test = testServer();
    const { code, message } = await test.refused('POST', pods, { ...pod, spec });
    assert.equal(code, 403);
    assert.match(message ?? '', /pod rejected: RuntimeClass "small" not found$/);
    await test.ok('POST', '/apis/node.k8s.io/v1/runtimeclasses', {
      metadata: { name: 'small' },
      handler: 'runc',
      overhead: { podFixed: { cpu: '10m' } },
      scheduling: { nodeSelector: { size: 'small' } },
    });
    const { spec: made } = (await test.ok('POST', pods, { ...pod, spec })) as unknown as {
      spec: Record<string, unknown>;
    };
    assert.deepEqual([made['overhead'], made['nodeSelector']], [{ cpu: '10m' }, { size: 'small' }]);
  });
});
