// Kinds that are questions: a POST is answered, nothing is stored.
import type { ApiRequest, ApiResponse, UnknownObject } from '@capstan/kube';
import type { Core, RequestContext, UserInfo } from '../core.ts';
import {
  badRequest,
  type FieldError,
  fieldInvalid,
  invalid,
  methodNotAllowed,
  noOtherForm,
  notServed,
} from '../errors.ts';
import { isObject, type JsonObject, textAt } from '../json/copy.ts';
import { dryRunOf, managerOf } from '../rest/options.ts';
import type { ResourcePath } from '../rest/route.ts';
import type { Attributes } from './attributes.ts';
import type { Authenticator } from './authenticate.ts';
import type { Authorizer } from './rbac.ts';
import { requestToken } from './token-request.ts';

/** Answers a request for a review; undefined for any other resource. */
export type Reviews = (request: ApiRequest, path: ResourcePath, context: RequestContext) => ApiResponse | undefined;

export function createReviews(core: Core, authorizer: Authorizer, authenticator: Authenticator): Reviews {
  const kinds: Record<string, (body: JsonObject, context: RequestContext, namespace: string) => JsonObject> = {
    'authorization.k8s.io/selfsubjectaccessreviews': (body, { user }) =>
      accessReview(authorizer, user, attributesIn(body, 'SelfSubjectAccessReview')),
    'authorization.k8s.io/subjectaccessreviews': (body) =>
      accessReview(authorizer, subjectIn(body, 'SubjectAccessReview'), attributesIn(body, 'SubjectAccessReview')),
    'authorization.k8s.io/localsubjectaccessreviews': (body, _, namespace) => {
      const kind = 'LocalSubjectAccessReview';
      const attributes = attributesIn(body, kind);
      if ('path' in attributes || attributes.namespace !== namespace) {
        const given = 'path' in attributes ? '' : attributes.namespace;
        const field = 'spec.resourceAttributes.namespace';
        throw invalidReview(kind, fieldInvalid(field, given, `must match metadata.namespace`));
      }
      return accessReview(authorizer, subjectIn(body, kind), attributes);
    },
    'authorization.k8s.io/selfsubjectrulesreviews': (body, { user }) => {
      const namespace = specOf(body)['namespace'];
      if (typeof namespace !== 'string' || namespace === '') {
        throw badRequest('no namespace on request');
      }
      return { status: rulesStatus(authorizer, user, namespace) };
    },
    'authentication.k8s.io/selfsubjectreviews': (_, { user }) => ({ status: { userInfo: userInfo(user) } }),
    'authentication.k8s.io/tokenreviews': (body) => {
      const { token, audiences } = specOf(body);
      if (typeof token !== 'string' || token === '') {
        throw badRequest('token is required for TokenReview in authentication');
      }
      const wanted = Array.isArray(audiences) ? audiences.map(String) : [];
      const found = authenticator.token(token, wanted);
      if (!found) return { status: { user: {}, error: 'invalid bearer token' } };
      return { status: { authenticated: true, user: userInfo(found.user), audiences: found.audiences } };
    },
  };

  return (request, path, context) => {
    const { group, plural, name, subresource, namespace = '' } = path;
    if (group === '' && plural === 'serviceaccounts' && subresource === 'token') {
      if (request.method !== 'POST') throw methodNotAllowed();
      if (!authenticator.tokens) throw notServed();
      dryRunOf(request.query?.['dryRun'], []);
      const manager = managerOf(request, context);
      const answer = requestToken(core, authenticator.tokens, namespace, name ?? '', request.body, manager);
      return created(answer);
    }
    const review = kinds[`${group}/${plural}`];
    const kind = core.registry.find(group, path.version, plural)?.resource.kind;
    if (!review || kind === undefined) return undefined;
    if (request.method !== 'POST' || name !== undefined) throw methodNotAllowed();
    const { body, accept = request.headers?.['accept'] ?? '' } = request;
    // A question has no rows, and no metadata that could be shown alone.
    if (accept !== '' && accept.split(',').every((range) => /;\s*as=/.test(range))) throw noOtherForm();
    if (!isObject(body)) throw badRequest(`the object provided is unrecognized (must be of type ${kind})`);
    if (body['kind'] !== undefined && body['kind'] !== kind) {
      throw badRequest(
        `${textAt(body, ['kind'])} in version ${JSON.stringify(path.version)} cannot be handled as a ${kind}: the kinds differ`,
      );
    }
    const answer = review(body, context, namespace);
    const metadata = isObject(body['metadata']) ? body['metadata'] : {};
    const apiVersion = `${group}/${path.version}`;
    const whole = { spec: specOf(body), kind, apiVersion, metadata } as unknown as UnknownObject;
    const served = core.registry.find(group, path.version, plural);
    const target = served && { ...served, namespace, name: '', subresource: '' };
    // The managed fields of a review are never read; Kubernetes returns them all the same.
    const owned = target
      ? core.fields.update({ target, live: undefined, object: whole, manager: managerOf(request, context) })
      : whole;
    return created({ ...owned, ...answer });
  };
}

