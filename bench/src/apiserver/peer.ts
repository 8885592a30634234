// The server that the embedded one is measured beside: a real kube-apiserver with etcd, as `npm run setup:real -- kubernetes`
// builds it. As in production it acknowledges a write when it is on disk. Without it the figures have no peer.
import { type Binaries, findBinaries, startRealCluster } from '@capstan/testing';
import { addressIn, type ServerUnderTest } from './server.ts';

export const PEER = 'kube-apiserver with etcd';

/** How to start it; undefined where no real control plane has been built. */
export function findPeer(): (() => Promise<ServerUnderTest>) | undefined {
  const binaries = findBinaries();
  return 'missing' in binaries ? undefined : () => startPeer(binaries);
}

async function startPeer(binaries: Binaries): Promise<ServerUnderTest> {
  const cluster = await startRealCluster({ binaries, durable: true });
  const stop = () => cluster.close();
  return {
    // The one that answers comes first.
    pids: [cluster.pids['kube-apiserver'], cluster.pids.etcd].filter((pid) => pid !== undefined),
    address: await addressIn(cluster.kubeconfigFile),
    kubeconfig: cluster.kubeconfigFile,
    stop,
    kill: stop,
  };
}

/** Returns the note of a figure without a peer: the programs that are missing. */
export function peerNote(): string {
  const binaries = findBinaries();
  return 'missing' in binaries ? `; no peer: ${binaries.missing}` : '';
}
