// A backend becomes a running discoverer with exactly the objects that it needs.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ClusterRole,
  ClusterRoleBinding,
  Deployment,
  Event,
  type Kind,
  Lease,
  Pod,
  Role,
  RoleBinding,
  Secret,
  Service,
  ServiceAccount,
} from '@capstan/kube';
import { DiscoveryBackend } from '../../src/index.ts';
import { Discoverer, Discovery } from '../../src/kinds/index.ts';
import { backendOf, DEPLOYMENT, FIRST, mirror, played, podOf, ref, secretOf, writesTo } from './fixtures.ts';

describe('a backend with credentials that work', () => {
  test('gets a Deployment that mounts a verified copy of them', () =>
    played({ spec: { debug: true, refreshInterval: 60, namespaces: { include: ['shop'] } } }, async (stage) => {
      const deployment = await stage.deployment();
      const [container] = deployment?.spec?.template.spec?.containers ?? [];
      const { credentials, discoverer } = (await stage.backend()).status ?? {};
      assert.equal(container?.image, 'capstan:0.1.0');
      assert.deepEqual(container.command, ['gimbal']);
      assert.deepEqual(container.args, [
        'discover',
        'kubernetes',
        '--backend-name=east',
        '--backend-namespace=default',
        '--credentials-dir=/etc/gimbal/credentials',
        `--credentials-id=${discoverer?.secretHash}`,
        '--expect-identity=uid-of-A',
        '--namespaces=shop',
        '--exclude-namespaces=kube-system',
        '--num-threads=2',
        '--gimbal-client-qps=100',
        '--gimbal-client-burst=200',
        '--resync-interval=60s',
        '--debug=true',
      ]);
      assert.equal(container.env, undefined);
      assert.match(credentials?.copy ?? '', /^east-creds-[0-9a-f]{8}$/);
      const copy = await stage.client.get(Secret, ref(credentials?.copy ?? ''));
      assert.equal(copy.immutable, true);
      assert.deepEqual(Object.keys(copy.data ?? {}), ['config']);
      assert.equal(await stage.mounted(), FIRST);
      const mounts = container.volumeMounts?.map(({ name, mountPath, readOnly }) => [name, mountPath, readOnly]);
      assert.deepEqual(
        mounts,
        [
          ['credentials', '/etc/gimbal/credentials', true],
          ['tmp', '/tmp', undefined],
        ],
        'all else is read-only',
      );
      const { strategy, template } = deployment?.spec ?? {};
      assert.deepEqual(strategy?.rollingUpdate, { maxSurge: 1, maxUnavailable: 0 });
      assert.equal(template?.metadata?.annotations?.['gimbal.heptio.com/secret-hash'], discoverer?.secretHash);
      assert.deepEqual(
        await stage.conditions('Accepted', 'CredentialsValid', 'DiscovererReady', 'Synced', 'RotationPending'),
        ['True Accepted', 'True Verified', 'False Starting', 'False NotYet', 'False Stable'],
      );
      assert.deepEqual(stage.remote.logins, [FIRST], 'one login');
    }));

  test('is running once the discoverer has compared both sides, and a restart then writes nothing', () =>
    played({}, async (stage) => {
      await stage.rollOut();
      await stage.report();
      const { status } = await stage.backend();
      assert.deepEqual(await stage.conditions('DiscovererReady', 'Synced', 'Drained'), [
        'True Running',
        'True Synced',
        'False Enabled',
      ]);
      assert.equal(status?.phase, 'Running');
      assert.equal(status.counts?.replicatedServices, 2);
      assert.deepEqual(status.errors, []);
      await stage.restart();
      assert.deepEqual(stage.transport.writes, []);
      assert.deepEqual(stage.remote.logins, [FIRST], 'what is in force is not tried again');
    }));

  test('grants its discoverer its own status and lease, services and slices, and nothing else', () =>
    played({}, async ({ client }) => {
      const { rules } = await client.get(Role, DEPLOYMENT);
      assert.deepEqual(rules, [
        { apiGroups: ['gimbal.heptio.com'], resources: ['discoverybackends'], resourceNames: ['east'], verbs: ['get'] },
        {
          apiGroups: ['gimbal.heptio.com'],
          resources: ['discoverybackends/status'],
          resourceNames: ['east'],
          verbs: ['patch'],
        },
        {
          apiGroups: ['coordination.k8s.io'],
          resources: ['leases'],
          resourceNames: ['gimbal-discoverer-east'],
          verbs: ['get', 'update'],
        },
      ]);
      const wide = await client.get(ClusterRole, { name: 'gimbal-discoverer-east' });
      assert.deepEqual(
        wide.rules?.map(({ resources, verbs }) => `${resources?.join()}: ${verbs.join()}`),
        [
          'endpoints: list,watch,delete',
          'services: get,list,watch,create,patch,delete',
          'endpointslices: get,list,watch,create,patch,delete',
          'namespaces: list,watch',
        ],
      );
      assert.ok(await client.get(ServiceAccount, DEPLOYMENT));
      assert.ok(await client.get(RoleBinding, DEPLOYMENT));
      assert.ok(await client.get(ClusterRoleBinding, { name: 'gimbal-discoverer-east' }));
      assert.ok(await client.get(Lease, ref('gimbal-discoverer-east')));
    }));

  test('may let it make namespaces, where that is asked for', () =>
    played({ spec: { createNamespaces: true } }, async ({ client }) => {
      const wide = await client.get(ClusterRole, { name: 'gimbal-discoverer-east' });
      assert.deepEqual(wide.rules?.at(-1)?.verbs, ['list', 'watch', 'create']);
    }));

  test('shows its secrets nowhere but in Secrets', () =>
    played({}, async (stage) => {
      await stage.secret('east-kubecfg', 'A s3cr3t-wrong');
      const kinds: Kind[] = [Deployment, DiscoveryBackend, Role, Lease, Event];
      const lists = await Promise.all(kinds.map((kind) => stage.client.list(kind, {})));
      const text = JSON.stringify([lists, stage.reported, stage.transport.writes]);
      assert.ok(text.includes('east-creds-'));
      for (const secret of [FIRST, 's3cr3t-first', 's3cr3t-wrong'])
        for (const form of [secret, Buffer.from(secret).toString('base64')]) assert.ok(!text.includes(form), form);
    }));

  for (const written of [Discoverer, Discovery])
    test(`a backend that is written as a ${written.kind} has the same, and owns it under that kind`, () =>
      played({}, async (stage) => {
        const { client } = stage;
        await client.create(Secret, secretOf('west-kubecfg', FIRST));
        const { apiVersion, kind } = written;
        const { metadata, spec } = backendOf('west');
        await client.create(written, { apiVersion, kind, metadata, cluster: spec });
        await stage.settle();
        const west = ref('west-kubernetes-discoverer');
        const deployment = await client.get(Deployment, west);
        const { args = [] } = deployment.spec?.template.spec?.containers[0] ?? {};
        assert.ok(args.includes(`--backend-kind=${kind}`));
        assert.equal(deployment.metadata.ownerReferences?.[0]?.kind, kind);
        assert.deepEqual((await client.get(Role, west)).rules?.[0]?.resources, [written.plural]);
      }));
});

