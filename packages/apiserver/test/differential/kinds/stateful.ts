import { type GeneratedKind, maybe, subset } from './kind.ts';
import { deployments, workload } from './workloads.ts';

const claim = (name: string) => ({
  metadata: { name },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
});

export const statefulSets: GeneratedKind = {
  ...deployments,
  collection: '/apis/apps/v1/namespaces/{ns}/statefulsets',
  kind: 'StatefulSet',
  content: (random) => ({
    spec: {
      ...workload(random),
      ...maybe(random, 0.8, () => ({ serviceName: random.pick(['a', 'b', '', 'Not A Name']) })),
      ...maybe(random, 0.6, () => ({ replicas: random.pick<unknown>([0, 1, 3, 3, -1, '2']) })),
      ...maybe(random, 0.2, () => ({ podManagementPolicy: random.pick(['Parallel', 'OrderedReady', 'Random']) })),
      ...maybe(random, 0.3, () => ({
        updateStrategy: random.pick<object>([
          { type: 'OnDelete' },
          { type: 'RollingUpdate' },
          { type: 'RollingUpdate', rollingUpdate: { partition: 1 } },
          { rollingUpdate: { partition: -1 } },
          { type: 'OnDelete', rollingUpdate: { partition: 1 } },
          { rollingUpdate: { maxUnavailable: random.pick<unknown>([1, '50%', 0, '150%']) } },
          { type: 'Other' },
        ]),
      })),
      ...maybe(random, 0.3, () => ({
        volumeClaimTemplates: random.pick<unknown[]>([[claim('data')], [claim('data'), claim('more')], []]),
      })),
      ...maybe(random, 0.2, () => ({
        persistentVolumeClaimRetentionPolicy: random.pick<object>([
          { whenDeleted: 'Delete' },
          { whenScaled: 'Delete', whenDeleted: 'Retain' },
          { whenScaled: 'Other' },
          {},
        ]),
      })),
      ...maybe(random, 0.2, () => ({ minReadySeconds: random.pick([5, -5]) })),
      ...maybe(random, 0.1, () => ({ revisionHistoryLimit: random.pick([3, -1]) })),
      ...maybe(random, 0.1, () => ({ ordinals: { start: random.pick([0, 5, -1]) } })),
    },
  }),
  patch: (random) =>
    random.chance(0.5)
      ? deployments.patch(random)
      : random.pick<Record<string, unknown>>([
          { spec: { serviceName: 'other' } },
          { spec: { podManagementPolicy: 'Parallel' } },
          { spec: { updateStrategy: { type: 'OnDelete' } } },
          { spec: { updateStrategy: { rollingUpdate: { partition: 2 } } } },
          { spec: { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' } } },
          { spec: { volumeClaimTemplates: [claim('late')] } },
          { spec: { revisionHistoryLimit: 2 } },
          { spec: { minReadySeconds: 7 } },
          { spec: { ordinals: { start: 1 } } },
        ]),
  applied: (random) => {
    const { spec } = deployments.applied(random) as { spec: Record<string, unknown> };
    const { strategy: _, ...rest } = spec;
    return { spec: { ...rest, ...maybe(random, 0.8, () => ({ serviceName: 'a' })) } };
  },
  status: (random) => ({
    replicas: random.pick([0, 1, -1]),
    ...maybe(random, 0.4, () => ({ readyReplicas: random.pick([0, 1, 5]) })),
    ...maybe(random, 0.4, () => ({ currentReplicas: 1, updatedReplicas: random.pick([1, -2]) })),
    ...maybe(random, 0.3, () => ({ currentRevision: 'a', collisionCount: random.pick([1, -1]) })),
    ...maybe(random, 0.3, () => ({ availableReplicas: random.pick([1, 9]) })),
  }),
  fieldSelectors: ['metadata.name=a', 'spec.replicas=1'],
};

const METRICS = [
  { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
  { type: 'Resource', resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '100Mi' } } },
  { type: 'Pods', pods: { metric: { name: 'hits' }, target: { type: 'AverageValue', averageValue: '1k' } } },
  {
    type: 'Object',
    object: {
      metric: { name: 'requests' },
      describedObject: { apiVersion: 'v1', kind: 'Service', name: 'a' },
      target: { type: 'Value', value: '10' },
    },
  },
  { type: 'External', external: { metric: { name: 'queue' }, target: { type: 'Value', value: 30 } } },
  { type: 'ContainerResource', containerResource: { name: 'cpu', container: 'c', target: { type: 'Utilization' } } },
  { type: 'Resource', resource: { name: 'cpu', target: { type: 'Other', averageUtilization: -1 } } },
  { type: 'Resource' },
  { type: 'Nothing' },
  {},
];

const BEHAVIOURS = [
  {},
  { scaleDown: { stabilizationWindowSeconds: 60 } },
  { scaleDown: { stabilizationWindowSeconds: 5000 } },
  { scaleUp: { selectPolicy: 'Disabled' } },
  { scaleUp: { policies: [] } },
  { scaleUp: { policies: [{ type: 'Pods', value: 2, periodSeconds: 30 }] } },
  { scaleUp: { policies: [{ type: 'Lots', value: 0, periodSeconds: 3000 }], selectPolicy: 'Any' } },
];

export const autoscalers: GeneratedKind = {
  collection: '/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers',
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  names: ['a', 'b'],
  content: (random) => ({
    spec: {
      ...maybe(random, 0.97, () => ({
        scaleTargetRef: random.pick<object>([
          { apiVersion: 'apps/v1', kind: 'Deployment', name: 'a' },
          { kind: 'Deployment', name: 'a' },
          { apiVersion: 'apps/v1', kind: 'Deployment', name: 'b' },
          { apiVersion: 'a/b/c', kind: '', name: 'not/a/name' },
          {},
        ]),
      })),
      ...maybe(random, 0.95, () => ({ maxReplicas: random.pick<unknown>([5, 5, 5, 1, 0, -1, 'x']) })),
      ...maybe(random, 0.5, () => ({ minReplicas: random.pick<unknown>([1, 2, 2, 0, 9]) })),
      ...maybe(random, 0.6, () => ({
        metrics: random.chance(0.7) ? [random.pick(METRICS.slice(0, 5))] : subset(random, METRICS),
      })),
      ...maybe(random, 0.4, () => ({ behavior: random.pick<object>(BEHAVIOURS) })),
    },
  }),
  patch: (random) =>
    random.pick<Record<string, unknown>>([
      { spec: { maxReplicas: random.pick([7, 0]) } },
      { spec: { minReplicas: null } },
      { spec: { metrics: [random.pick(METRICS)] } },
      { spec: { metrics: null } },
      { spec: { behavior: random.pick<object>(BEHAVIOURS) } },
      { spec: { scaleTargetRef: { name: 'c' } } },
      { status: { currentReplicas: 3 } },
    ]),
  operations: (random) =>
    random.pick<unknown[]>([
      [{ op: 'replace', path: '/spec/maxReplicas', value: 8 }],
      [{ op: 'remove', path: '/spec/metrics' }],
    ]),
  applied: (random) => ({
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'a' },
      maxReplicas: random.pick([4, 5]),
      ...maybe(random, 0.5, () => ({ metrics: [random.pick(METRICS.slice(0, 5))] })),
    },
  }),
  status: (random) => ({
    currentReplicas: random.pick([1, 2, -1]),
    desiredReplicas: random.pick([1, 3, -1]),
    ...maybe(random, 0.5, () => ({ conditions: [{ type: 'AbleToScale', status: 'True', reason: 'R' }] })),
    ...maybe(random, 0.3, () => ({
      currentMetrics: [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 20 } } }],
    })),
  }),
  fieldSelectors: ['metadata.name=a', 'spec.maxReplicas=5'],
};
