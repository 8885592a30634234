// The AdmissionReview: the request to a webhook, and its permitted answers (admission.k8s.io/v1, and v1beta1 for old ones).
import type { UnknownObject } from '@capstan/kube';
import type { AdmissionRequest, UserInfo } from '../core.ts';
import type { Status } from '../errors.ts';
import { isObject, type JsonObject } from '../json/copy.ts';
import type { ResourceVersion } from '../resources/resource.ts';
import { CallFailure } from './call-failure.ts';
import type { Webhook } from './webhook.ts';

export interface ReviewAnswer {
  readonly allowed: boolean;
  /** Why not. */
  readonly status: Partial<Status> | undefined;
  readonly warnings: readonly string[];
  /** JSON text of a list of operations, or undefined. */
  readonly patch: string | undefined;
}

/** Everything that is sent to a webhook about a request, in the version that the webhook asks for. */
export function reviewRequest(uid: string, request: AdmissionRequest, version: ResourceVersion): JsonObject {
  const { resource, subresource, name, namespace, operation, context, dryRun, options } = request;
  const gvr = (at: ResourceVersion) => ({ group: resource.group, version: at.name, resource: resource.plural });
  return {
    uid,
    kind: kindOf(request, version),
    resource: gvr(version),
    ...(subresource !== undefined && { subResource: subresource }),
    requestKind: kindOf(request, request.version),
    requestResource: gvr(request.version),
    ...(subresource !== undefined && { requestSubResource: subresource }),
    ...(name !== '' && { name }),
    ...(namespace !== '' && { namespace }),
    operation,
    userInfo: userInfo(context.user),
    object: request.object ?? null,
    oldObject: request.old ?? null,
    dryRun,
    options,
  };
}

/** Subresources such as scale have a kind of their own. */
function kindOf({ resource, subresource }: AdmissionRequest, version: ResourceVersion) {
  const sub = subresource === undefined ? undefined : version.subresources.find(({ name }) => name === subresource);
  if (sub && sub.kind !== resource.kind) return { group: sub.group, version: sub.version, kind: sub.kind };
  return { group: resource.group, version: version.name, kind: resource.kind };
}

function userInfo({ name, uid, groups, extra }: UserInfo) {
  return { username: name, ...(uid !== undefined && { uid }), groups, ...(extra && { extra }) };
}

export const reviewOf = ({ reviewVersion }: Webhook, request: JsonObject): UnknownObject | JsonObject => ({
  kind: 'AdmissionReview',
  apiVersion: `admission.k8s.io/${reviewVersion}`,
  request,
});

/** Reads the answer of a webhook; throws a CallFailure if Kubernetes would not accept it. */
export function readAnswer(answer: unknown, { reviewVersion }: Webhook, uid: string, mayPatch: boolean): ReviewAnswer {
  const refuse = (why: string) => new CallFailure(`received invalid webhook response: ${why}`);
  if (!isObject(answer)) throw refuse('the answer is not a JSON object');
  const { kind, apiVersion, response } = answer;
  const isV1 = reviewVersion === 'v1';
  const expected = `admission.k8s.io/${reviewVersion}`;
  // Old webhooks may leave out kind and apiVersion of their answer.
  const isOld = !isV1 && kind === undefined && apiVersion === undefined;
  if (!isOld && (kind !== 'AdmissionReview' || apiVersion !== expected)) {
    const got = `${text(apiVersion)}, Kind=${text(kind)}`;
    throw refuse(`expected webhook response of ${expected}, Kind=AdmissionReview, got ${got}`);
  }
  if (!isObject(response)) throw refuse('webhook response was absent');
  if (isV1 && response['uid'] !== uid) {
    throw refuse(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(text(response['uid']))}`);
  }
  const { allowed, status, warnings } = response;
  return {
    allowed: allowed === true,
    status: isObject(status) ? status : undefined,
    warnings: Array.isArray(warnings) ? warnings.filter((one) => typeof one === 'string') : [],
    patch: patchOf(response, isV1, mayPatch, refuse),
  };
}

function patchOf(response: JsonObject, isV1: boolean, mayPatch: boolean, refuse: (why: string) => Error) {
  const patch = text(response['patch']);
  const type = response['patchType'];
  if (!mayPatch) {
    if (isV1 && patch !== '') throw refuse('validating webhook may not return response.patch');
    if (isV1 && type !== undefined && type !== null)
      throw refuse('validating webhook may not return response.patchType');
    return undefined;
  }
  if (isV1) {
    if (patch !== '' && !type) throw refuse('webhook returned response.patch but not response.patchType');
    if (patch === '' && type) throw refuse('webhook returned response.patchType but not response.patch');
    if (patch !== '' && type !== 'JSONPatch') {
      throw refuse(`webhook returned invalid response.patchType of ${JSON.stringify(text(type))}`);
    }
  }
  return patch === '' ? undefined : Buffer.from(patch, 'base64').toString('utf8');
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
