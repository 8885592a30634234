// Kinds that are questions: a POST is answered, nothing is stored.
import type { ApiRequest, ApiResponse, UnknownObject } from '@capstan/kube';
import { type Core, type RequestContext, timestamp, type UserInfo } from '../core.ts';
import { warningHeader } from '../dispatch.ts';
import {
  badRequest,
  type FieldError,
  fieldInvalid,
  invalid,
  methodNotAllowed,
  noOtherForm,
  notServed,
} from '../errors.ts';
import { type JsonObject, textAt } from '../json/copy.ts';
import { bodyOf, decodeObject } from '../rest/decode.ts';
import { optionsOf } from '../rest/options.ts';
import type { ResourcePath } from '../rest/route.ts';
import type { Attributes } from './attributes.ts';
import type { Authenticator } from './authenticate.ts';
import type { Authorizer } from './rbac.ts';
import type { ServiceAccountTokens } from './service-account-tokens.ts';
import { requestToken } from './token-request.ts';

/** Answers a request for a review; undefined for any other resource. */
export type Reviews = (request: ApiRequest, path: ResourcePath, context: RequestContext) => ApiResponse | undefined;

export function createReviews(core: Core, authorizer: Authorizer, authenticator: Authenticator): Reviews {
  const kinds: Record<string, (body: UnknownObject, context: RequestContext, namespace: string) => JsonObject> = {
    'authorization.k8s.io/selfsubjectaccessreviews': (body, { user }) => {
      checkAccessReview(body);
      return accessReview(authorizer, user, attributesIn(body));
    },
    'authorization.k8s.io/subjectaccessreviews': (body) => {
      checkAccessReview(body, subjectErrors(body));
      return accessReview(authorizer, subjectIn(body), attributesIn(body));
    },
    'authorization.k8s.io/localsubjectaccessreviews': (body, _, namespace) => {
      checkAccessReview(body, [...subjectErrors(body), ...placeErrors(body, namespace)]);
      return accessReview(authorizer, subjectIn(body), attributesIn(body));
    },
    'authorization.k8s.io/selfsubjectrulesreviews': (body, { user }) => {
      const namespace = textAt(specOf(body), ['namespace']);
      if (namespace === '') throw badRequest('no namespace on request');
      return { status: rulesStatus(authorizer, user, namespace) };
    },
    'authentication.k8s.io/selfsubjectreviews': (_, { user }) => ({
      metadata: { creationTimestamp: timestamp(core.clock) },
      status: { userInfo: userInfo(user) },
    }),
    'authentication.k8s.io/tokenreviews': (body) => {
      const { token = '', audiences = [] } = specOf(body) as { token?: string; audiences?: string[] };
      if (token === '') throw badRequest('token is required for TokenReview in authentication');
      const found = authenticator.token(token, audiences);
      if (!found) return { status: { user: {}, error: 'invalid bearer token' } };
      return { status: { authenticated: true, user: userInfo(found.user), audiences: found.audiences } };
    },
  };

  return (request, path, context) => {
    const { group, version, plural, name = '', subresource = '', namespace = '' } = path;
    const isToken = group === '' && plural === 'serviceaccounts' && subresource === 'token';
    const review = isToken ? undefined : kinds[`${group}/${plural}`];
    const served = core.registry.find(group, version, plural);
    if (!served || (!isToken && !review)) return undefined;
    if (request.method !== 'POST' || (review && name !== '')) throw methodNotAllowed();
    const { accept = request.headers?.['accept'] ?? '' } = request;
    // A question has no rows, and no metadata that could be shown alone.
    if (accept !== '' && accept.split(',').every((range) => /;\s*as=/.test(range))) throw noOtherForm();
    const body = isToken ? bodyOf(served.version, subresource) : served;
    if (!body || (isToken && !authenticator.tokens)) throw notServed();
    const options = optionsOf(request, context);
    const warnings = context.warnings ?? new Set<string>();
    const target = { ...body, namespace, name, subresource };
    const asked = decodeObject(target, request.body, options, warnings);
    if (!review) {
      const tokens = authenticator.tokens as ServiceAccountTokens;
      return created(requestToken(core, tokens, target, asked, options.fieldManager), warnings);
    }
    // The managed fields of a review are never read; Kubernetes returns them all the same.
    const whole = core.fields.update({ target, live: undefined, object: asked, manager: options.fieldManager });
    return created({ ...whole, ...review(whole, context, namespace) }, warnings);
  };
}

function created(body: object, warnings: ReadonlySet<string>): ApiResponse {
  return { status: 201, headers: { 'content-type': 'application/json', ...warningHeader(warnings) }, body };
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

const specOf = (review: UnknownObject) => (review['spec'] ?? {}) as JsonObject;

/** Throws the errors of its question, then `others`, then an error if it has metadata. */
function checkAccessReview(review: UnknownObject, others: readonly FieldError[] = []): void {
  const { resourceAttributes, nonResourceAttributes } = specOf(review);
  const errors: FieldError[] = [];
  if (resourceAttributes && nonResourceAttributes) {
    const detail = 'cannot be specified in combination with resourceAttributes';
    errors.push(fieldInvalid('spec.nonResourceAttributes', goAttributes(nonResourceAttributes), detail));
  } else if (!resourceAttributes && !nonResourceAttributes) {
    const detail = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    errors.push(fieldInvalid('spec.resourceAttributes', undefined, detail));
  }
  errors.push(...others);
  const { namespace, managedFields: _, ...metadata } = review.metadata;
  if (Object.keys(metadata).length > 0) {
    const detail = namespace === undefined ? 'must be empty' : 'must be empty except for namespace';
    errors.push(fieldInvalid('metadata', review.metadata, detail));
  }
  // Kubernetes does not name the kind either.
  if (errors.length > 0) throw invalid({ group: 'authorization.k8s.io', kind: '' }, '', errors);
}

function subjectErrors(review: UnknownObject): FieldError[] {
  const { name, groups } = subjectIn(review);
  if (name !== '' || groups.length > 0) return [];
  return [fieldInvalid('spec.user', '', 'at least one of user or group must be specified')];
}

function placeErrors(review: UnknownObject, namespace: string): FieldError[] {
  const { resourceAttributes, nonResourceAttributes } = specOf(review);
  const given = textAt(resourceAttributes, ['namespace']);
  return [
    ...(resourceAttributes && given !== namespace
      ? [fieldInvalid('spec.resourceAttributes.namespace', given, 'must match metadata.namespace')]
      : []),
    ...(nonResourceAttributes
      ? [
          fieldInvalid(
            'spec.nonResourceAttributes',
            goAttributes(nonResourceAttributes),
            'disallowed on this kind of request',
          ),
        ]
      : []),
  ];
}

const goAttributes = (given: unknown) => ({ Path: textAt(given, ['path']), Verb: textAt(given, ['verb']) });

function attributesIn(review: UnknownObject): Attributes {
  const { resourceAttributes, nonResourceAttributes } = specOf(review);
  if (nonResourceAttributes) {
    return { verb: textAt(nonResourceAttributes, ['verb']), path: textAt(nonResourceAttributes, ['path']) };
  }
  const text = (name: string) => textAt(resourceAttributes, [name]);
  return {
    verb: text('verb'),
    group: text('group'),
    resource: text('resource'),
    subresource: text('subresource'),
    namespace: text('namespace'),
    name: text('name'),
  };
}

function subjectIn(review: UnknownObject): UserInfo {
  const { user = '', groups = [] } = specOf(review) as { user?: string; groups?: string[] };
  return { name: user, groups };
}
