import type { UnknownObject } from '@capstan/kube';
import { type Core, timestamp } from '../core.ts';
import { badRequest, conflict, type FieldError, fieldInvalid, invalid, notFound } from '../errors.ts';
import { isObject, textAt, valueAt } from '../json/copy.ts';
import { type BoundObjects, SERVICE_ACCOUNTS, type ServiceAccountTokens } from './service-account-tokens.ts';

const DEFAULT_SECONDS = 3600;
const MIN_SECONDS = 600;
const MAX_SECONDS = 2 ** 32;
const KIND = { group: 'authentication.k8s.io', kind: 'TokenRequest' };

/** POST serviceaccounts/x/token: a token of the account, for whom and as long as was asked. */
export function requestToken(
  core: Core,
  tokens: ServiceAccountTokens,
  namespace: string,
  name: string,
  body: unknown,
  manager: string,
): UnknownObject {
  checkRequest(body, namespace, name);
  const account = core.store.get(SERVICE_ACCOUNTS, `${namespace}/${name}`);
  if (!account) throw notFound({ group: '', resource: 'serviceaccounts' }, name);
  const uid = valueAt(body, ['metadata', 'uid']);
  if (typeof uid === 'string' && uid !== '' && uid !== account.metadata.uid) {
    const why = `the UID in the token request (${uid}) does not match the UID of the service account (${account.metadata.uid})`;
    throw conflict({ group: KIND.group, resource: KIND.kind }, name, why);
  }
  const given = valueAt(body, ['spec']);
  const spec = isObject(given) ? given : {};
  const expirationSeconds = spec['expirationSeconds'] ?? DEFAULT_SECONDS;
  const errors: FieldError[] = [];
  const field = 'spec.expirationSeconds';
  if (typeof expirationSeconds !== 'number') errors.push(fieldInvalid(field, expirationSeconds, 'must be a number'));
  else if (expirationSeconds < MIN_SECONDS) {
    errors.push(fieldInvalid(field, expirationSeconds, 'may not specify a duration less than 10 minutes'));
  } else if (expirationSeconds > MAX_SECONDS) {
    errors.push(fieldInvalid(field, expirationSeconds, 'may not specify a duration larger than 2^32 seconds'));
  }
  if (errors.length > 0) throw invalid(KIND, '', errors);
  const wanted: unknown = spec['audiences'];
  const audiences = Array.isArray(wanted) && wanted.length > 0 ? wanted.map(String) : [...tokens.audiences];
  const bound = boundObjects(core, namespace, name, spec['boundObjectRef']);
  const seconds = Number(expirationSeconds);
  // A token is no change of anything: a dry run gives one too.
  const token = tokens.issue({ account, audiences, expirationSeconds: seconds, bound });
  return {
    kind: 'TokenRequest',
    apiVersion: API_VERSION,
    metadata: {
      name,
      namespace,
      uid: account.metadata.uid ?? '',
      creationTimestamp: timestamp(core.clock),
      managedFields: [managedBy(manager, spec, timestamp(core.clock))],
    },
    spec: { ...spec, audiences, expirationSeconds: seconds, boundObjectRef: spec['boundObjectRef'] ?? null },
    status: { token, expirationTimestamp: timestamp(core.clock, seconds * 1000) },
  };
}

const API_VERSION = 'authentication.k8s.io/v1';

/** What is wrong with the request itself, before the account is looked for. */
function checkRequest(body: unknown, namespace: string, name: string): void {
  const kind = textAt(body, ['kind']) || KIND.kind;
  const apiVersion = textAt(body, ['apiVersion']) || API_VERSION;
  if (kind !== KIND.kind || apiVersion !== API_VERSION) {
    const [version = ''] = apiVersion.split('/').toReversed();
    throw badRequest(
      `${kind} in version ${JSON.stringify(version)} cannot be handled as a TokenRequest: no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme "pkg/runtime/scheme.go:111"`,
    );
  }
  for (const [field, wanted] of [
    ['name', name],
    ['namespace', namespace],
  ] as const) {
    const given = textAt(body, ['metadata', field]);
    if (given === '' || given === wanted) continue;
    const detail = `must match the service account ${field} if specified`;
    throw invalid(KIND, name, [fieldInvalid(`metadata.${field}`, given, detail)]);
  }
}

/** No client reads it; Kubernetes returns it all the same. */
function managedBy(manager: string, spec: object, time: string) {
  const { audiences, boundObjectRef } = spec as { audiences?: unknown; boundObjectRef?: unknown };
  const fields = {
    ...(Array.isArray(audiences) && { 'f:audiences': {} }),
    ...(isObject(boundObjectRef) && {
      'f:boundObjectRef': {
        '.': {},
        ...Object.fromEntries(Object.keys(boundObjectRef).map((key) => [`f:${key}`, {}])),
      },
    }),
    'f:expirationSeconds': {},
  };
  const about = { manager, operation: 'Update' as const, apiVersion: API_VERSION, time, subresource: 'token' };
  return { ...about, fieldsType: 'FieldsV1' as const, fieldsV1: { 'f:spec': fields } };
}

function boundObjects(core: Core, namespace: string, account: string, ref: unknown): BoundObjects {
  if (!isObject(ref)) return {};
  const name = textAt(ref, ['name']);
  const kind = textAt(ref, ['kind']);
  const storageKey = { Pod: '/pods', Secret: '/secrets', Node: '/nodes' }[kind];
  if (storageKey === undefined || (ref['apiVersion'] ?? 'v1') !== 'v1') {
    const version = textAt(ref, ['apiVersion']);
    const type = version.includes('/') ? version : `/${version}`;
    throw badRequest(`cannot bind token to object of type ${type}, Kind=${kind}`);
  }
  if (name === '') throw badRequest('Name parameter required.');
  const object = core.store.get(storageKey, kind === 'Node' ? name : `${namespace}/${name}`);
  if (!object) throw notFound({ group: '', resource: storageKey.slice(1) }, name);
  const uid = object.metadata.uid ?? '';
  if (typeof ref['uid'] === 'string' && ref['uid'] !== '' && ref['uid'] !== uid) {
    const why = `the UID in the bound object reference (${ref['uid']}) does not match the UID in record. The object might have been deleted and then recreated`;
    throw conflict({ group: KIND.group, resource: KIND.kind }, name, why);
  }
  if (kind !== 'Pod') return kind === 'Secret' ? { secret: { name, uid } } : { node: { name, uid } };
  if (valueAt(object, ['spec', 'serviceAccountName']) !== account) {
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(account)} to pod running with different serviceaccount name.`,
    );
  }
  const node = valueAt(object, ['spec', 'nodeName']);
  if (typeof node !== 'string' || node === '') return { pod: { name, uid } };
  const nodeUid = core.store.get('/nodes', node)?.metadata.uid;
  return { pod: { name, uid }, node: { name: node, ...(nodeUid !== undefined && { uid: nodeUid }) } };
}
