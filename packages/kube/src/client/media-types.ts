import type { PatchType } from './client.ts';

export const JSON_TYPE = 'application/json';
export const APPLY_TYPE = 'application/apply-patch+yaml';

export const PATCH_TYPES: Record<PatchType, string> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
};

/** Plain JSON is the fallback: a server that cannot trim sends the whole object, which includes the metadata. */
export const METADATA_TYPE = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json';
export const METADATA_LIST_TYPE = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';

export const DISCOVERY_TYPE = [
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
  'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList',
  'application/json',
].join(',');
