// The translation's look-ups as tracked reads: a reader of an object is evaluated again when the part that it read has changed.
import { EndpointSlice, equal, Ingress, Secret, Service } from '@capstan/kube';
import { derivation, index, type Reader, reading } from '@capstan/reconcile';
import { ExtensionService } from '../kinds/extension-service.ts';
import { HTTPProxy } from '../kinds/http-proxy.ts';
import { TLSCertificateDelegation } from '../kinds/tls-certificate-delegation.ts';
import type { ServedClasses } from './classes.ts';
import {
  contourServiceView,
  type Lookup,
  type SecretView,
  type ServiceView,
  secretView,
  serviceView,
} from './lookup.ts';
import { SERVICE_NAME_LABEL } from './upstream/endpoints.ts';
import { expiryOf } from './upstream/tls-secret.ts';

/** The fields of a Service that are read: the others are not kept in memory. */
export const SERVICE_READ = reading(Service, 'everywhere', {
  fields: ['metadata.annotations', 'spec.type', 'spec.externalName', 'spec.ports', 'status.loadBalancer'],
});

const SLICE_READ = reading(EndpointSlice, 'everywhere', {
  fields: ['addressType', 'ports', 'endpoints.addresses', 'endpoints.conditions.ready'],
});

/** Every kind that routes are computed from. */
export const ROUTE_READS = [
  HTTPProxy,
  reading(TLSCertificateDelegation, 'everywhere'),
  // A feature that can be disabled, with its permission.
  reading(ExtensionService, 'everywhere', { optional: true }),
  SERVICE_READ,
  SLICE_READ,
  reading(Ingress, 'everywhere'),
  reading(Secret, 'referenced'),
];

export const delegationsBySecret = index(TLSCertificateDelegation, 'secret', ({ metadata, spec }) =>
  spec.delegations.map(({ secretName }) => `${metadata.namespace ?? ''}/${secretName}`),
);

export const slicesByService = index(EndpointSlice, 'service', ({ metadata }) => {
  const service = metadata.labels?.[SERVICE_NAME_LABEL];
  return service === undefined ? [] : [`${metadata.namespace ?? ''}/${service}`];
});

/** One view for all that use a Secret, so that it is checked and encoded once and not with every edit of a route. */
const secrets = derivation<SecretView | null>({
  name: 'secret',
  compute({ key, read }) {
    const at = key.indexOf('/');
    const found = read.get(Secret, { namespace: key.slice(0, at), name: key.slice(at + 1) }, secretContent);
    if (!found) return null;
    const view = secretView(found);
    const expiry = expiryOf(view);
    return expiry !== undefined && read.reached(expiry) ? secretView(found, new Date(expiry).toISOString()) : view;
  },
  equals: (left, right) => equal({ ...left }, { ...right }),
});

/** Annotations of Services are read as these classes have it; without them, only those of projectsesame.io. */
export function readLookup(read: Reader, { contour = false }: ServedClasses = {}): Lookup {
  const view = contour ? contourServiceView : serviceView;
  // Routes of one host use the same few Services again and again: one read of each is enough.
  const services = new Map<string, ServiceView | undefined>();
  const service = (namespace: string, name: string) => {
    const key = `${namespace}/${name}`;
    let found = services.get(key);
    if (found === undefined && !services.has(key)) {
      found = read.get(Service, { namespace, name }, view);
      services.set(key, found);
    }
    return found;
  };
  return {
    proxy: (namespace, name) => read.get(HTTPProxy, { namespace, name }, proxyView),
    service,
    secret: (namespace, name) => read.derived(secrets, `${namespace}/${name}`) ?? undefined,
    extensionService: (namespace, name) =>
      read.access(ExtensionService) === 'served'
        ? read.get(ExtensionService, { namespace, name }, extensionView)
        : undefined,
    delegations: (namespace, secretName) =>
      read
        .by(delegationsBySecret, `${namespace}/${secretName}`, delegationsOf)
        .flatMap((delegations) =>
          delegations.filter((each) => each.secretName === secretName).flatMap((each) => each.targetNamespaces),
        ),
  };
}

/** Status and bookkeeping of a proxy change no route. */
export function proxyView({ apiVersion, kind, metadata, spec }: HTTPProxy): HTTPProxy {
  const { name, namespace, annotations } = metadata;
  const classes = Object.fromEntries(
    Object.entries(annotations ?? {}).filter(([key]) => key.endsWith('/ingress.class')),
  );
  return {
    ...(apiVersion !== undefined && { apiVersion }),
    ...(kind !== undefined && { kind }),
    metadata: {
      ...(name !== undefined && { name }),
      ...(namespace !== undefined && { namespace }),
      annotations: classes,
    },
    spec,
  } as HTTPProxy;
}

function extensionView({ metadata, spec }: ExtensionService): ExtensionService {
  return { metadata: { name: metadata.name, namespace: metadata.namespace }, spec } as ExtensionService;
}

function secretContent({ metadata, type, data }: Secret): Pick<Secret, 'metadata' | 'type' | 'data'> {
  const { name, namespace } = metadata;
  return {
    metadata: { name, namespace },
    ...(type !== undefined && { type }),
    ...(data !== undefined && { data }),
  };
}

function delegationsOf({ spec }: TLSCertificateDelegation): TLSCertificateDelegation['spec']['delegations'] {
  return spec.delegations;
}
