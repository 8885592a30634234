// What is kept in memory of a remote cluster: no more than what can be seen in its mirror.
import type { EndpointSlice, Endpoints, KubeObject, ObjectMeta, Service } from '@capstan/kube/cluster';

export function trimService({ apiVersion, kind, metadata, spec }: Service): Service {
  const { type, clusterIP, externalName, ports } = spec ?? {};
  return {
    apiVersion,
    kind,
    metadata: trimMetadata(metadata),
    spec: {
      ...(type !== undefined && { type }),
      ...(clusterIP === 'None' && { clusterIP }),
      ...(externalName !== undefined && { externalName }),
      ...(ports !== undefined && { ports }),
    },
  };
}

export function trimSlice({ apiVersion, kind, metadata, addressType, ports, endpoints }: EndpointSlice): EndpointSlice {
  const { annotations: _annotations, ...kept } = trimMetadata(metadata);
  return {
    apiVersion,
    kind,
    metadata: kept,
    addressType,
    ...(ports !== undefined && { ports }),
    ...(endpoints !== undefined && { endpoints }),
  };
}

export function trimEndpoints({ apiVersion, kind, metadata, subsets }: Endpoints): Endpoints {
  const { annotations: _annotations, ...kept } = trimMetadata(metadata);
  return { apiVersion, kind, metadata: kept, ...(subsets !== undefined && { subsets }) };
}

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

function trimMetadata(metadata: KubeObject['metadata']): ObjectMeta {
  const { name, namespace, uid, resourceVersion, labels, annotations } = metadata;
  const { [LAST_APPLIED]: _applied, ...rest } = annotations ?? {};
  return {
    ...(name !== undefined && { name }),
    ...(namespace !== undefined && { namespace }),
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(labels !== undefined && { labels }),
    ...(Object.keys(rest).length > 0 && { annotations: rest }),
  };
}
