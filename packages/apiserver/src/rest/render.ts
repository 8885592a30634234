// What an answer looks like: an object in the version that was asked for, or only its metadata. Renderings are remembered
// per stored object, so that a thousand watchers share one.
import type { UnknownObject } from '@capstan/kube';
import { apiVersionOf, inVersion, type Resource } from '../resources/resource.ts';

export interface Rendering {
  /** The same stored object always gives the same rendered object. */
  one(object: UnknownObject): UnknownObject;
  readonly listKind: string;
  readonly listApiVersion: string;
  /** Of bookmarks. */
  readonly kind: string;
  readonly apiVersion: string;
  readonly contentType: string;
}

export type Renderer = (resource: Resource, version: string, accept: string | undefined) => Rendering;

const META_VERSION = 'meta.k8s.io/v1';

export function createRenderer(): Renderer {
  const partials = new WeakMap<UnknownObject, UnknownObject>();
  const versions = new WeakMap<UnknownObject, Map<string, UnknownObject>>();

  const partial = (object: UnknownObject): UnknownObject => {
    const known = partials.get(object);
    if (known) return known;
    const made = { kind: 'PartialObjectMetadata', apiVersion: META_VERSION, metadata: object.metadata };
    partials.set(object, made);
    return made;
  };

  const convert = (resource: Resource, version: string) => (object: UnknownObject) => {
    if (object.apiVersion === apiVersionOf(resource, version)) return object;
    const known = versions.get(object) ?? new Map<string, UnknownObject>();
    versions.set(object, known);
    const made = known.get(version) ?? inVersion(resource, version, object);
    known.set(version, made);
    return made;
  };

  return (resource, version, accept) => {
    if (wantsMetadataOnly(accept)) {
      return {
        one: partial,
        kind: 'PartialObjectMetadata',
        apiVersion: META_VERSION,
        listKind: 'PartialObjectMetadataList',
        listApiVersion: META_VERSION,
        contentType: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
      };
    }
    const apiVersion = apiVersionOf(resource, version);
    return {
      one: convert(resource, version),
      kind: resource.kind,
      apiVersion,
      listKind: resource.listKind,
      listApiVersion: apiVersion,
      contentType: 'application/json',
    };
  };
}

// The first acceptable form counts, as in `application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json`.
function wantsMetadataOnly(accept: string | undefined): boolean {
  if (!accept?.includes('as=PartialObjectMetadata')) return false;
  for (const form of accept.split(',')) {
    if (form.includes('as=PartialObjectMetadata')) return true;
    if (!form.includes('as=') && form.includes('json')) return false;
  }
  return false;
}
