// Objects of a running upstream installation, as its package manager makes them, are taken over where they are.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Client,
  createCa,
  Deployment,
  isNotFound,
  issueCertificate,
  type Kind,
  type KubeObject,
  Secret,
  Service,
  ServiceAccount,
} from '@capstan/kube';
import { compareStart } from '@capstan/testing';
import { Provider, ProviderRevision } from '../src/kinds/index.ts';
import { allReady, detail, EXAMPLE, example, operatorWith, provider, ready, SYSTEM, staged } from './fixtures.ts';

/** Controlled by the revision, and nothing of ours on it. */
function asUpstream(object: KubeObject): KubeObject {
  const { name, namespace, labels = {}, ownerReferences = [] } = object.metadata;
  const { status: _status, ...content } = object as KubeObject & { status?: unknown };
  const theirs = (key: string) => !key.includes('capstan.dev');
  return {
    ...content,
    metadata: {
      ...(name && { name }),
      ...(namespace && { namespace }),
      labels: Object.fromEntries(Object.entries(labels).filter(([key]) => theirs(key))),
      ownerReferences: ownerReferences.filter(({ kind }) => kind === 'ProviderRevision'),
    },
  };
}

test('Deployments, Services and accounts of an upstream installation go on as ours: none is deleted', async () => {
  const { registry, name } = example();
  await staged(
    { registry, objects: [provider('example', { package: EXAMPLE })], ruled: '0034: upstream' },
    async (stage) => {
      await allReady(stage);
      const { client } = stage;
      const ref = { namespace: SYSTEM, name };
      const kinds: Kind[] = [Service, ServiceAccount, Deployment];
      const uids = new Map<string, string | undefined>();
      const { differences, unknown, predicted } = await compareStart({
        stage,
        operators: [operatorWith({ registry, settings: { now: () => stage.clock.now() } })],
        async given() {
          for (const kind of kinds) {
            const created = await client.get(kind, ref);
            await client.delete(kind, ref);
            uids.set(kind.kind, (await client.create(kind, asUpstream(created))).metadata.uid);
          }
          await ready(client, await client.get(Deployment, ref));
        },
      });
      assert.deepEqual([...differences, ...unknown], [], 'each write was previewed');
      const foreign = predicted.writes.flatMap((write) => (write.foreign ? [write.object] : []));
      assert.deepEqual(new Set(foreign), new Set(kinds.map(({ kind }) => `${kind} ${SYSTEM}/${name}`)));
      await allReady(stage);
      await stage.settle();
      for (const kind of kinds) {
        const { metadata } = await client.get(kind, ref);
        assert.equal(metadata.uid, uids.get(kind.kind), `the ${kind.kind} is the same`);
        assert.deepEqual(metadata.ownerReferences?.map((one) => one.kind).toSorted(), ['Provider', 'ProviderRevision']);
        assert.ok(metadata.labels?.['capstan.dev/inventory'], `the ${kind.kind} is ours`);
      }
      assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.message, '');
      stage.transport.clear();
      await stage.restart();
      assert.deepEqual(stage.transport.writes, []);
    },
  );
});

test('TLS Secrets of an upstream installation go on as ours: they are the same objects, and clients trust them all the time', async () => {
  const { registry, name } = example();
  await staged(
    { registry, objects: [provider('example', { package: EXAMPLE })], ruled: '0034: upstream' },
    async (stage) => {
      await allReady(stage);
      const { client } = stage;
      const revision = await client.get(ProviderRevision, { name });
      const { metadata } = revision;
      const refs = ['example-tls-server', 'example-tls-client'].map((secret) => ({ namespace: SYSTEM, name: secret }));
      await stage.program.stop();
      const validity = { notBefore: stage.clock.now() - 1000, notAfter: stage.clock.now() + 365 * 86_400_000 };
      const theirs = await createCa({ commonName: 'Crossplane', ...validity });
      const uids: (string | undefined)[] = [];
      for (const ref of refs) {
        await client.delete(Secret, ref);
        const dnsNames = [`${name}.${SYSTEM}.svc`];
        const leaf = await issueCertificate({
          ca: theirs,
          commonName: name,
          dnsNames,
          usages: ['server'],
          ...validity,
        });
        const controller = {
          apiVersion: ProviderRevision.apiVersion,
          kind: 'ProviderRevision',
          name,
          uid: metadata.uid,
        };
        const texts = { 'tls.crt': leaf.certificate, 'tls.key': leaf.key, 'ca.crt': theirs.certificate };
        const created = await client.create(Secret, {
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: {
            ...ref,
            ownerReferences: [{ ...controller, controller: true, blockOwnerDeletion: true } as never],
          },
          type: 'Opaque',
          data: Object.fromEntries(
            Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
          ),
        });
        uids.push(created.metadata.uid);
      }
      await stage.restart();
      await allReady(stage);
      await stage.settle();
      for (const [i, ref] of refs.entries()) {
        const { metadata: now, data } = await client.get(Secret, ref);
        assert.equal(now.uid, uids[i], `${ref.name} is the same`);
        assert.ok(now.labels?.['capstan.dev/inventory'], `${ref.name} is ours`);
        const bundle = Buffer.from(data?.['ca.crt'] ?? '', 'base64').toString('utf8');
        assert.ok(bundle.includes(theirs.certificate.trim()), 'what the other end still has is accepted');
        assert.equal(bundle.match(/BEGIN CERTIFICATE/g)?.length, 2);
      }
      assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.message, '');
      stage.transport.clear();
      await stage.restart();
      assert.deepEqual(stage.transport.writes, []);
    },
  );
});

