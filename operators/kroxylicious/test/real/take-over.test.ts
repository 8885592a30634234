// Objects that the original operator created, from the manifests of its own tests, are taken over. Each write is previewed before, and
// compared with the writes of the take-over. CAPSTAN_KROXYLICIOUS_SOURCE names a checkout of https://github.com/kroxylicious/kroxylicious.
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, test } from 'node:test';
import {
  type Client,
  ConfigMap,
  Deployment,
  type Kind,
  type KubeObject,
  Namespace,
  refOf,
  Secret,
  Service,
} from '@capstan/kube';
import { compareStart, createStage } from '@capstan/testing';
import { parseAllDocuments } from 'yaml';
import {
  createKroxylicious,
  KafkaProtocolFilter,
  KafkaProxy,
  KafkaProxyIngress,
  KafkaService,
  VirtualKafkaCluster,
} from '../../src/index.ts';
import { certificate, encoded } from '../fixtures.ts';

const source = process.env['CAPSTAN_KROXYLICIOUS_SOURCE'];
const [folder] =
  source === undefined
    ? []
    : globSync('{,kroxylicious-kubernetes/}kroxylicious-operator/src/test/resources/DerivedResourcesTest', {
        cwd: source,
      });
const scenarios =
  source === undefined || folder === undefined ? [] : globSync('*/', { cwd: join(source, folder) }).toSorted();
const skip =
  scenarios.length === 0 &&
  'CAPSTAN_KROXYLICIOUS_SOURCE names no checkout of https://github.com/kroxylicious/kroxylicious: clone it, and set the variable';

/** Its Deployment requests more than its limits, which no server takes. */
const REFUSED = 'user-supplies-proxy-container-resource-config';
const issued = await certificate();

const KINDS: readonly Kind[] = [
  KafkaProxy,
  KafkaProxyIngress,
  KafkaService,
  KafkaProtocolFilter,
  VirtualKafkaCluster,
  ConfigMap,
  Secret,
  Service,
  Deployment,
];

/** The objects of a scenario, users' objects first: those that the original created have references to them. */
function objectsOf(scenario: string, part: 'in' | 'out'): KubeObject[] {
  const files = globSync(`${part}-*.yaml`, { cwd: join(source ?? '', folder ?? '', scenario) }).toSorted();
  return files.flatMap((file) =>
    parseAllDocuments(readFileSync(join(source ?? '', folder ?? '', scenario, file), 'utf8')).flatMap((document) => {
      const object = document.toJS() as KubeObject | null;
      return object === null || kindOf(object) === undefined ? [] : [withCertificates(object)];
    }),
  );
}

/** The original's tests have words in the place of certificates and keys. */
function withCertificates(object: KubeObject): KubeObject {
  const { data } = object as { data?: Record<string, string> };
  if (data === undefined || (object.kind !== 'Secret' && object.kind !== 'ConfigMap')) return object;
  const pem = Object.keys(data).filter((key) => /\.(?:crt|pem|key)$/.test(key));
  const texts = Object.fromEntries(
    pem.map((key) => [key, key.endsWith('.key') ? issued.key : key === 'tls.crt' ? issued.certificate : issued.ca]),
  );
  return { ...object, data: { ...data, ...(object.kind === 'Secret' ? encoded(texts) : texts) } } as KubeObject;
}

function kindOf({ kind }: KubeObject): Kind | undefined {
  return KINDS.find((one) => one.kind === kind);
}

/** Creates an object as the original would: with the uids of its owners, and with the status that a manifest has. */
async function created(client: Client, { metadata, ...content }: KubeObject, namespace: string): Promise<void> {
  const {
    generation: _g,
    resourceVersion: _v,
    uid: _u,
    creationTimestamp: _c,
    ownerReferences = [],
    ...own
  } = metadata;
  const kind = kindOf({ metadata, ...content });
  assert.ok(kind);
  const owners = [];
  for (const reference of ownerReferences) {
    const owner = KINDS.find((one) => one.kind === reference.kind);
    assert.ok(owner);
    const { metadata: found } = await client.get<KubeObject>(owner, { namespace, name: reference.name });
    owners.push({ ...reference, uid: found.uid ?? '' });
  }
  const { status, ...body } = content as KubeObject & { status?: unknown };
  const object = {
    ...body,
    metadata: { namespace, ...own, ...(owners.length > 0 && { ownerReferences: owners }) },
  } as KubeObject;
  await client.create(kind, object);
  if (status !== undefined && kind.hasStatus)
    await client.patch(kind, refOf(object), 'merge', { status }, { subresource: 'status' });
}

describe('the take-over from the original operator is as previewed, write by write', { skip }, () => {
  for (const scenario of scenarios.filter((one) => one !== REFUSED))
    test(basename(scenario), async () => {
      const operators = [createKroxylicious()];
      const stage = await createStage({ operators });
      try {
        const users = objectsOf(scenario, 'in');
        const theirs = objectsOf(scenario, 'out');
        const namespace = theirs[0]?.metadata.namespace ?? users[0]?.metadata.namespace ?? 'default';
        const { differences, unknown, predicted } = await compareStart({
          stage,
          operators,
          async given(client) {
            if (namespace !== 'default')
              await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
            for (const object of [...users, ...theirs]) await created(client, object, namespace);
          },
        });
        assert.deepEqual([...differences, ...unknown], []);
        const written = new Set(predicted.writes.map(({ object }) => object));
        const workloads = theirs.filter(({ kind }) => kind === 'Deployment' || kind === 'Service');
        const left = workloads.flatMap(({ kind, metadata }) =>
          written.has(`${kind} ${namespace}/${metadata.name}`) ? [] : [`${kind} ${metadata.name}`],
        );
        // The original's tests name Secrets that are not there: nothing is written until the reported problem is over.
        if (predicted.problems.length === 0) assert.deepEqual(left, []);
        const isDeletion = ({ verb }: { verb: string }) => verb === 'delete';
        assert.deepEqual([...predicted.writes, ...predicted.later].filter(isDeletion), []);
        stage.transport.clear();
        await stage.restart();
        assert.deepEqual(stage.transport.writes, [], 'the next start writes nothing');
      } finally {
        await stage.end();
      }
    });
  test('the manifests of the original are there', () => assert.ok(existsSync(join(source ?? '', folder ?? ''))));
});
