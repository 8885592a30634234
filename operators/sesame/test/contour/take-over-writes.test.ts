// Objects with the statuses that the real Contour wrote are taken over: each write is previewed before, and compared with the writes of the
// take-over.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type Client, CustomResourceDefinition, type KubeObject, Lease, Namespace, refOf } from '@capstan/kube';
import { compareStart, createStage, runs } from '@capstan/testing';
import { defaultConfiguration } from '../../src/configuration/index.ts';
import { DEFAULT_CONTOUR_LEASE } from '../../src/kinds/contour.ts';
import { dataPathComponents } from '../../src/program/data-path.ts';
import { createSecrets } from '../errors/secrets.ts';
import { createCases, sharedObjects } from './cases.ts';
import { askContour, contoursDefinitions, kindOf, missingContour, nameOf, statusIn } from './contour.ts';

const CASES = runs(40, 200, 'CAPSTAN_CONTOUR_CASES');

/** The controllers of `sesame serve --contour-compat`. */
function sesame() {
  const configuration = defaultConfiguration();
  const insecure = { ...configuration, xdsServer: { ...configuration.xdsServer, insecure: true } };
  const settings = { listen: { address: '127.0.0.1', port: 0 }, contour: DEFAULT_CONTOUR_LEASE };
  return dataPathComponents(settings, insecure, () => undefined).operator;
}

/** Creates an object as Contour left it, with its status. */
async function recreate(client: Client, object: KubeObject): Promise<void> {
  const { metadata, status, ...content } = object as KubeObject & { readonly status?: unknown };
  const { name = '', namespace = '', labels, annotations } = metadata;
  const kind = kindOf(object);
  const own = { name, namespace, ...(labels && { labels }), ...(annotations && { annotations }) };
  await client.create(kind, { ...content, metadata: own }, { fieldManager: 'kubectl' });
  if (status === undefined || kind.hasStatus === false) return;
  await client.patch(kind, refOf(object), 'merge', { status }, { subresource: 'status', fieldManager: 'contour' });
}

/** The Lease of a Contour that ended: it has no holder. */
const released: Lease = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: DEFAULT_CONTOUR_LEASE,
  spec: { holderIdentity: '', leaseDurationSeconds: 15 },
};

suite('the take-over from Contour', { skip: missingContour(), concurrency: 1 }, () => {
  test(`makes the previewed writes and no others for ${CASES} cases`, { timeout: 600_000 }, async (t) => {
    const given = [...sharedObjects(await createSecrets()), ...createCases(1, CASES).flatMap(({ objects }) => objects)];
    const { objects } = await askContour(given);
    const reported = objects.filter((object) => statusIn(object).conditions !== undefined);
    assert.ok(reported.length > CASES / 2, 'Contour reported on the objects');
    const stage = await createStage({ operators: [sesame()] });
    try {
      const { differences, unknown, predicted } = await compareStart({
        stage,
        operators: [sesame()],
        async given(client) {
          for (const definition of contoursDefinitions()) await client.create(CustomResourceDefinition, definition);
          const namespaces = new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? []));
          for (const name of new Set(['projectcontour', ...namespaces]))
            if (name !== 'default')
              await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
          for (const object of objects) await recreate(client, object);
          await client.create(Lease, released);
        },
      });
      assert.deepEqual(differences, []);
      const writes = [...predicted.writes, ...predicted.later];
      // Sesame writes statuses alone, and none that Contour did not report on.
      const others = writes.filter(({ verb }) => verb !== 'status').map(({ verb, object }) => `${verb} ${object}`);
      assert.deepEqual(others, []);
      const known = new Set(objects.map(nameOf));
      assert.deepEqual(
        writes.map(({ object }) => object).filter((object) => !known.has(object)),
        [],
      );
      stage.transport.clear();
      await stage.restart();
      assert.deepEqual(stage.transport.writes, [], 'the next start writes nothing');
      const changed = new Set(writes.map(({ object }) => object)).size;
      t.diagnostic(
        `${objects.length} objects, ${reported.length} reported by Contour, ${changed} statuses written, ${unknown.length} not known before`,
      );
    } finally {
      await stage.end();
    }
  });
});
