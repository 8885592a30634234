// A package runtime of your own. `crossplane core start --package-runtime=External` installs the objects of packages and runs nothing. This
// program runs the Providers that name a DaemonSetRuntimeConfig, a pod on every node that the config chooses.

import type { Condition, KubeObject } from '@capstan/kube';
import {
  array,
  DaemonSet,
  defineKind,
  externalKind,
  findCondition,
  map,
  object,
  ServiceAccount,
  string,
} from '@capstan/kube';
import { apply, conditionType, operator, plan, reading, reconciler } from '@capstan/reconcile';

export const DaemonSetRuntimeConfig = defineKind({
  group: 'pkg.example.org',
  version: 'v1',
  kind: 'DaemonSetRuntimeConfig',
  scope: 'Cluster',
  description: 'How Providers are run, one pod a node.',
  spec: object({
    nodeSelector: map(string(), { default: {}, description: 'The nodes; all of them by default.' }),
    args: array(string(), { default: [], description: 'Arguments of the Provider.' }),
  }),
});

/** The fields of a ProviderRevision that a runtime reads. Crossplane defines and creates it. */
interface ProviderRevision extends KubeObject {
  spec: {
    desiredState: 'Active' | 'Inactive';
    image: string;
    packagePullPolicy?: string;
    packagePullSecrets?: { name: string }[];
    runtimeConfigRef?: { apiVersion?: string; kind?: string; name: string };
  };
  status?: { resolvedImage?: string; conditions?: Condition[] };
}
export const ProviderRevision = externalKind<ProviderRevision>({
  group: 'pkg.crossplane.io',
  version: 'v1',
  kind: 'ProviderRevision',
  plural: 'providerrevisions',
  scope: 'Cluster',
  hasStatus: true,
});

const NAMESPACE = 'crossplane-system';
const runtimeHealthy = conditionType<'Running' | 'Starting' | 'NoConfig'>('RuntimeHealthy');
/** Zero of zero pods are ready before the DaemonSet's controller has looked at it. */
const runningOf = ({ metadata, status }: DaemonSet) => {
  const ready = status?.numberAvailable ?? 0;
  const isCurrent = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  return { ready, isComplete: isCurrent && ready >= (status?.desiredNumberScheduled ?? 0) };
};

const daemonSetRuntime = reconciler({
  name: 'daemon-set-runtime',
  resource: ProviderRevision,
  // status.observedGeneration is Crossplane's.
  primary: false,
  reads: [DaemonSetRuntimeConfig, reading(DaemonSet, 'owned')],
  writes: [ServiceAccount, DaemonSet],
  reconcile({ object: revision, read }) {
    const { desiredState, image, packagePullPolicy, packagePullSecrets, runtimeConfigRef: ref } = revision.spec;
    // If it is inactive, or controlled by another runtime, the objects that were created for it are removed.
    if (desiredState !== 'Active' || ref?.kind !== DaemonSetRuntimeConfig.kind) return plan({});
    const config = read.get(DaemonSetRuntimeConfig, { name: ref.name });
    if (config === undefined) {
      const message = `there is no DaemonSetRuntimeConfig ${ref.name}; create it`;
      return plan({ prune: false, conditions: [runtimeHealthy.isFalse('NoConfig', message)] });
    }
    const { name = '' } = revision.metadata;
    const metadata = { namespace: NAMESPACE, name, labels: { 'pkg.crossplane.io/revision': name } };
    const running = read.get(DaemonSet, metadata, runningOf);
    const container = {
      name: 'package-runtime',
      // ImageConfigs may have rewritten the package's reference.
      image: revision.status?.resolvedImage ?? image,
      args: config.spec.args,
      ...(packagePullPolicy && { imagePullPolicy: packagePullPolicy }),
    };
    const pod = {
      serviceAccountName: name,
      nodeSelector: config.spec.nodeSelector,
      containers: [container],
      ...(packagePullSecrets && { imagePullSecrets: packagePullSecrets }),
    };
    const template = { metadata: { labels: metadata.labels }, spec: pod };
    const installed = findCondition(revision.status?.conditions, 'RevisionHealthy');
    return plan({
      groups: [
        { name: 'account', children: [apply(ServiceAccount, { metadata })] },
        {
          name: 'pods',
          // A Provider ends when its types are not there yet.
          open: installed?.status === 'True',
          waitingFor: 'the types of the package',
          children: [apply(DaemonSet, { metadata, spec: { selector: { matchLabels: metadata.labels }, template } })],
        },
      ],
      conditions: [
        running?.isComplete
          ? runtimeHealthy.isTrue('Running', `it runs on ${running.ready} nodes`)
          : runtimeHealthy.isFalse('Starting', 'not all of its pods are ready; see kubectl get daemonsets'),
      ],
    });
  },
});

export default operator({
  name: 'daemon-set-runtime',
  kinds: [DaemonSetRuntimeConfig],
  reconcilers: [daemonSetRuntime],
});
