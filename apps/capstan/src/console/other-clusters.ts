// Other clusters whose objects the console shows beside those of its own: the other logical clusters of `capstan up`. Their objects are
// cached and read by no reconciler, so that nothing is planned or computed for them.
import { type Client, Deployment, EndpointSlice, type Kind, kindId, Pod, Service } from '@capstan/kube';
import {
  derivation,
  type Operator,
  operator,
  type Role,
  type Runtime,
  reading,
  report,
  withReports,
} from '@capstan/reconcile';

export interface OtherCluster {
  /** The name of its context. */
  readonly name: string;
  readonly client: Client;
}

const OTHER: Role = 'other-cluster';
const PEERS: readonly Kind[] = [Service, EndpointSlice, Deployment, Pod];

/** Declares the kinds of all operators, and the workloads beside them. Secrets of other clusters are not read. */
export function observerOf(operators: readonly Operator[]): Operator {
  const kinds = new Map([...operators.flatMap((one) => one.kinds), ...PEERS].map((kind) => [kindId(kind), kind]));
  const reads = [...kinds.values()]
    .filter(({ sensitive }) => sensitive !== true)
    .map((kind) => reading(kind, 'everywhere', { in: OTHER, optional: true }));
  const page = derivation({ name: 'other-clusters-report', compute: () => undefined });
  return withReports(
    operator({
      name: 'other-clusters',
      kinds: [],
      reconcilers: [],
      reports: [report({ name: 'other-clusters', title: 'Other clusters', of: page, reads })],
    }),
  );
}

/** Adds a world for each cluster whose name is free. */
export function addOtherClusters(
  runtime: Pick<Runtime, 'addWorld' | 'worlds'>,
  clusters: readonly OtherCluster[],
  namespace: string,
): void {
  for (const { name, client } of clusters)
    if (!runtime.worlds.has(name)) runtime.addWorld({ name, role: OTHER, client, namespace });
}
