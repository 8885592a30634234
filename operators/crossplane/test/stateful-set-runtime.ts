// A third runtime, for the test beside it: Providers and Functions as StatefulSets. This one file is all of it.
import { conditions, defineKind, integer, type KindOf, object, type Service, StatefulSet, string } from '@capstan/kube';
import type { ChildObject } from '@capstan/reconcile';
import { type BuiltInRuntime, podLabels, workloadOf } from '../src/runtime/index.ts';

export const StatefulSetRuntimeConfig = defineKind({
  group: 'pkg.example.org',
  version: 'v1',
  kind: 'StatefulSetRuntimeConfig',
  scope: 'Cluster',
  spec: object({ replicas: integer({ default: 1 }), storageClassName: string({ optional: true }) }, { optional: true }),
  status: object({ conditions: conditions() }),
});
export type StatefulSetRuntimeConfig = KindOf<typeof StatefulSetRuntimeConfig>;

interface Config {
  readonly replicas: number;
}

export const statefulSetRuntime: BuiltInRuntime<Config> = {
  name: 'StatefulSet',
  config: {
    kind: StatefulSetRuntimeConfig,
    versions: ['v1'],
    versionOf: () => 'v1',
    defaultConfig: () => ({ metadata: { name: 'default' }, spec: { replicas: 2 } }),
  },
  workload: workloadOf({
    kind: StatefulSet,
    fields: ['spec', 'status'],
    health({ metadata, spec, status }) {
      const isReady = (status?.readyReplicas ?? 0) >= (spec?.replicas ?? 1);
      const isCurrent = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
      return { isAvailable: isReady, isComplete: isReady && isCurrent, message: isReady ? '' : 'pods are missing' };
    },
    account: ({ spec }) => spec?.template.spec?.serviceAccountName,
  }),
  emptyConfig: { replicas: 1 },
  normalize(found) {
    const { replicas = 1 } = (found as StatefulSetRuntimeConfig).spec ?? {};
    const errors = replicas > 9 ? [{ path: 'spec.replicas', message: 'spec.replicas is too many; ask for 9' }] : [];
    return { config: errors.length > 0 ? undefined : { replicas }, errors, warnings: [] };
  },
  render({ revision, config, namespace }) {
    const { name, image } = revision;
    const labels = podLabels(revision);
    const ports = [{ name: 'webhook', port: 9443, targetPort: 'webhook' }];
    const service: ChildObject<Service> = { metadata: { name, namespace }, spec: { selector: labels, ports } };
    const spec = {
      replicas: config.replicas,
      serviceName: name,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { serviceAccountName: name, containers: [{ name: 'package-runtime', image }] },
      },
    };
    return {
      workload: { metadata: { name, namespace }, spec } as ChildObject<StatefulSet>,
      service,
      serviceAccount: { metadata: { name, namespace } },
      endpoint: undefined,
      notes: [],
    };
  },
};
