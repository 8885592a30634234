import type { UnknownObject } from '@capstan/kube';
import { type Core, timestamp } from '../core.ts';
import { badRequest, conflict, fieldInvalid, invalid, notFound } from '../errors.ts';
import { isObject, textAt, valueAt } from '../json/copy.ts';
import type { Target } from '../rest/target.ts';
import { type BoundObjects, SERVICE_ACCOUNTS, type ServiceAccountTokens } from './service-account-tokens.ts';

const DEFAULT_SECONDS = 3600;
const MIN_SECONDS = 600;
const MAX_SECONDS = 2 ** 32;
const KIND = { group: 'authentication.k8s.io', kind: 'TokenRequest' };

/** POST serviceaccounts/x/token: a token of the account, for whom and as long as was asked. */
export function requestToken(
  core: Core,
  tokens: ServiceAccountTokens,
  target: Target,
  request: UnknownObject,
  manager: string,
): UnknownObject {
  const { namespace, name } = target;
  const { name: named = '', uid = '' } = request.metadata;
  if (named !== '' && named !== name) {
    const detail = 'must match the service account name if specified';
    throw invalid(KIND, name, [fieldInvalid('metadata.name', named, detail)]);
  }
  const account = core.store.get(SERVICE_ACCOUNTS, `${namespace}/${name}`);
  if (!account) throw notFound({ group: '', resource: 'serviceaccounts' }, name);
  if (uid !== '' && uid !== account.metadata.uid) {
    const why = `the UID in the token request (${uid}) does not match the UID of the service account (${account.metadata.uid})`;
    throw conflict({ group: KIND.group, resource: KIND.kind }, name, why);
  }
  const spec = (request['spec'] ?? {}) as TokenRequestSpec;
  const expirationSeconds = spec.expirationSeconds ?? DEFAULT_SECONDS;
  const refuse = (detail: string) =>
    invalid(KIND, '', [fieldInvalid('spec.expirationSeconds', expirationSeconds, detail)]);
  if (expirationSeconds < MIN_SECONDS) throw refuse('may not specify a duration less than 10 minutes');
  if (expirationSeconds > MAX_SECONDS) throw refuse('may not specify a duration larger than 2^32 seconds');
  const audiences = spec.audiences?.length ? spec.audiences : [...tokens.audiences];
  const bound = boundObjects(core, namespace, name, spec.boundObjectRef);
  // A token is no change of anything: a dry run gives one too.
  const token = tokens.issue({ account, audiences, expirationSeconds, bound });
  const asked = { ...request, metadata: { ...request.metadata, name }, spec: { ...spec, expirationSeconds } };
  const { metadata } = core.fields.update({ target, live: undefined, object: asked, manager });
  return {
    kind: KIND.kind,
    apiVersion: API_VERSION,
    metadata: { ...metadata, uid: account.metadata.uid ?? '', creationTimestamp: timestamp(core.clock) },
    spec: { ...spec, audiences, expirationSeconds, boundObjectRef: spec.boundObjectRef ?? null },
    status: { token, expirationTimestamp: timestamp(core.clock, expirationSeconds * 1000) },
  };
}

interface TokenRequestSpec {
  audiences?: string[];
  expirationSeconds?: number;
  boundObjectRef?: unknown;
}

const API_VERSION = 'authentication.k8s.io/v1';

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
