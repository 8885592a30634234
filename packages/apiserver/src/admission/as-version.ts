// Objects of a request in another version than the one that the client speaks.
import type { UnknownObject } from '@capstan/kube';
import type { AdmissionRequest } from '../core.ts';
import { inVersion, type ResourceVersion } from '../resources/resource.ts';

/** The request with its objects in another version; those of a subresource with a kind of its own have only one. */
export function asVersion(request: AdmissionRequest, version: ResourceVersion): AdmissionRequest {
  if (version === request.version || hasOwnKind(request)) return request;
  const convert = (object: UnknownObject | undefined) => object && between(object, request, request.version, version);
  return { ...request, object: convert(request.object), old: convert(request.old) };
}

export function asRequested(object: UnknownObject, request: AdmissionRequest, version: ResourceVersion): UnknownObject {
  if (version === request.version || hasOwnKind(request)) return object;
  return between(object, request, version, request.version);
}

const between = (
  object: UnknownObject,
  { resource }: AdmissionRequest,
  from: ResourceVersion,
  to: ResourceVersion,
): UnknownObject => inVersion(resource, to, from.toStored?.(object) ?? object);

const hasOwnKind = ({ subresource }: AdmissionRequest) => subresource !== undefined && subresource !== 'status';