describe('a change of the backend', () => {
  test('a change of the backend that concerns the discoverer is one write to its Deployment', () =>
    played({}, async (stage) => {
      stage.transport.clear();
      await stage.edit({ debug: true });
      assert.deepEqual(writesTo(stage, 'deployments').length, 1);
      assert.ok((await stage.deployment())?.spec?.template.spec?.containers[0]?.args?.includes('--debug=true'));
      assert.deepEqual(stage.remote.logins, [FIRST]);
    }));

  test('a change of the state of the backend does not touch the discoverer', () =>
    played({}, async (stage) => {
      stage.transport.clear();
      await stage.edit({ clusterStatus: 'Maintenance' });
      await stage.edit({ maintenance: { onNoCapacity: 'Keep' } });
      assert.deepEqual(writesTo(stage, 'deployments'), []);
      assert.equal((await stage.backend()).status?.phase, 'Maintenance');
    }));

  test('a change of the backend that cannot be understood changes nothing', () =>
    played({}, async (stage) => {
      stage.transport.clear();
      await stage.edit({ refreshInterval: 'soon' });
      assert.deepEqual(writesTo(stage, 'deployments'), []);
      assert.deepEqual(await stage.errors(), ['InvalidSpec']);
      assert.ok(stage.reported.includes('InvalidSpec'));
    }));

  test('a change of the address of the backend is tried out first', () =>
    played({}, async (stage) => {
      await stage.edit({ endpoint: 'https://10.0.0.1:6443' });
      assert.deepEqual(stage.remote.logins, [FIRST, `${FIRST} at https://10.0.0.1:6443`]);
      const { args = [] } = (await stage.deployment())?.spec?.template.spec?.containers[0] ?? {};
      assert.ok(args.includes('--endpoint=https://10.0.0.1:6443'));
    }));
});

