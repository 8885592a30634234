// The reads of a route besides itself: the backends of its Services, and whether they have ready endpoints.
import { EndpointSlice, Service } from '@capstan/kube';
import { derivation, index, reading } from '@capstan/reconcile';
import { MIRROR_ANNOTATION } from '../discover/mirror/metadata.ts';
import { gimbalLabel } from '../kinds/index.ts';

/** The backend that a Service was discovered in; null for one of this cluster. */
export const backendOfService = ({ metadata }: Service) => gimbalLabel(metadata.labels, 'backend') ?? null;

const slicesByService = index(EndpointSlice, 'service of a slice', ({ metadata }) => {
  const service = metadata.labels?.['kubernetes.io/service-name'];
  return service === undefined ? [] : [`${metadata.namespace}/${service}`];
});

/** By `namespace/name` of a Service: whether it has ready endpoints, or slices at all. */
export const readiness = derivation({
  name: 'ready endpoints of a service',
  compute({ key, read }): 'ready' | 'none' | 'unknown' {
    const slices = read.by(slicesByService, key, hasReady);
    if (slices.length === 0) return 'unknown';
    return slices.includes(true) ? 'ready' : 'none';
  },
});

const hasReady = ({ endpoints }: EndpointSlice) => endpoints?.some(isReady) ?? false;

/** A missing `ready` condition counts as ready, as in Kubernetes. */
function isReady({ addresses, conditions }: NonNullable<EndpointSlice['endpoints']>[number]): boolean {
  return conditions?.ready !== false && addresses.length > 0;
}

/** The annotation that marks an object of a discoverer: only marked objects are removed with a backend. */
const MIRROR = `metadata.annotations[${MIRROR_ANNOTATION}]`;

/** Services are read for their labels, slices for whether an endpoint is ready: thousands of them are cached. */
export const SERVICE_READS = [
  reading(Service, 'everywhere', { fields: [MIRROR] }),
  reading(EndpointSlice, 'everywhere', { fields: [MIRROR, 'endpoints.addresses', 'endpoints.conditions.ready'] }),
];
