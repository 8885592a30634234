import type { SeededRandom } from '@capstan/testing';
import { type GeneratedKind, maybe, subset } from './kind.ts';

function container(random: SeededRandom, name: string): Record<string, unknown> {
  return {
    name,
    ...maybe(random, 0.97, () => ({ image: random.pick(['web:1', 'web:2', 'web', 'example.com/web@sha256:0000']) })),
    ...maybe(random, 0.4, () => ({
      ports: subset(random, [
        { containerPort: 80, name: 'http' },
        { containerPort: 443 },
        { containerPort: 53, protocol: 'UDP' },
        { containerPort: 80 },
      ]),
    })),
    ...maybe(random, 0.3, () => ({
      env: subset(random, [
        { name: 'A', value: '1' },
        { name: 'B', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
        { name: 'C', valueFrom: { configMapKeyRef: { name: 'a', key: 'k' } } },
      ]),
    })),
    ...maybe(random, 0.3, () => ({
      resources: random.pick<object>([
        { requests: { cpu: '100m', memory: '1Gi' } },
        { limits: { cpu: 1, memory: '0.5Gi' } },
        { requests: { cpu: '2' }, limits: { cpu: '1' } },
        { limits: { cpu: 'much' } },
      ]),
    })),
    ...maybe(random, 0.2, () => ({
      readinessProbe: { httpGet: { path: '/', port: random.pick<unknown>([80, 'http', 'no port', 0]) } },
    })),
    ...maybe(random, 0.15, () => ({ volumeMounts: [{ name: random.pick(['v', 'w']), mountPath: '/v' }] })),
    ...maybe(random, 0.1, () => ({ imagePullPolicy: random.pick(['Always', 'Never', 'Sometimes']) })),
    ...maybe(random, 0.1, () => ({ securityContext: { runAsNonRoot: true, capabilities: { drop: ['ALL'] } } })),
  };
}

export function podSpec(random: SeededRandom): Record<string, unknown> {
  const names = random.pick([['c'], ['c'], ['c', 'd'], ['c', 'c'], []]);
  return {
    ...maybe(random, 0.98, () => ({ containers: names.map((name) => container(random, name)) })),
    ...maybe(random, 0.2, () => ({ initContainers: [container(random, 'i')] })),
    ...maybe(random, 0.3, () => ({
      volumes: subset(random, [
        { name: 'v', emptyDir: {} },
        { name: 'w', configMap: { name: 'a' } },
        { name: 's', secret: { secretName: 'a' } },
      ]),
    })),
    ...maybe(random, 0.15, () => ({ restartPolicy: random.pick(['Always', 'Never', 'Soon']) })),
    ...maybe(random, 0.15, () => ({ terminationGracePeriodSeconds: random.pick([0, 5, -1]) })),
    ...maybe(random, 0.15, () => ({ nodeSelector: { a: 'b' } })),
    ...maybe(random, 0.15, () => ({
      tolerations: [{ key: 'k', operator: random.pick(['Exists', 'Equal']), effect: 'NoSchedule' }],
    })),
    ...maybe(random, 0.1, () => ({ serviceAccountName: 'default' })),
    ...maybe(random, 0.1, () => ({ hostNetwork: true })),
    ...maybe(random, 0.1, () => ({ dnsPolicy: random.pick(['Default', 'None', 'Other']) })),
    ...maybe(random, 0.03, () => ({ unknownField: {} })),
  };
}

export function workload(random: SeededRandom): Record<string, unknown> {
  const label = random.chance(0.95) ? 'x' : 'y';
  return {
    selector: { matchLabels: { app: 'x' } },
    template: { metadata: { labels: { app: label } }, spec: podSpec(random) },
  };
}

const image = (value: string) => ({ spec: { template: { spec: { containers: [{ name: 'c', image: value }] } } } });

export const deployments: GeneratedKind = {
  collection: '/apis/apps/v1/namespaces/{ns}/deployments',
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  names: ['a', 'b'],
  content: (random) => ({
    spec: {
      ...workload(random),
      ...maybe(random, 0.6, () => ({ replicas: random.pick<unknown>([0, 1, 3, 3, 3, -1, '2']) })),
      ...maybe(random, 0.2, () => ({ paused: random.chance(0.5) })),
      ...maybe(random, 0.2, () => ({ minReadySeconds: random.pick([5, 1000, -5]) })),
      ...maybe(random, 0.3, () => ({
        strategy: random.pick<object>([
          { type: 'Recreate' },
          { type: 'RollingUpdate' },
          { rollingUpdate: { maxSurge: 1 } },
          { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } },
          { rollingUpdate: { maxSurge: '50%', maxUnavailable: '150%' } },
          { type: 'Recreate', rollingUpdate: {} },
        ]),
      })),
      ...maybe(random, 0.1, () => ({ revisionHistoryLimit: 3, progressDeadlineSeconds: 30 })),
    },
  }),
  patch: (random) =>
    random.pick<Record<string, unknown>>([
      { spec: { replicas: random.pick<unknown>([2, 5, 'x', null]) } },
      image('web:2'),
      image('web:3'),
      { spec: { template: { spec: { containers: [{ name: 'e', image: 'extra' }] } } } },
      { spec: { template: { spec: { containers: [{ name: 'c', $patch: 'delete' }] } } } },
      { spec: { template: { spec: { '$setElementOrder/containers': [{ name: 'c' }] } } } },
      { spec: { template: { metadata: { annotations: { restarted: 'now' } } } } },
      { spec: { selector: { matchLabels: { app: 'z' } } } },
      { spec: { paused: true } },
      { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } } },
      { spec: { strategy: { type: 'Recreate' } } },
      { spec: { strategy: null } },
      { status: { replicas: 9 } },
      { spec: { template: { spec: { containers: [{ name: 'c', ports: [{ containerPort: 81 }] }] } } } },
      {
        spec: {
          template: {
            spec: {
              containers: [
                {
                  name: 'c',
                  env: [
                    { name: 'A', value: '2' },
                    { name: 'Z', value: 'z' },
                  ],
                },
              ],
            },
          },
        },
      },
      { spec: { template: { spec: { tolerations: [{ key: 'n', operator: 'Exists' }] } } } },
    ]),
  operations: (random) =>
    random.pick<unknown[]>([
      [{ op: 'replace', path: '/spec/replicas', value: 4 }],
      [{ op: 'add', path: '/spec/template/spec/containers/-', value: { name: 'n', image: 'n' } }],
      [{ op: 'replace', path: '/spec/template/spec/containers/0/image', value: 'web:4' }],
      [{ op: 'remove', path: '/spec/replicas' }],
      [{ op: 'remove', path: '/spec/template' }],
      [{ op: 'test', path: '/spec/replicas', value: 1 }],
    ]),
  applied: (random) => ({
    spec: {
      ...maybe(random, 0.5, () => ({ replicas: random.pick([1, 2]) })),
      ...maybe(random, 0.9, () => ({
        selector: { matchLabels: { app: 'x' } },
        template: {
          metadata: { labels: { app: 'x' } },
          spec: {
            containers: random.pick<object[]>([
              [{ name: 'c', image: random.pick(['web:1', 'web:2']) }],
              [
                {
                  name: 'c',
                  image: 'web:1',
                  env: subset(random, [
                    { name: 'A', value: '1' },
                    { name: 'B', value: '2' },
                  ]),
                },
              ],
              [
                {
                  name: 'c',
                  image: 'web:1',
                  ports: subset(random, [{ containerPort: 80 }, { containerPort: 80, protocol: 'UDP' }]),
                },
              ],
              [
                { name: 'c', image: 'web:1' },
                { name: 'd', image: 'side' },
              ],
              [
                { name: 'c', image: 'web:1' },
                { name: 'c', image: 'web:2' },
              ],
            ]),
          },
        },
      })),
      ...maybe(random, 0.2, () => ({ strategy: { type: 'Recreate' } })),
    },
  }),
  status: (random) => ({
    ...maybe(random, 0.8, () => ({ replicas: random.pick([1, 2, -1]), observedGeneration: 1 })),
    ...maybe(random, 0.5, () => ({
      conditions: [{ type: random.pick(['Available', 'Progressing']), status: 'True', reason: 'R', message: 'm' }],
    })),
  }),
  hasScale: true,
  fieldSelectors: ['metadata.name=a', 'spec.replicas=1'],
};

