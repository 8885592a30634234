import type { KeyObject } from 'node:crypto';
import {
  type ApiRequest,
  type ApiResponse,
  type Clock,
  type EvaluateRule,
  type Logger,
  type Random,
  reasonOf,
  silentLogger,
  type Transport,
  type UnknownObject,
  type WatchStream,
} from '@capstan/kube';
import { createAdmissionPolicies } from './admission/admission-policies.ts';
import { createAdmissionWebhooks } from './admission/admission-webhooks.ts';
import { createWebhookCaller } from './admission/call-webhook.ts';
import { configurationRules } from './admission/configuration-rules.ts';
import { createConditionCompiler } from './admission/match-conditions.ts';
import { BINDINGS, POLICIES } from './admission/policy.ts';
import { startPolicyController } from './admission/policy-controller.ts';
import { policyBindingRules, policyRules } from './admission/policy-rules.ts';
import { serviceEndpoints } from './admission/service-endpoint.ts';
import { MUTATING, VALIDATING } from './admission/webhook.ts';
import { createFieldTracker } from './apply/field-tracker.ts';
import { startAggregationController } from './auth/aggregation-controller.ts';
import { type Attributes, attributesOf, refuse, verbOf } from './auth/attributes.ts';
import { type Authenticator, createAuthenticator, type StaticToken } from './auth/authenticate.ts';
import { installBootstrapRoles } from './auth/bootstrap-roles.ts';
import { escalationAdmission } from './auth/escalation.ts';
import { type Impersonated, impersonate } from './auth/impersonation.ts';
import { startNamespaceDefaults } from './auth/namespace-defaults.ts';
import { allowEverything, createRbac } from './auth/rbac.ts';
import { createReviews } from './auth/reviews.ts';
import { createServiceAccountTokens } from './auth/service-account-tokens.ts';
import { type BuiltinTypes, loadBuiltins } from './builtin/builtin.ts';
import { admitPod } from './builtin/pod-strategy.ts';
import { createServiceAddresses } from './builtin/service-addresses.ts';
import type { ServicePool } from './builtin/service-pool.ts';
import { startGarbageCollector } from './collect/garbage-collector.ts';
import { startNamespaceController } from './collect/namespace-controller.ts';
import { createWorkQueue, objectOperations } from './controllers.ts';
import {
  ADMIN,
  type Admission,
  type AdmissionRequest,
  type Core,
  type RequestContext,
  timestamp,
  type UserInfo,
} from './core.ts';
import { createConversions } from './crd/conversion.ts';
import { startDefinitionController } from './crd/definition-controller.ts';
import { CRD_STORAGE_KEY, definitionStrategy } from './crd/definition-strategy.ts';
import { about } from './discovery/about.ts';
import { createDiscovery } from './discovery/discovery.ts';
import { createOpenApi } from './discovery/open-api.ts';
import { createDispatcher, warningHeader } from './dispatch.ts';
import {
  internalError,
  notServed,
  pageNotFound,
  StatusError,
  serviceUnavailable,
  unsupportedMediaType,
} from './errors.ts';
import { createLargeSteps } from './fairness/large-steps.ts';
import { createPace } from './fairness/pace.ts';
import { createProtobufDecoder } from './protobuf/decode.ts';
import { createRegistry } from './resources/registry.ts';
import type { Strategy } from './resources/resource.ts';
import { BODY_TYPES } from './rest/decode.ts';
import { checkTimeout, isTrue } from './rest/options.ts';
import type { ReadLogs } from './rest/pod-subresources.ts';
import { createRenderer } from './rest/render.ts';
import { parseResourcePath } from './rest/route.ts';
import { existing } from './rest/target.ts';
import { createSeedObjects } from './seed-objects.ts';
import { memoryStorage, type Storage } from './store/storage.ts';
import { createStore } from './store/store.ts';
import { weightOf } from './store/weight.ts';
import { connectToPod, type PodConnection, STREAMS } from './streams/pod-connection.ts';
import type { PodStreams } from './streams/pod-streams.ts';
import { findProxyTarget, type ProxyPath, type ProxyTarget } from './streams/proxy-target.ts';
import { inProcessTransport, isResponse } from './transport.ts';
import { createWatchHub } from './watch/watch-hub.ts';

