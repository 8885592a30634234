import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ClusterRole,
  ClusterRoleBinding,
  DaemonSet,
  Deployment,
  type Kind,
  Namespace,
  PodDisruptionBudget,
  Role,
  RoleBinding,
  Secret,
  Service,
  ServiceAccount,
} from '@capstan/kube';
import type { Stage } from '@capstan/testing';
import { effectiveConfiguration, SesameConfiguration, SesameDeployment } from '../../src/index.ts';
import { at, conditionOf, deployment, find, NAMESPACE, rollOut, staged } from './fixtures.ts';

describe('a SesameDeployment', () => {
  test('with contourCompat grants the rights on the objects of Contour, everywhere or in the namespaces that it watches', async () => {
    const rulesOf = (role: { rules?: readonly { apiGroups?: readonly string[] }[] } | undefined) =>
      (role?.rules ?? []).filter(({ apiGroups }) => apiGroups?.includes('projectcontour.io')).length;
    await staged([deployment({ sesame: { contourCompat: true } })], async ({ client }) => {
      assert.equal(rulesOf(await client.get(ClusterRole, { name: `sesame-${NAMESPACE}-edge` })), 2);
    });
    const watchNamespaces = ['shop', 'projectcontour'];
    await staged([deployment({ sesame: { contourCompat: true, watchNamespaces } })], async ({ client, settle }) => {
      for (const name of watchNamespaces)
        await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
      await settle();
      const roles = (await client.list(Role)).items.filter((role) => rulesOf(role) > 0);
      assert.ok(roles.length > 0, 'a Role has them');
    });
  });

  test('becomes a whole instance, reports its rollout, and a restart writes nothing', async () => {
    await staged([deployment()], async (stage) => {
      const { client } = stage;
      for (const [kind, name] of [
        [ServiceAccount, 'sesame-edge'],
        [ServiceAccount, 'envoy-edge'],
        [Role, 'sesame-edge'],
        [RoleBinding, 'sesame-rolebinding-edge'],
        [SesameConfiguration, 'sesameconfig-edge'],
        [Secret, 'sesamepki-edge'],
        [Secret, 'sesamecert-edge'],
        [Secret, 'envoycert-edge'],
        [Deployment, 'sesame-edge'],
        [DaemonSet, 'envoy-edge'],
        [Service, 'sesame-edge'],
        [Service, 'envoy-edge'],
        [PodDisruptionBudget, 'sesame-edge'],
      ] as [Kind, string][])
        assert.ok(await find(client, kind, name), `${kind.kind} ${name}`);
      assert.ok(await find(client, ClusterRole, `sesame-${NAMESPACE}-edge`, ''));
      assert.ok(await find(client, ClusterRoleBinding, `sesame-${NAMESPACE}-edge`, ''));
      const { spec } = await client.get(SesameConfiguration, at('sesameconfig-edge'));
      assert.deepEqual(spec, {
        envoy: { service: { name: 'envoy-edge', namespace: NAMESPACE } },
        leaderElection: { configmap: { name: 'leader-elect-edge', namespace: NAMESPACE } },
      });
      assert.equal((await conditionOf(client, 'Available'))?.reason, 'SesameUnavailable');
      assert.equal((await conditionOf(client, 'Progressing'))?.reason, 'RollingOut');
      await rollOut(stage);
      assert.equal((await conditionOf(client, 'Available'))?.status, 'True');
      assert.equal((await conditionOf(client, 'Progressing'))?.reason, 'RolledOut');
      assert.equal((await conditionOf(client, 'ConfigurationValid'))?.status, 'True');
      const { status } = await client.get(SesameDeployment, at('edge'));
      assert.deepEqual([status?.availableSesames, status?.availableEnvoys, status?.desiredSesames], [2, 3, 2]);
      await stage.restart();
      assert.deepEqual(stage.transport.writes, []);
    });
  });

  test('reports other spellings of its configuration: as read, or as ignored beside it', async () => {
    const timeouts = (requestTimeout: string) => ({ envoy: { timeouts: { requestTimeout } } });
    const message = async (stage: Stage) => (await conditionOf(stage.client, 'ConfigurationValid'))?.message;
    await staged([deployment({ confguration: timeouts('9s') })], async (stage) => {
      assert.match((await message(stage)) ?? '', /spec\.confguration: is read as configuration; correct the spelling/);
    });
    const both = { configuration: timeouts('8s'), confguration: timeouts('9s'), runtimeSettings: timeouts('7s') };
    await staged([deployment(both)], async (stage) => {
      const found = await message(stage);
      for (const alias of ['confguration', 'runtimeSettings'])
        assert.ok(
          found?.includes(`spec.${alias}: is ignored, because there is a configuration too; remove it`),
          found ?? 'no message',
        );
      const { spec } = await stage.client.get(SesameConfiguration, at('sesameconfig-edge'));
      assert.equal(spec?.envoy?.timeouts?.requestTimeout, '8s');
    });
  });

  test('runs pods that an ordinary user could not break out of, with ports and flags that fit', async () => {
    const spec = {
      replicas: 3,
      nodePlacement: { nodeSelector: { role: 'control' } },
      configuration: {
        envoy: {
          http: { port: 9080 },
          managed: {
            nodePlacement: { tolerations: [{ key: 'edge', operator: 'Exists' }] },
            networkPublishing: { type: 'NodePortService', serviceAnnotations: { a: 'b' } },
          },
        },
        health: { port: 8100 },
      },
      envoy: { logLevel: 'debug' },
      sesame: { disabledFeatures: ['tlsroutes'] },
    };
    await staged([deployment(spec)], async ({ client }) => {
      const sesame = (await client.get(Deployment, at('sesame-edge'))).spec;
      const pod = sesame?.template.spec;
      assert.equal(sesame?.replicas, 3);
      assert.deepEqual(pod?.nodeSelector, { role: 'control' });
      assert.deepEqual(pod?.containers[0]?.args, [
        'serve',
        '--incluster',
        '--sesame-config=sesameconfig-edge',
        '--xds-port=8001',
        '--health-port=8100',
        '--http-port=8000',
        '--debug-http-port=6060',
        '--snapshot-file=/var/run/sesame/snapshot',
        '--sesame-cafile=/certs/ca.crt',
        '--sesame-cert-file=/certs/tls.crt',
        '--sesame-key-file=/certs/tls.key',
        '--disable-feature=tlsroutes',
      ]);
      // The kept snapshot holds private keys: it is in memory, in a volume of the pod alone.
      assert.deepEqual(pod?.volumes?.[0], { name: 'snapshot', emptyDir: { medium: 'Memory' } });
      assert.deepEqual(pod?.containers[0]?.volumeMounts?.[0], { name: 'snapshot', mountPath: '/var/run/sesame' });
      assert.deepEqual(pod?.containers[0]?.readinessProbe?.httpGet, { path: '/readyz', port: 8100, scheme: 'HTTP' });
      assert.equal(pod?.securityContext?.runAsNonRoot, true);
      const envoy = (await client.get(DaemonSet, at('envoy-edge'))).spec?.template.spec;
      assert.equal(envoy?.tolerations?.[0]?.key, 'edge');
      assert.equal(envoy?.automountServiceAccountToken, false);
      assert.equal(envoy?.terminationGracePeriodSeconds, 300);
      assert.deepEqual(
        envoy?.containers.map(({ name }) => name),
        ['shutdown-manager', 'envoy'],
      );
      assert.ok(envoy?.initContainers?.[0]?.args?.includes(`--xds-address=sesame-edge.${NAMESPACE}`));
      assert.ok(envoy?.initContainers?.[0]?.args?.includes('--http-port=9080'));
      const declared = envoy?.containers[1]?.ports?.map(({ name, containerPort }) => [name, containerPort]);
      assert.deepEqual(declared, [
        ['http', 9080],
        ['https', 8443],
        ['metrics', 8002],
      ]);
      const service = await client.get(Service, at('envoy-edge'));
      assert.equal(service.spec?.type, 'NodePort');
      assert.equal(service.spec?.externalTrafficPolicy, 'Local');
      assert.equal(service.metadata.annotations?.['a'], 'b');
      assert.deepEqual(
        service.spec?.ports?.map(({ port, targetPort }) => [port, targetPort]),
        [
          [80, 'http'],
          [443, 'https'],
        ],
      );
      const role = await client.get(ClusterRole, { name: `sesame-${NAMESPACE}-edge` });
      assert.ok(!JSON.stringify(role.rules).includes('tlsroutes'));
      const { spec: child } = await client.get(SesameConfiguration, at('sesameconfig-edge'));
      assert.equal(child?.envoy?.managed, undefined);
    });
  });

  test('gives its configuration the same meaning as a SesameConfiguration of its own', async () => {
    const configuration = {
      envoy: { timeouts: { requestTimeout: '5s' }, service: { name: 'other', namespace: 'x' } },
      leaderElection: { configmap: { name: 'lock', namespace: 'x' } },
      policy: { requestHeaders: { set: { A: 'b' } } },
    };
    await staged([deployment({ configuration })], async ({ client }) => {
      const { spec } = await client.get(SesameConfiguration, at('sesameconfig-edge'));
      assert.deepEqual(
        effectiveConfiguration({ given: spec }).value,
        effectiveConfiguration({ given: configuration }).value,
      );
    });
  });

  test('HTTP/3 gives Envoy and its Service a UDP port beside that for HTTPS', async () => {
    const http3 = { envoy: { http3: { enabled: true } } };
    await staged([deployment({ configuration: http3 })], async ({ client }) => {
      const envoy = await client.get(DaemonSet, at('envoy-edge'));
      const [container] = envoy?.spec?.template.spec?.containers.filter(({ name }) => name === 'envoy') ?? [];
      const isHttps = ({ name }: { name?: string | undefined }) => name === 'https' || name === 'http3';
      assert.deepEqual(
        container?.ports?.filter(isHttps).map(({ containerPort, protocol }) => [containerPort, protocol]),
        [
          [8443, 'TCP'],
          [8443, 'UDP'],
        ],
      );
      const service = await client.get(Service, at('envoy-edge'));
      assert.deepEqual(
        service?.spec?.ports?.filter(isHttps).map(({ port, targetPort, protocol }) => [port, targetPort, protocol]),
        [
          [443, 'https', 'TCP'],
          [443, 'http3', 'UDP'],
        ],
      );
    });
  });

  test('propagates every edit, and rolls pods only for what is part of them', async () => {
    await staged([deployment()], async (stage) => {
      const { client } = stage;
      const templates = async () => [
        JSON.stringify((await client.get(Deployment, at('sesame-edge'))).spec?.template),
        JSON.stringify((await client.get(DaemonSet, at('envoy-edge'))).spec?.template),
      ];
      const before = await templates();
      const edit = async (configuration: object) => {
        await client.patch(SesameDeployment, at('edge'), 'merge', { spec: { configuration } });
        await stage.settle();
      };
      await edit({ envoy: { timeouts: { requestTimeout: '9s' } }, ingress: { className: 'x' } });
      const { spec } = await client.get(SesameConfiguration, at('sesameconfig-edge'));
      assert.equal(spec?.envoy?.timeouts?.requestTimeout, '9s');
      assert.deepEqual(await templates(), before);
      await edit({ envoy: { timeouts: null }, xdsServer: { port: 9001 } });
      const after = await client.get(SesameConfiguration, at('sesameconfig-edge'));
      assert.equal(after.spec?.envoy?.timeouts, undefined);
      const [sesame, envoy] = await templates();
      assert.notEqual(sesame, before[0]);
      assert.notEqual(envoy, before[1]);
      assert.equal((await client.get(Service, at('sesame-edge'))).spec?.ports?.[0]?.port, 9001);
    });
  });

  test('replaces the DaemonSet by a Deployment, and back', async () => {
    await staged([deployment()], async (stage) => {
      const { client } = stage;
      const edit = async (envoy: object) => {
        await client.patch(SesameDeployment, at('edge'), 'merge', { spec: { envoy } });
        await stage.settle();
      };
      await edit({ workloadType: 'Deployment', deployment: { replicas: 4 } });
      assert.equal(await find(client, DaemonSet, 'envoy-edge'), undefined);
      assert.equal((await client.get(Deployment, at('envoy-edge'))).spec?.replicas, 4);
      await edit({ workloadType: 'DaemonSet' });
      assert.ok(await find(client, DaemonSet, 'envoy-edge'));
      assert.equal(await find(client, Deployment, 'envoy-edge'), undefined);
    });
  });

  test('watches namespaces by Roles in them', async () => {
    await staged([], async (stage) => {
      const { client } = stage;
      await client.create(Namespace, {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: 'shop' },
      });
      await client.create(SesameDeployment, deployment({ sesame: { watchNamespaces: ['shop'] } }));
      await stage.settle();
      assert.ok(await find(client, Role, `sesame-resources-${NAMESPACE}-edge`, 'shop'));
      assert.ok(await find(client, RoleBinding, `sesame-resources-${NAMESPACE}-edge`, NAMESPACE));
      const role = await client.get(ClusterRole, { name: `sesame-${NAMESPACE}-edge` });
      assert.ok(!JSON.stringify(role.rules).includes('secrets'));
      const args = (await client.get(Deployment, at('sesame-edge'))).spec?.template.spec?.containers[0]?.args;
      assert.ok(args?.includes(`--watch-namespaces=${NAMESPACE},shop`));
    });
  });
});