/** The objects that the package manager of an upstream release leaves behind for the revision of a provider. */
function upstreamObjects(
  packageName: string,
  revision: { name: string; uid: string },
  owner: { name: string; uid: string },
  /** The value of the provider's label: v1 takes the name in the package, v2 that of the Provider. */
  label: string,
  ca: string,
  leaf: { certificate: string; key: string },
): KubeObject[] {
  const reference = (kind: string, { name, uid }: { name: string; uid: string }) => ({
    apiVersion: 'pkg.crossplane.io/v1',
    kind,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  });
  const byRevision = { namespace: SYSTEM, ownerReferences: [reference('ProviderRevision', revision)] };
  const selector = { 'pkg.crossplane.io/revision': revision.name, 'pkg.crossplane.io/provider': label };
  const secret = (name: string, texts: Record<string, string>) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    // Created for the revision, and then given the owners of the revision.
    metadata: { namespace: SYSTEM, name, ownerReferences: [reference('Provider', owner)] },
    type: 'Opaque',
    data: Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
  });
  const texts = { 'tls.crt': leaf.certificate, 'tls.key': leaf.key, 'ca.crt': ca };
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { ...byRevision, name: packageName },
      spec: { selector, ports: [{ name: 'webhook', port: 9443, targetPort: 'webhook', protocol: 'TCP' }] },
    } as KubeObject,
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { ...byRevision, name: revision.name } },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { ...byRevision, name: revision.name },
      spec: {
        replicas: 1,
        selector: { matchLabels: selector },
        template: {
          metadata: { labels: selector },
          spec: {
            serviceAccountName: revision.name,
            securityContext: { runAsNonRoot: true, runAsUser: 2000, runAsGroup: 2000 },
            containers: [
              {
                name: 'package-runtime',
                image: EXAMPLE,
                ports: [
                  { name: 'metrics', containerPort: 8080 },
                  { name: 'webhook', containerPort: 9443 },
                ],
              },
            ],
          },
        },
      },
    } as KubeObject,
    secret(`${packageName}-tls-server`, texts),
    secret(`${packageName}-tls-client`, texts),
  ];
}

/** A Deployment may be deleted between the list and the write: its controller takes that for no error, nor does this. */
async function readyIfThere(client: Client, deployment: Deployment): Promise<void> {
  try {
    await ready(client, deployment);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

const KINDS: Record<string, Kind> = { Service, ServiceAccount, Deployment, Secret };

for (const [release, label, isSameDeployment] of [
  ['v1.20', 'provider-example', false],
  ['v2', 'example', true],
] as const)
  test(`objects of upstream ${release} continue as ours: a pod serves all the time, and nothing of it is left over`, async () => {
    const { registry, name } = example();
    await staged(
      { registry, objects: [provider('example', { package: EXAMPLE })], ruled: '0034: upstream' },
      async (stage) => {
        await allReady(stage);
        const { client } = stage;
        const uid = (await client.get(ProviderRevision, { name })).metadata.uid ?? '';
        const owner = (await client.get(Provider, { name: 'example' })).metadata.uid ?? '';
        await stage.program.stop();
        for (const kind of [Deployment, Service, ServiceAccount] as Kind[])
          await client.delete(kind, { namespace: SYSTEM, name });
        for (const secret of ['example-tls-server', 'example-tls-client'])
          await client.delete(Secret, { namespace: SYSTEM, name: secret });
        const validity = { notBefore: stage.clock.now() - 1000, notAfter: stage.clock.now() + 365 * 86_400_000 };
        const ca = await createCa({ commonName: 'Crossplane', ...validity });
        const dnsNames = ['example', `example.${SYSTEM}`, `example.${SYSTEM}.svc`];
        const leaf = await issueCertificate({ ca, commonName: 'example', dnsNames, usages: ['server'], ...validity });
        const theirs = upstreamObjects(
          'example',
          { name, uid },
          { name: 'example', uid: owner },
          label,
          ca.certificate,
          leaf,
        );
        const uids = new Map<string, string | undefined>();
        for (const one of theirs) {
          const created = await client.create(KINDS[one.kind] as Kind, one);
          uids.set(`${one.kind} ${one.metadata.name}`, created.metadata.uid);
        }
        await ready(client, await client.get(Deployment, { namespace: SYSTEM, name }));
        await stage.restart();
        for (let turn = 0; turn < 4; turn++) {
          await stage.settle();
          const deployments = (await client.list(Deployment, { namespace: SYSTEM })).items;
          assert.ok(deployments.length > 0, 'there is always one that serves');
          for (const one of deployments) await readyIfThere(client, one);
        }
        await stage.settle();
        assert.equal((await detail(stage, Provider, 'example', 'Healthy'))?.message, '');
        const uidNow = async (kind: Kind, at: string) =>
          (await client.find(kind, { namespace: SYSTEM, name: at }))?.metadata.uid;
        for (const secret of ['example-tls-server', 'example-tls-client'])
          assert.equal(await uidNow(Secret, secret), uids.get(`Secret ${secret}`), secret);
        assert.equal(await uidNow(ServiceAccount, name), uids.get(`ServiceAccount ${name}`));
        if (isSameDeployment) assert.equal(await uidNow(Deployment, name), uids.get(`Deployment ${name}`));
        assert.deepEqual(
          (await client.list(Deployment, { namespace: SYSTEM })).items.map(({ metadata }) => metadata.name),
          [name],
        );
        assert.deepEqual(
          (await client.list(Service, { namespace: SYSTEM })).items.map(({ metadata }) => metadata.name),
          [name],
          'the Service of the package’s name is gone once the other one leads to its pods',
        );
        stage.transport.clear();
        await stage.restart();
        assert.deepEqual(stage.transport.writes, []);
      },
    );
  });