function created(body: object): ApiResponse {
  return { status: 201, headers: { 'content-type': 'application/json' }, body };
}

function accessReview(authorizer: Authorizer, user: UserInfo, attributes: Attributes): JsonObject {
  const { allowed, reason } = authorizer.authorize(user, attributes);
  return { status: { allowed, ...(reason !== '' && { reason }) } };
}

function rulesStatus(authorizer: Authorizer, user: UserInfo, namespace: string): JsonObject {
  const rules = authorizer.rulesFor(user, namespace);
  return {
    resourceRules: rules
      .filter(({ resources = [] }) => resources.length > 0)
      .map(({ verbs, apiGroups = [], resources = [], resourceNames = [] }) => ({
        verbs,
        apiGroups,
        resources,
        ...(resourceNames.length > 0 && { resourceNames }),
      })),
    nonResourceRules: rules
      .filter(({ nonResourceURLs = [] }) => nonResourceURLs.length > 0)
      .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
    incomplete: false,
  };
}

/** A user as reviews show it. */
function userInfo({ name, uid, groups, extra }: UserInfo): JsonObject {
  return { username: name, ...(uid !== undefined && { uid }), groups, ...(extra && { extra }) };
}

const specOf = (body: JsonObject): JsonObject => (isObject(body['spec']) ? body['spec'] : {});

const invalidReview = (kind: string, error: FieldError) =>
  invalid({ group: 'authorization.k8s.io', kind }, '', [error]);

function attributesIn(body: JsonObject, kind: string): Attributes {
  const { resourceAttributes, nonResourceAttributes } = specOf(body);
  if (isObject(resourceAttributes) === isObject(nonResourceAttributes)) {
    const detail = isObject(resourceAttributes)
      ? 'cannot be specified in combination with resourceAttributes'
      : 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    const field = isObject(resourceAttributes) ? 'spec.nonResourceAttributes' : 'spec.resourceAttributes';
    throw invalidReview(kind, fieldInvalid(field, undefined, detail));
  }
  const text = (from: JsonObject, name: string) => textAt(from, [name]);
  if (isObject(nonResourceAttributes)) {
    return { verb: text(nonResourceAttributes, 'verb'), path: text(nonResourceAttributes, 'path') };
  }
  const from = isObject(resourceAttributes) ? resourceAttributes : {};
  return {
    verb: text(from, 'verb'),
    group: text(from, 'group'),
    resource: text(from, 'resource'),
    subresource: text(from, 'subresource'),
    namespace: text(from, 'namespace'),
    name: text(from, 'name'),
  };
}

function subjectIn(body: JsonObject, kind: string): UserInfo {
  const { user, groups } = specOf(body);
  const name = typeof user === 'string' ? user : '';
  const all = Array.isArray(groups) ? groups.map(String) : [];
  if (name === '' && all.length === 0) {
    throw invalidReview(kind, fieldInvalid('spec.user', name, 'at least one of user or group must be specified'));
  }
  return { name, groups: all };
}