export const replicaSets: GeneratedKind = {
  ...deployments,
  collection: '/apis/apps/v1/namespaces/{ns}/replicasets',
  kind: 'ReplicaSet',
  content: (random) => ({
    spec: {
      ...workload(random),
      ...maybe(random, 0.6, () => ({ replicas: random.pick<unknown>([0, 1, 3, -1]) })),
    },
  }),
  status: (random) => ({ replicas: random.pick([0, 1]), readyReplicas: random.pick([0, 1, 5]) }),
  fieldSelectors: ['status.replicas=0', 'metadata.name=b'],
};

export const daemonSets: GeneratedKind = {
  ...deployments,
  collection: '/apis/apps/v1/namespaces/{ns}/daemonsets',
  kind: 'DaemonSet',
  content: (random) => ({
    spec: {
      ...workload(random),
      ...maybe(random, 0.3, () => ({
        updateStrategy: random.pick<object>([
          { type: 'OnDelete' },
          { rollingUpdate: { maxUnavailable: 2 } },
          { rollingUpdate: { maxSurge: 1 } },
        ]),
      })),
    },
  }),
  applied: (random) => {
    const { spec } = deployments.applied(random) as { spec: Record<string, unknown> };
    const { replicas: _, strategy: _strategy, ...rest } = spec;
    return { spec: rest };
  },
  status: () => ({ currentNumberScheduled: 1, desiredNumberScheduled: 1, numberMisscheduled: 0, numberReady: 1 }),
  hasScale: false,
  fieldSelectors: ['metadata.name=a'],
};

