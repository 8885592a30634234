// Real cables between the clusters of one machine (`capstan up --cables real`): a network namespace for the gateway of each.
import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { catalogue } from '@capstan/kube';
import { createNetworkNamespaces, namespaceProblem } from './network-namespaces.ts';
import { hasFetchedPrograms } from './programs.ts';

export interface LocalCables {
  /** Returns the environment variables that the gateways of a cluster need. */
  environmentOf(cluster: string): Readonly<Record<string, string>>;
  /** The namespace of a cluster's gateway. */
  namespaceOf(cluster: string): string;
  close(): void;
}

export const LocalErrors = catalogue('submariner', {
  NotPossible: (reason: string) => ({
    message: `--cables real: ${reason}`,
    remedy: 'run it as root on Linux, or leave the flag out for simulated cables',
  }),
});

/** Creates the namespaces. Those of an earlier process with the same data folder are removed first. */
export function createLocalCables(data: string, clusters: readonly string[]): LocalCables {
  const problem = namespaceProblem();
  if (problem !== undefined) throw LocalErrors.NotPossible(problem);
  const mark = `cap${createHash('sha256').update(data).digest('hex').slice(0, 6)}`;
  const namespaces = createNetworkNamespaces({ mark, ids: clusters });
  const found = (cluster: string) => {
    const gateway = namespaces.gateways.find(({ id }) => id === cluster);
    if (gateway === undefined) throw new TypeError(`no network namespace for the cluster ${cluster}`);
    return gateway;
  };
  return {
    environmentOf(cluster) {
      const { namespace, number } = found(cluster);
      const runDir = join(data, 'clusters', cluster, 'gateway');
      mkdirSync(runDir, { recursive: true, mode: 0o700 });
      return {
        SUBMARINER_CABLES: 'real',
        SUBMARINER_NETWORK_NAMESPACE: namespace,
        SUBMARINER_RUN_DIR: runDir,
        // All gateways are on one machine.
        SUBMARINER_METRICSPORT: '0',
        SUBMARINER_WIREGUARD_DEVICE: `w${mark}${number}`,
      };
    },
    namespaceOf: (cluster) => found(cluster).namespace,
    close: namespaces.close,
  };
}

/** Returns the programs that some of the drivers lack; undefined if all are there. */
export function missingPrograms(env: Readonly<Record<string, string | undefined>>): string | undefined {
  return hasFetchedPrograms(env)
    ? undefined
    : 'wireguard-go and strongSwan were not fetched (capstan setup cables): without them gateways offer vxlan only';
}