export interface ApiServerOptions {
  clock: Clock;
  random: Random;
  /** Default: silent. */
  logger?: Logger;
  /** Events kept for watches and for lists of the past; default 10,000, as much as clients need to reconnect. */
  historyLimit?: number;
  /** About how many bytes those events may take; default 32 MiB. */
  historyBytes?: number;
  /** How far a watcher may fall behind before its stream is ended; default 10,000 events. */
  watchBufferLimit?: number;
  /** Whether namespaced objects need their namespace; default true. */
  checkNamespaces?: boolean;
  /** Default: memory only. */
  storage?: Storage;
  /** Looks at every write, before the webhooks do; default none. */
  admission?: Admission;
  /** The rights of users: all rights for all users (the default, for tests), or by the roles and bindings in the store. */
  authorization?: 'AlwaysAllow' | 'RBAC';
  /** Signs the tokens of service accounts (ECDSA P-256); without it there are none. */
  serviceAccountKey?: KeyObject;
  /** Tokens that are good as long as the server runs. */
  staticTokens?: readonly StaticToken[];
  /** Every namespace gets a `default` service account and this certificate (PEM); default neither. */
  namespaceDefaults?: { rootCa: string };
  /** Reads the output of containers, for `kubectl logs`; without it there are no logs. */
  readLogs?: ReadLogs;
  /** Connects to pods, for `kubectl exec`, `attach` and `port-forward`; without it they are refused. */
  podStreams?: PodStreams;
  /** Evaluates the CEL rules of custom resources; without it they are not enforced. */
  evaluateRule?: EvaluateRule;
  /** Tables and schemas of the built-in kinds; they never change, so several servers may share the result of loadBuiltins(). */
  builtins?: BuiltinTypes;
  /** The addresses and node ports that Services of other servers on this machine have; default none. */
  servicePool?: ServicePool;
}

export interface TransportOptions {
  /** Default: the administrator. */
  user?: UserInfo;
  /** Names the field manager of writes that do not; default `unknown`. */
  userAgent?: string;
  /** For messages; default `in-process`. */
  address?: string;
}

export interface ApiServer {
  /** The newest revision. */
  readonly revision: number;
  /** Finds out which user a request comes from. */
  readonly authenticator: Authenticator;
  /** The user that a request of `user` acts as when it impersonates another one; throws a StatusError. */
  impersonate(user: UserInfo, wanted: Impersonated): UserInfo;
  /** Checks that the user may send a request, before its body is read; throws a StatusError. */
  authorize(request: ApiRequest, user: UserInfo): void;
  /** A way in for a client in this process. */
  transport(options?: TransportOptions): Transport;
  /** Answers a request; a watch is answered with a stream, everything else (refusals too) with a response. */
  handle(request: ApiRequest, context: RequestContext): Promise<ApiResponse | WatchStream>;
  /**
   * Checks a request for one of the connections to a pod and returns the function that serves it; throws a StatusError. A WebSocket is
   * opened with GET: its user needs the right to create too, as with POST.
   */
  connect(
    request: Pick<ApiRequest, 'method' | 'path'>,
    query: URLSearchParams,
    context: RequestContext,
    isWebSocket: boolean,
  ): Promise<PodConnection>;
  /** Checks a request for the proxy subresource and finds its target; throws a StatusError. */
  proxy(method: ApiRequest['method'], path: ProxyPath, context: RequestContext): Promise<ProxyTarget>;
  /** The JSON of an object that has just been stored, until its answer and its events are written; undefined for any other. */
  jsonOf(object: unknown): string | undefined;
  /** Resolves when the controllers inside (garbage collection, namespaces, definitions) have nothing left to do. */
  idle(): Promise<void>;
  /** Forgets the past up to a revision: watches and lists from before it are answered with 410. */
  compact(revision: number): void;
  /** Ends every watch; later requests are refused. Resolves when the storage is closed. */
  close(): Promise<void>;
}