describe('an invalid SesameDeployment', () => {
  const cases: [title: string, spec: object, path: RegExp][] = [
    [
      'a bad configuration',
      { configuration: { envoy: { timeouts: { requestTimeout: 'x' } } } },
      /spec\.configuration\.envoy\.timeouts\.requestTimeout: is not a duration/,
    ],
    [
      'a negative number of Envoys',
      { envoy: { deployment: { replicas: -1 } } },
      /spec\.envoy\.deployment\.replicas: must be at least 0/,
    ],
    [
      'an unknown workload',
      { envoy: { workloadType: 'StatefulSet' } },
      /spec\.envoy\.workloadType: must be DaemonSet or Deployment/,
    ],
    [
      'an unknown publication',
      { configuration: { envoy: { managed: { networkPublishing: { type: 'Ingress' } } } } },
      /spec\.configuration\.envoy\.managed\.networkPublishing\.type/,
    ],
    [
      'a mount without a volume',
      { envoy: { extraVolumeMounts: [{ name: 'x', mountPath: '/x' }] } },
      /spec\.envoy\.extraVolumeMounts\[0\]\.name/,
    ],
    [
      'a toleration that contradicts itself',
      { nodePlacement: { tolerations: [{ operator: 'Equal' }] } },
      /spec\.nodePlacement\.tolerations\[0\]\.operator/,
    ],
    ['an unknown feature', { sesame: { disabledFeatures: ['warp'] } }, /spec\.sesame\.disabledFeatures\[0\]/],
    [
      'a root namespace that is not watched',
      { sesame: { watchNamespaces: ['a'] }, configuration: { httpproxy: { rootNamespaces: ['b'] } } },
      /spec\.configuration\.httpproxy\.rootNamespaces\[0\]: is not a namespace that is watched/,
    ],
  ];
  for (const [title, spec, path] of cases)
    test(title, async () => {
      await staged([deployment(spec)], async ({ client }) => {
        const condition = await conditionOf(client, 'ConfigurationValid');
        assert.deepEqual([condition?.status, condition?.reason], ['False', 'ErrorPresent']);
        assert.match(condition?.message ?? '', path);
        assert.equal(await find(client, Deployment, 'sesame-edge'), undefined);
      });
    });

  test('leaves what runs as it is, and propagates the configuration all the same', async () => {
    await staged([deployment()], async (stage) => {
      const { client } = stage;
      const before = await client.get(Deployment, at('sesame-edge'));
      await client.patch(SesameDeployment, at('edge'), 'merge', { spec: { configuration: { health: { port: 0 } } } });
      await stage.settle();
      assert.deepEqual(
        (await client.get(Deployment, at('sesame-edge'))).metadata.resourceVersion,
        before.metadata.resourceVersion,
      );
      assert.equal((await client.get(SesameConfiguration, at('sesameconfig-edge'))).spec?.health?.port, 0);
      assert.equal((await conditionOf(client, 'ConfigurationValid'))?.status, 'False');
      await client.patch(SesameDeployment, at('edge'), 'merge', {
        spec: { configuration: { health: { port: 8111 } } },
      });
      await stage.settle();
      assert.equal((await conditionOf(client, 'ConfigurationValid'))?.status, 'True');
    });
  });

  test('has a negative number of replicas refused by the server', async () => {
    await staged([], async ({ client }) => {
      await assert.rejects(
        client.create(SesameDeployment, deployment({ replicas: -1 })),
        /\.spec\.replicas: Invalid value/,
      );
    });
  });

  test('has fields of workloads with a typo refused by the server', async () => {
    await staged([], async ({ client }) => {
      const create = (spec: object) =>
        client.create(SesameDeployment, deployment(spec), { dryRun: true, fieldValidation: 'Strict' });
      await create({
        sesame: { resources: { limits: { cpu: 1, memory: '1Gi' } }, deployment: { strategy: { type: 'Recreate' } } },
        envoy: {
          daemonSet: { updateStrategy: { rollingUpdate: { maxSurge: '10%', maxUnavailable: 0 } } },
          extraVolumes: [{ name: 'a', configMap: { name: 'b' } }],
          extraVolumeMounts: [{ name: 'a', mountPath: '/a', readOnly: true }],
        },
      });
      for (const [spec, problem] of [
        [{ sesame: { resources: { limit: { cpu: 1 } } } }, /unknown field .*limit"/],
        [{ envoy: { daemonSet: { updateStrategy: { rollingUpdate: { surge: 1 } } } } }, /unknown field .*surge"/],
        [{ envoy: { extraVolumes: [{ name: 'a', configmap: { name: 'b' } }] } }, /unknown field .*configmap"/],
        [{ envoy: { extraVolumeMounts: [{ name: 'a', path: '/a' }] } }, /mountPath: Required|unknown field .*path"/],
      ] as const)
        await assert.rejects(create(spec), problem);
    });
  });

  test('has a name that is too long refused by the server', async () => {
    await staged([], async ({ client }) => {
      await assert.rejects(client.create(SesameDeployment, deployment({}, 'x'.repeat(50))), /at most 49 characters/);
    });
  });
});