export const pods: GeneratedKind = {
  collection: '/api/v1/namespaces/{ns}/pods',
  apiVersion: 'v1',
  kind: 'Pod',
  names: ['a', 'b'],
  content: (random) => ({ spec: podSpec(random) }),
  patch: (random) =>
    random.pick<Record<string, unknown>>([
      { spec: { containers: [{ name: 'c', image: 'web:9' }] } },
      { spec: { activeDeadlineSeconds: 30 } },
      { spec: { nodeName: 'n' } },
      { spec: { terminationGracePeriodSeconds: 1 } },
      { spec: { tolerations: [{ key: 'new', operator: 'Exists' }] } },
      { spec: { containers: [{ name: 'c', command: ['x'] }] } },
      { status: { phase: 'Running' } },
    ]),
  operations: (random) =>
    random.pick<unknown[]>([
      [{ op: 'replace', path: '/spec/containers/0/image', value: 'web:8' }],
      [{ op: 'replace', path: '/spec/restartPolicy', value: 'Never' }],
      [{ op: 'remove', path: '/spec/containers/0/image' }],
    ]),
  applied: (random) => ({
    spec: { containers: [{ name: 'c', image: random.pick(['web:1', 'web:2']) }] },
  }),
  status: (random) => ({
    phase: random.pick(['Running', 'Pending', 'Failed']),
    conditions: [{ type: 'Ready', status: random.pick(['True', 'False']) }],
    ...maybe(random, 0.3, () => ({ podIP: '10.1.2.3', podIPs: [{ ip: '10.1.2.3' }] })),
  }),
  fieldSelectors: [
    'status.phase=Pending',
    'spec.nodeName=',
    'spec.restartPolicy=Always',
    'spec.containers=1',
    'status.podIP=',
  ],
};
