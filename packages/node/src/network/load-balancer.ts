// Services of type LoadBalancer: clients of this machine reach them at the Service's own address, or at the loopback address that
// they ask for.
import { equal, refOf, Service } from '@capstan/kube';
import type { Toolkit } from '../controller/toolkit.ts';
import { isInRange } from './address-pool.ts';

const LOOPBACK = '127.0.0.0/8';

/** The address in `spec.loadBalancerIP`, where something can listen on it. */
export function requestedAddress(spec: Service['spec']): readonly string[] | undefined {
  const address = spec?.type === 'LoadBalancer' ? spec.loadBalancerIP : undefined;
  return address !== undefined && isInRange(address, LOOPBACK) ? [address] : undefined;
}

/** Returns the address for `status.loadBalancer`; undefined for none. */
export function balancedAddress({ spec }: Service, range: string): string | undefined {
  if (spec?.type !== 'LoadBalancer') return undefined;
  const own = (spec.clusterIPs ?? [spec.clusterIP ?? '']).filter((address) => isInRange(address, range));
  return requestedAddress(spec)?.[0] ?? own[0];
}

export async function publishAddress(
  tools: Pick<Toolkit, 'write'>,
  service: Service,
  address: string | undefined,
): Promise<void> {
  const before = service.status?.loadBalancer?.ingress ?? [];
  // An address that another controller published belongs to that controller.
  if (before.some(({ ip = '' }) => !isInRange(ip, LOOPBACK))) return;
  const ingress = address === undefined ? [] : [{ ip: address }];
  if (
    equal(
      before.map(({ ip }) => ({ ip })),
      ingress,
    )
  )
    return;
  const status = { loadBalancer: { ingress: ingress.length === 0 ? null : ingress } };
  await tools.write.patch(Service, refOf(service), 'merge', { status }, 'status');
}