/** While writes go on failing, a read meets one of them again only by chance. */
const READ_ATTEMPTS = 10;
/** The size of the text: smaller ones take some milliseconds. */
const LARGE_BODY = 128 * 1024;
/** The weight: the names of fields do not count, and each value counts for some additional bytes. */
const LARGE_OBJECT = 256 * 1024;

/** A Kubernetes API server in this process. */
export function createApiServer(options: ApiServerOptions): ApiServer {
  const { clock, random, logger = silentLogger } = options;
  const storage = options.storage ?? memoryStorage();
  const historyLimit = options.historyLimit ?? 10_000;
  const store = createStore({
    storage,
    historyLimit,
    ...(options.historyBytes !== undefined && { historyBytes: options.historyBytes }),
  });
  const builtins = options.builtins ?? loadBuiltins();
  const registry = createRegistry();
  const now = () => timestamp(clock);
  const addresses = createServiceAddresses(store, random, options.servicePool);
  const conditions = createConditionCompiler();
  const webhookRules = configurationRules(conditions);
  const caller = createWebhookCaller(clock, serviceEndpoints(store));
  const webhooks = createAdmissionWebhooks({ store, random, logger }, caller.call, conditions);
  const specials: Readonly<Record<string, Partial<Strategy>>> = {
    [CRD_STORAGE_KEY]: definitionStrategy(now),
    [MUTATING]: { validate: webhookRules },
    [VALIDATING]: { validate: webhookRules },
    [POLICIES]: { validate: policyRules },
    [BINDINGS]: { validate: policyBindingRules },
    // Without the controller that gives every namespace its account there is none that a pod could have.
    '/pods': { admit: (pod) => admitPod(store, pod, options.namespaceDefaults ? random : undefined) },
    '/services': { complete: (service, old) => addresses.complete(service, old) },
  };
  for (const resource of builtins.resources) {
    const special = specials[resource.storageKey];
    registry.add(special ? { ...resource, strategy: { ...resource.strategy, ...special } } : resource);
  }
  const isRbac = options.authorization === 'RBAC';
  const authorizer = isRbac ? createRbac(store) : allowEverything;
  const steps = createLargeSteps();
  const isLarge = ({ source, bodyBytes = source?.text.length ?? 0 }: RequestContext, live?: UnknownObject) =>
    bodyBytes > LARGE_BODY || (live !== undefined && weightOf(live) > LARGE_OBJECT);
  const pause = (context: RequestContext, live?: UnknownObject) =>
    isLarge(context, live)
      ? clock.yield().then(() => steps.next({ user: context.user.name, connection: context }))
      : undefined;
  const mutating = inTurn(options.admission, webhooks.mutate);
  const admission: Admission = (request) => pause(request.context)?.then(() => mutating(request)) ?? mutating(request);
  const policies = createAdmissionPolicies({ store, random, registry });
  const core: Core = {
    clock,
    random,
    logger,
    store,
    storage,
    registry,
    fields: createFieldTracker(now),
    admission: isRbac ? escalationAdmission(authorizer, admission) : admission,
    validatingAdmission: (request) => {
      if (isRbac) authorizeCreation(request);
      return policies(request) ?? webhooks.validate(request);
    },
    isLarge,
    pause,
    pace: (context) =>
      context.isPaced === true
        ? createPace(() => steps.next({ user: context.user.name, connection: context }))
        : () => undefined,
    checkNamespaces: options.checkNamespaces ?? true,
    watchBufferLimit: options.watchBufferLimit ?? 10_000,
  };
  createSeedObjects(core);
  if (isRbac) installBootstrapRoles(core);
  const tokens = options.serviceAccountKey && createServiceAccountTokens(core, options.serviceAccountKey);
  const authenticator = createAuthenticator(tokens, options.staticTokens ?? []);
  const review = createReviews(core, authorizer, authenticator);
  const hub = createWatchHub(() => storage.flush());
  let losses = 0;
  store.onLoss(() => {
    losses += 1;
    hub.abortAll(new Error('writes could not be made durable'));
  });
  const work = createWorkQueue(core);
  const conversions = createConversions(random, caller.call, ({ spec: { group, names } }, { metadata }) =>
    store
      .list(`${group}/${names.plural}`, metadata.namespace === undefined ? '' : `${metadata.namespace}/`)
      .map(({ object }) => object),
  );
  const operations = objectOperations(core, conversions.settle);
  const { meta, metaProblem, customCompiler: compiler } = builtins;
  const customOptions = { compiler, evaluateRule: options.evaluateRule, meta, metaProblem, conversions };
  startDefinitionController(core, hub, customOptions, operations, work.run);
  startPolicyController(core, operations, work.run);
  startGarbageCollector(core, operations, work.run);
  startNamespaceController(core, operations, work.run);
  if (isRbac) startAggregationController(core, operations, work.run);
  if (options.namespaceDefaults) startNamespaceDefaults(core, options.namespaceDefaults.rootCa, operations, work.run);
  const dispatch = createDispatcher(core, hub, createRenderer(clock), conversions.settle, options.readLogs);
  const discover = createDiscovery(registry);
  const describe = createOpenApi(registry, builtins.definitions);
  const protobuf = createProtobufDecoder();
  let closed = false;

  const authorize = (user: UserInfo, attributes: Attributes): void => {
    const { allowed, reason } = authorizer.authorize(user, attributes);
    if (!allowed) throw refuse(user, attributes, reason);
  };

  /** An apply or a PUT that creates needs the right to create too, which is asked for once the object is known to be new. */
  const authorizeCreation = ({
    operation,
    resource,
    subresource,
    namespace,
    name,
    context,
  }: AdmissionRequest): void => {
    if (operation !== 'CREATE' || subresource !== undefined) return;
    const { group, plural } = resource;
    const place = plural === 'namespaces' && group === '' ? name : namespace;
    authorize(context.user, { verb: 'create', group, resource: plural, subresource: '', namespace: place, name });
  };

  const check = (request: ApiRequest, user: UserInfo): void => {
    if (!isTrue(request.query ?? {}, 'watch')) checkTimeout(request.query ?? {});
    if (isRbac) authorize(user, attributesOf(request));
  };

  const answer = async (request: ApiRequest, given: RequestContext): Promise<ApiResponse | WatchStream> => {
    const context = { ...given, warnings: new Set<string>() };
    try {
      if (context.isAuthorized !== true) check(request, context.user);
      const described =
        about(request, closed) ?? (request.method === 'GET' ? (discover(request) ?? describe(request)) : undefined);
      if (described) return described;
      const path = parseResourcePath(request.path);
      if (!path) throw isAnswered(request.path) ? notServed() : pageNotFound();
      if (context.source?.isUnsupported) {
        const served = registry.find(path.group, path.version, path.plural);
        if (!served) throw registry.isOwn(path.group) ? notServed() : pageNotFound();
        const warning = served.version.deprecationWarning;
        if (warning !== undefined) context.warnings.add(warning);
        throw unsupportedMediaType(BODY_TYPES);
      }
      // A body of bytes is one that the transport could not read as JSON.
      let read = request;
      if (request.body instanceof Uint8Array) {
        if (!registry.find(path.group, path.version, path.plural)) throw notServed();
        read = { ...request, body: protobuf.decode(request.body) };
        context.bodyBytes ??= request.body.length;
      }
      return review(read, path, context) ?? (await conversions.settle(() => dispatch(read, path, context)));
    } catch (error) {
      const refused = refusal(error, request, logger);
      return { ...refused, headers: { ...refused.headers, ...warningHeader(context.warnings) } };
    }
  };

  /** Below the paths of Kubernetes, even a path that does not exist is answered with a Status. */
  const isAnswered = (path: string) => {
    const [, first, second = ''] = path.split('/');
    return first === 'api' || first === 'version' || (first === 'apis' && second !== '' && registry.isOwn(second));
  };

  const server: ApiServer = {
    get revision() {
      return store.revision;
    },
    authenticator,
    impersonate: (user, wanted) => impersonate(authorizer, user, wanted),
    authorize: check,
    transport: ({ user = ADMIN, userAgent, address = 'in-process' } = {}) =>
      inProcessTransport(
        address,
        (request) => server.handle(request, { user, ...(userAgent !== undefined && { userAgent }) }),
        () => closed,
      ),
    async handle(request, context) {
      for (let attempt = 1; ; attempt += 1) {
        const before = losses;
        const result = await answer(request, context);
        // A read in steps may have seen writes that were taken back before its end.
        if (losses > before && request.method === 'GET' && isResponse(result) && attempt < READ_ATTEMPTS) continue;
        try {
          const flushed = storage.flush();
          if (flushed) await flushed;
          return result;
        } catch (error) {
          // A watch that was opened must not stay open unread.
          if (!isResponse(result)) await result[Symbol.asyncIterator]().return?.();
          // A read may have seen writes that were then taken back: it reads again.
          if (request.method === 'GET' && attempt < READ_ATTEMPTS) continue;
          logger.error('a write could not be made durable', { error });
          return refusal(serviceUnavailable(reasonOf(error)), request, logger);
        }
      }
    },
    async connect(request, query, { user }, isWebSocket) {
      const attributes = attributesOf(request);
      if (isRbac) authorize(user, attributes);
      if (isRbac && isWebSocket) authorize(user, { ...attributes, verb: 'create' });
      const path = parseResourcePath(request.path);
      const served = path && registry.find(path.group, path.version, path.plural);
      const { namespace = '', name = '', subresource = '' } = path ?? {};
      if (served?.resource.storageKey !== '/pods' || namespace === '' || !STREAMS.has(subresource)) throw notServed();
      existing(core, { ...served, namespace, name, subresource });
      return connectToPod(options.podStreams, { namespace, name, subresource }, query);
    },
    async proxy(method, path, { user }) {
      const { namespace, plural: resource, name } = path;
      const verb = verbOf({ method, path: '' }, name);
      if (isRbac) authorize(user, { verb, group: '', resource, subresource: 'proxy', namespace, name });
      return findProxyTarget(store, options.podStreams, path);
    },
    jsonOf: (object) => storage.jsonOf?.(object),
    idle: () => work.idle(),
    compact: (revision) => store.compact(revision),
    async close() {
      closed = true;
      hub.endAll();
      caller.close();
      work.close();
      await storage.close();
    },
  };
  return server;
}

/** Runs one admission after the other, each with the object as the one before changed it. */
function inTurn(first: Admission | undefined, second: Admission): Admission {
  if (!first) return second;
  return (request) => {
    const asked = first(request);
    if (!asked) return second(request);
    return asked.then(
      async (changed) => (await second(changed ? { ...request, object: changed } : request)) ?? changed,
    );
  };
}

/** An error that is not a StatusError is a bug: it is logged, and the client gets an internal error. */
export function refusal(
  error: unknown,
  { method, path }: { method: string; path: string },
  logger: Logger,
): ApiResponse {
  const known = error instanceof StatusError;
  if (!known) logger.error('a request could not be answered', { method, path, error });
  const { status, page } = known ? error : internalError(error instanceof Error ? error.message : 'unknown');
  if (page !== undefined) {
    const headers = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' };
    return { status: status.code ?? 500, headers, body: page };
  }
  const retryAfter = status.details?.retryAfterSeconds;
  return {
    status: status.code ?? 500,
    headers: {
      'content-type': 'application/json',
      ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
    },
    body: status,
  };
}
