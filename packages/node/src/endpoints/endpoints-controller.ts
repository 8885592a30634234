// Service to EndpointSlices (and to the older Endpoints object): who stands behind it now.
import {
  EndpointSlice,
  Endpoints,
  equal,
  isNotFound,
  keyOf,
  keyOfObject,
  Pod,
  Service,
  selectorOfLabels,
} from '@capstan/kube';
import { type Controller, source } from '../controller/controller.ts';
import { indexBy } from '../controller/index-by.ts';
import { isEnded, isPodReady } from '../controller/pods.ts';
import type { Toolkit } from '../controller/toolkit.ts';
import { desiredEndpoints } from './desired-endpoints.ts';
import { MANAGED_BY_LABEL, MANAGER, SERVICE_LABEL, sliceChanges } from './desired-slices.ts';
import { backendsOf, isManaged } from './service-pods.ts';

export function endpointsController(tools: Toolkit): Controller {
  const { write } = tools;
  const services = tools.cache(Service);
  const endpoints = tools.cache(Endpoints);
  const servicesIn = indexBy(services, ({ metadata }) => metadata.namespace);
  const podsIn = indexBy(tools.cache(Pod), ({ metadata }) => metadata.namespace);
  const slicesOf = indexBy(tools.cache(EndpointSlice), serviceKey);

  function* concerned(pod: Pod): Iterable<string> {
    for (const service of servicesIn.get(pod.metadata.namespace ?? '')) {
      const isSelected =
        isManaged(service) && selectorOfLabels(service.spec?.selector ?? {}).matches(pod.metadata.labels);
      if (isSelected) yield keyOfObject(service);
    }
  }

  async function updateSlices(service: Service, key: string): Promise<void> {
    const pods = podsIn.get(service.metadata.namespace ?? '');
    const { create, update, remove } = sliceChanges(service, backendsOf(service, pods), slicesOf.get(key));
    for (const slice of create) await write.create(EndpointSlice, slice);
    for (const slice of update) await write.update(EndpointSlice, slice);
    for (const slice of remove) await write.remove(EndpointSlice, slice);
  }

  async function updateEndpoints(service: Service, key: string): Promise<void> {
    const existing = endpoints.get(key);
    const pods = podsIn.get(service.metadata.namespace ?? '');
    const wanted = desiredEndpoints(service, backendsOf(service, pods), existing);
    if (existing === undefined) await write.create(Endpoints, wanted);
    else if (!equal(existing, wanted)) await write.update(Endpoints, wanted);
  }

  /** Removes the slices of a Service that is gone, or that has no selector any more. */
  async function clear(key: string, service: Service | undefined): Promise<void> {
    for (const slice of slicesOf.get(key)) await write.remove(EndpointSlice, slice);
    const existing = endpoints.get(key);
    if (service !== undefined || existing === undefined) return;
    if (existing.metadata.labels?.['endpoints.kubernetes.io/managed-by'] !== 'endpoint-controller') return;
    await write.remove(Endpoints, existing).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  }

  return {
    name: 'endpoints',
    // Pods of a rollout become ready together; each slice is written once for all of them.
    batchMs: 20,
    sources: [
      source(tools, Service, (service) => [keyOfObject(service)]),
      source(tools, EndpointSlice, (slice) => {
        const key = serviceKey(slice);
        return key === undefined ? [] : [key];
      }),
      source(tools, Endpoints, (object, old) => (old === undefined ? [] : [keyOfObject(object)])),
      source(tools, Pod, (pod, old, isDeleted) => {
        if (!isDeleted && old !== undefined && !isNews(pod, old)) return [];
        return [...concerned(pod), ...(old === undefined ? [] : concerned(old))];
      }),
    ],
    async reconcile(key) {
      const service = services.get(key);
      if (service === undefined || !isManaged(service)) {
        await clear(key, service);
        return undefined;
      }
      if (service.metadata.deletionTimestamp !== undefined) return undefined;
      await updateSlices(service, key);
      await updateEndpoints(service, key);
      return undefined;
    },
  };
}

/** Returns the Service of a slice that this controller created. */
function serviceKey({ metadata }: EndpointSlice): string | undefined {
  const name = metadata.labels?.[SERVICE_LABEL];
  if (name === undefined || metadata.labels?.[MANAGED_BY_LABEL] !== MANAGER) return undefined;
  return keyOf({ namespace: metadata.namespace ?? '', name });
}

/** Most changes of a pod's status change nothing for those who call it. */
function isNews(pod: Pod, old: Pod): boolean {
  const view = (one: Pod) => [
    one.metadata.labels,
    one.metadata.deletionTimestamp,
    one.status?.podIP,
    one.spec?.nodeName,
    isPodReady(one),
    isEnded(one),
  ];
  return !equal(view(pod), view(old));
}