test('a Deployment that a user deletes or edits is as it was', () =>
  played({}, async (stage) => {
    await stage.client.delete(Deployment, DEPLOYMENT);
    await stage.settle();
    assert.ok(await stage.deployment());
    await stage.client.patch(Deployment, DEPLOYMENT, 'merge', { spec: { replicas: 3 } });
    await stage.settle();
    assert.equal((await stage.deployment())?.spec?.replicas, 1);
  }));

test('a copy of credentials that a user deletes is made again, the same', () =>
  played({}, async (stage) => {
    const [copy = ''] = await stage.copies();
    await stage.client.delete(Secret, ref(copy));
    await stage.settle();
    assert.deepEqual(await stage.copies(), [copy]);
    assert.equal(await stage.mounted(), FIRST);
  }));

describe('a discoverer that does not run', () => {
  test('reports why: its termination message', () =>
    played({}, async (stage) => {
      await stage.client.create(Pod, podOf('east-1', {}));
      const status = {
        startTime: '2026-01-01T00:00:00Z',
        containerStatuses: [
          {
            name: 'discoverer',
            image: 'capstan:test',
            imageID: '',
            ready: false,
            restartCount: 4,
            state: { waiting: { reason: 'CrashLoopBackOff' } },
            lastState: {
              terminated: { exitCode: 2, message: 'starting\nerror: no such flag', finishedAt: '2026-01-01T00:01:00Z' },
            },
          },
        ],
      };
      await stage.client.patch(Pod, ref('east-1'), 'merge', { status }, { subresource: 'status' });
      await stage.settle();
      assert.deepEqual(await stage.conditions('DiscovererReady'), ['False DiscovererCrash']);
      const [error] = (await stage.backend()).status?.errors ?? [];
      assert.equal(error?.type, 'DiscovererCrash');
      assert.match(error.message, /ended with code 2: error: no such flag/);
      assert.equal((await stage.backend()).status?.discoverer?.restarts, 4);
      assert.equal((await stage.backend()).status?.phase, 'Degraded');
    }));

  test('is not taken for synced by what it said before', () =>
    played({}, async (stage) => {
      await stage.rollOut();
      await stage.report();
      const status = { availableReplicas: 0, readyReplicas: 0 };
      await stage.client.patch(Deployment, DEPLOYMENT, 'merge', { status }, { subresource: 'status' });
      await stage.settle();
      assert.deepEqual(await stage.conditions('DiscovererReady', 'Synced'), ['False Starting', 'False NotRunning']);
    }));
});

test('an error that the discoverer reports is in the list of errors, and goes when it is over', () =>
  played({}, async (stage) => {
    await stage.rollOut();
    const error = {
      type: 'NamespaceMissing',
      message: 'there is no namespace shop',
      statusTime: '2026-01-01T00:00:00Z',
      count: 3,
    };
    await stage.report({ errors: [{ ...error, namespace: 'shop', name: 'web' }] });
    const [listed] = (await stage.backend()).status?.errors ?? [];
    assert.deepEqual(listed, { ...error, namespace: 'shop', name: 'web' });
    assert.ok(stage.reported.includes('NamespaceMissing'));
    await stage.report();
    assert.deepEqual(await stage.errors(), []);
  }));

test('an unreachable remote side: what was discovered stays, and the backend says so', () =>
  played({ given: async (client) => void (await client.create(Service, mirror('east-web'))) }, async (stage) => {
    await stage.rollOut();
    const error = {
      type: 'Unreachable',
      message: 'no answer; what was discovered stays',
      statusTime: '2026-01-01T00:00:00Z',
    };
    stage.remote.isDown = true;
    stage.transport.clear();
    await stage.report({ synced: false, errors: [error] });
    assert.deepEqual(await stage.conditions('Synced', 'DiscovererReady', 'CredentialsValid'), [
      'False Unreachable',
      'True Running',
      'True Verified',
    ]);
    assert.deepEqual(
      stage.transport.writes.filter((line) => line.startsWith('DELETE')),
      [],
    );
    await stage.restart();
    assert.ok(await stage.client.find(Service, ref('east-web')));
    assert.ok(await stage.deployment());
  }));
