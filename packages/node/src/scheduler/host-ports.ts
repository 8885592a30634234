// Ports that a pod takes on its node's own address, of which there is one for all pods on it.
import type { Pod } from '@capstan/kube';

export interface HostPort {
  protocol: string;
  address: string;
  port: number;
}

export function hostPortsOf(pod: Pod): HostPort[] {
  const isOnHost = pod.spec?.hostNetwork === true;
  const sidecars = (pod.spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...(pod.spec?.containers ?? []), ...sidecars]
    .flatMap(({ ports = [] }) => ports)
    .flatMap(({ hostPort, containerPort, protocol = 'TCP', hostIP }) => {
      const port = hostPort ?? (isOnHost ? containerPort : 0);
      return port > 0 ? [{ protocol, address: hostIP || ANY, port }] : [];
    });
}

const ANY = '0.0.0.0';

/** The first port of the pod that one of the others has already. */
export function takenPort(pod: Pod, others: readonly Pod[]): { port: HostPort; holder: Pod } | undefined {
  for (const port of hostPortsOf(pod)) {
    const holder = others.find((other) => hostPortsOf(other).some((one) => collides(one, port)));
    if (holder !== undefined) return { port, holder };
  }
  return undefined;
}

function collides(a: HostPort, b: HostPort): boolean {
  const isSameAddress = a.address === b.address || a.address === ANY || b.address === ANY;
  return a.port === b.port && a.protocol === b.protocol && isSameAddress;
}
