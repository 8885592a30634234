import { index } from '@capstan/reconcile';
import { Endpoint, type EndpointSpec } from '../kinds/index.ts';
import { type DriverName, driverNameOf } from '../policy/driver-names.ts';
import type { Offer } from './decision.ts';

/** Returns the offer of an Endpoint. An Endpoint without a list of drivers, from a gateway of an older version, offers its backend. */
export function offerOfEndpoint({ backend, backend_config: config = {}, backends = [] }: EndpointSpec): Offer {
  const own = driverNameOf(backend);
  const drivers = new Map<DriverName, Readonly<Record<string, string>>>();
  for (const { cable_driver: driver } of backends) {
    const name = driverNameOf(driver.name);
    if (name !== undefined) drivers.set(name, driver.config ?? {});
  }
  if (drivers.size === 0 && own !== undefined) drivers.set(own, config);
  return { backend: own, drivers };
}

/** Endpoints by the namespace and the id of their cluster: two while one gateway takes over from another. */
export const endpointsByCluster = index(
  Endpoint,
  'cluster of an endpoint',
  ({ metadata: { namespace = '' }, spec }) => [`${namespace}/${spec.cluster_id}`],
);
