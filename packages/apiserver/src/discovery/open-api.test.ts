import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CRDS, definition, testServer } from '../server.test-support.ts';

interface Document {
  paths: Record<string, Record<string, { parameters: { name: string }[] }>>;
  components: { schemas: Record<string, Record<string, unknown>> };
}

describe('OpenAPI v3', () => {
  it('has an index whose addresses change with the content', async () => {
    const { ok, server } = testServer();
    type Index = { paths: Record<string, { serverRelativeURL: string }> };
    const before = (await ok('GET', '/openapi/v3')) as unknown as Index;
    assert.match(
      before.paths['apis/apps/v1']?.serverRelativeURL ?? '',
      /^\/openapi\/v3\/apis\/apps\/v1\?hash=[0-9A-F]{64}$/,
    );
    await ok('POST', CRDS, definition());
    const after = (await ok('GET', '/openapi/v3')) as unknown as Index;
    assert.deepEqual(after.paths['api/v1'], before.paths['api/v1']);
    const custom = after.paths['apis/example.com/v1']?.serverRelativeURL;
    assert.ok(custom);
    await ok(
      'PATCH',
      `${CRDS}/widgets.example.com`,
      [{ op: 'replace', path: '/spec/names/shortNames', value: ['wgt'] }],
      {
        contentType: 'application/json-patch+json',
      },
    );
    assert.equal(
      ((await ok('GET', '/openapi/v3')) as unknown as Index).paths['apis/example.com/v1']?.serverRelativeURL,
      custom,
    );
    await ok('DELETE', `${CRDS}/widgets.example.com`);
    await server.idle();
    assert.equal(((await ok('GET', '/openapi/v3')) as unknown as Index).paths['apis/example.com/v1'], undefined);
  });

  it('offers strategic merge patches for built-in kinds alone, since kubectl apply sends what it finds here', async () => {
    const { ok } = testServer();
    await ok('POST', CRDS, definition());
    const patchesOf = async (path: string, plural: string) => {
      const { paths } = (await ok('GET', `/openapi/v3/${path}`)) as unknown as Document;
      const item = paths[`/${path}/namespaces/{namespace}/${plural}/{name}`] as unknown as {
        patch: { requestBody: { content: object } };
      };
      return Object.keys(item.patch.requestBody.content);
    };
    const strategic = 'application/strategic-merge-patch+json';
    assert.ok((await patchesOf('apis/apps/v1', 'deployments')).includes(strategic));
    assert.ok(!(await patchesOf('apis/example.com/v1', 'widgets')).includes(strategic));
  });

  it('describes kinds and declares fieldValidation, with every reference in place', async () => {
    const { ok, send } = testServer();
    await ok('POST', CRDS, definition());
    for (const [path, kind] of [
      ['apis/apps/v1', 'Deployment'],
      ['api/v1', 'ConfigMap'],
      ['apis/example.com/v1', 'Widget'],
      ['apis/apiextensions.k8s.io/v1', 'CustomResourceDefinition'],
    ]) {
      const document = (await ok('GET', `/openapi/v3/${path}`)) as unknown as Document;
      const found = Object.values(document.components.schemas).find((schema) =>
        (schema['x-kubernetes-group-version-kind'] as { kind: string }[] | undefined)?.some((one) => one.kind === kind),
      );
      assert.ok(found, kind ?? '');
      for (const [, name] of JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
        assert.ok(document.components.schemas[name ?? ''], `${path} refers to ${name}, which is not there`);
      }
    }
    const { paths } = (await ok('GET', '/openapi/v3/apis/apps/v1')) as unknown as Document;
    const item = paths['/apis/apps/v1/namespaces/{namespace}/deployments/{name}'];
    assert.ok(item?.['patch']?.parameters.some(({ name }) => name === 'fieldValidation'));
    assert.equal((await send('GET', '/openapi/v3/apis/none/v1')).status, 404);
  });

  it('explains kinds and fields in a sentence each', async () => {
    const { ok } = testServer();
    const document = (await ok('GET', '/openapi/v3/apis/apps/v1')) as unknown as {
      components: {
        schemas: Record<string, { description?: string; properties: Record<string, { description?: string }> }>;
      };
    };
    const spec = document.components.schemas['io.k8s.api.apps.v1.DeploymentSpec'];
    assert.match(spec?.description ?? '', /rolled out\.$/);
    assert.match(spec?.properties['replicas']?.description ?? '', /Default 1\.$/);
    const bare = Object.values(spec?.properties ?? {}).filter(({ description }) => description === undefined);
    assert.deepEqual(bare, []);
  });
});

describe('OpenAPI v2', () => {
  it('is a document that describes nothing: kubectl wants one before it takes a List', async () => {
    const { send } = testServer();
    const { status, headers, body } = await send('GET', '/openapi/v2', undefined, {
      accept: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
    });
    assert.equal(status, 200);
    assert.match(headers['content-type'] ?? '', /proto-openapi\.spec\.v2/);
    assert.deepEqual(
      [...Buffer.from(String(body))],
      [10, 3, ...Buffer.from('2.0'), 18, 16, 10, 10, ...Buffer.from('Kubernetes'), 18, 2, ...Buffer.from('v1'), 66, 0],
    );
  });

  it('has the schemas of all kinds in JSON, custom ones too, and an address that shows whether it changed', async () => {
    const test = testServer();
    await test.ok(
      'POST',
      CRDS,
      definition({ port: { 'x-kubernetes-int-or-string': true, nullable: true, default: 1 } }),
    );
    await test.server.idle();
    const { body, headers } = await test.send('GET', '/openapi/v2');
    const { definitions } = body as { definitions: Record<string, { properties: Record<string, unknown> }> };
    const metadata = definitions['io.k8s.api.core.v1.ConfigMap']?.properties['metadata'];
    assert.equal(
      (metadata as { $ref?: string } | undefined)?.$ref,
      '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta',
    );
    const spec = definitions['com.example.v1.Widget']?.properties['spec'] as { properties: Record<string, unknown> };
    assert.deepEqual(spec.properties['port'], { 'x-kubernetes-int-or-string': true });
    const again = await test.send('GET', '/openapi/v2', undefined, {
      headers: { 'if-none-match': headers['etag'] ?? '' },
    });
    assert.equal(again.status, 304);
  });
});
