import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { describe, test } from 'node:test';
import { ClusterRole, DaemonSet, Deployment, type Kind, Role, Secret, Service, ServiceAccount } from '@capstan/kube';
import { preview } from '@capstan/reconcile';
import type { Stage } from '@capstan/testing';
import { SesameConfiguration, SesameDeployment } from '../../src/index.ts';
import { at, conditionOf, deployment, find, NAMESPACE, rollOut, staged } from './fixtures.ts';

const text = (secret: Secret | undefined, key: string) =>
  Buffer.from(secret?.data?.[key] ?? '', 'base64').toString('utf8');
const bundle = (secret: Secret | undefined) =>
  (text(secret, 'ca.crt').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map(
    (pem) => new X509Certificate(pem),
  );

describe('certificates', () => {
  const certificatesOf = async (stage: Stage) => ({
    sesame: await stage.client.get(Secret, at('sesamecert-edge')),
    envoy: await stage.client.get(Secret, at('envoycert-edge')),
  });
  /** Both sides trust each other, with the content of their Secrets. */
  const trust = (one: Secret, other: Secret) => {
    const leaf = new X509Certificate(text(one, 'tls.crt'));
    return bundle(other).some((authority) => leaf.verify(authority.publicKey));
  };

  test('are those of a TLS Secret, for the names that are dialled', async () => {
    await staged([deployment()], async (stage) => {
      const { sesame, envoy } = await certificatesOf(stage);
      assert.equal(sesame.type, 'kubernetes.io/tls');
      assert.deepEqual(Object.keys(sesame.data ?? {}).toSorted(), ['ca.crt', 'tls.crt', 'tls.key']);
      const leaf = new X509Certificate(text(sesame, 'tls.crt'));
      for (const name of ['sesame', `sesame-edge.${NAMESPACE}`, `sesame-edge.${NAMESPACE}.svc.cluster.local`])
        assert.ok(leaf.checkHost(name), name);
      assert.ok(trust(sesame, envoy) && trust(envoy, sesame));
    });
  });

  test('certificates that were deleted or damaged are created again', async () => {
    await staged([deployment()], async (stage) => {
      await stage.client.delete(Secret, at('envoycert-edge'));
      await stage.settle();
      assert.ok(await find(stage.client, Secret, 'envoycert-edge'));
      await stage.client.patch(Secret, at('sesamepki-edge'), 'merge', { data: { 'sesame.key': 'bm9wZQ==' } });
      await stage.settle();
      const { sesame, envoy } = await certificatesOf(stage);
      assert.ok(trust(sesame, envoy));
    });
  });
});

describe('objects of others', () => {
  test('are never touched, and are named in the status', async () => {
    const foreign = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: at('sesame-edge'),
      spec: {
        selector: { matchLabels: { a: 'b' } },
        template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'x', image: 'y' }] } },
      },
    };
    await staged([foreign, deployment()], async ({ client }) => {
      const { spec } = await client.get(Deployment, at('sesame-edge'));
      assert.deepEqual(spec?.selector.matchLabels, { a: 'b' });
      const condition = await conditionOf(client, 'ReconcileError');
      assert.equal(condition?.reason, 'Conflict');
      assert.match(condition?.message ?? '', /sesame-edge/);
    });
  });
});

describe('deletion', () => {
  test('removes the configuration while Sesame runs, then the workloads, then the rest', async () => {
    await staged([deployment()], async (stage) => {
      const { client } = stage;
      await rollOut(stage);
      await client.patch(SesameConfiguration, at('sesameconfig-edge'), 'merge', {
        metadata: { finalizers: ['projectsesame.io/configuration'] },
      });
      await stage.settle();
      await client.delete(SesameDeployment, at('edge'));
      await stage.settle(5_000);
      // Sesame still holds its configuration: it runs on, and requests are no longer sent.
      assert.ok(await find(client, Deployment, 'sesame-edge'));
      assert.equal(await find(client, Service, 'envoy-edge'), undefined);
      assert.ok((await client.get(SesameConfiguration, at('sesameconfig-edge'))).metadata.deletionTimestamp);
      await client.patch(SesameConfiguration, at('sesameconfig-edge'), 'merge', { metadata: { finalizers: null } });
      await stage.settle();
      await stage.collected();
      for (const [kind, name] of [
        [SesameDeployment, 'edge'],
        [Deployment, 'sesame-edge'],
        [DaemonSet, 'envoy-edge'],
        [Secret, 'sesamecert-edge'],
        [Secret, 'sesamepki-edge'],
        [Role, 'sesame-edge'],
        [ServiceAccount, 'sesame-edge'],
      ] as [Kind, string][])
        assert.equal(await find(client, kind, name), undefined, `${kind.kind} ${name}`);
      assert.equal(await find(client, ClusterRole, `sesame-${NAMESPACE}-edge`, ''), undefined);
    });
  });

  test('the deletion of a Sesame that does not run takes its finalizer off', async () => {
    await staged([deployment()], async (stage) => {
      const { client } = stage;
      await client.patch(SesameConfiguration, at('sesameconfig-edge'), 'merge', {
        metadata: { finalizers: ['projectsesame.io/configuration', 'example.com/other'] },
      });
      await stage.settle();
      await client.delete(SesameDeployment, at('edge'));
      await stage.settle();
      // A finalizer of another program is respected.
      assert.deepEqual((await client.get(SesameConfiguration, at('sesameconfig-edge'))).metadata.finalizers, [
        'example.com/other',
      ]);
      await client.patch(SesameConfiguration, at('sesameconfig-edge'), 'merge', { metadata: { finalizers: null } });
      await stage.settle();
      await stage.collected();
      assert.equal(await find(client, SesameDeployment, 'edge'), undefined);
    });
  });
});

describe('a preview of an edit', () => {
  const shown = async (stage: Stage, spec: object) => {
    const { metadata } = await stage.client.get(SesameDeployment, at('edge'));
    const next = { ...deployment(spec), metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 } };
    const object = SesameDeployment.viewOf(next);
    const { deliveries, writes } = await preview(stage.program.runtime, [{ kind: SesameDeployment, object }]);
    return { disturbs: deliveries.map(({ disturbs }) => disturbs ?? ''), writes };
  };

  test('names the change class of each field and what is disturbed', async () => {
    await staged([deployment()], async (stage) => {
      const { disturbs } = await shown(stage, {
        configuration: { envoy: { timeouts: { requestTimeout: '4s' } }, xdsServer: { port: 9001 } },
      });
      assert.deepEqual(disturbs, [
        'xdsServer.port [Rebind, EnvoyRollout] rebinds a socket of Sesame, and needs a rollout of Envoy’s pods; ' +
          'envoy.timeouts.requestTimeout [Listeners] updates listeners; connections on changed filter chains drain',
      ]);
      const invalid = await shown(stage, { configuration: { debug: { logLevel: 'loud' } } });
      assert.match(
        invalid.disturbs[0] ?? '',
        /^stops the controllers of Sesame, because it is not valid: spec\.debug\.logLevel/,
      );
    });
  });
});
