// Ingress v1: rules, paths and TLS to the parts that they add to each host. Problems become Events.
import { type Ingress, withoutTrailing } from '@capstan/kube';
import { regexProblem } from '../../envoy/index.ts';
import type { Certificate } from '../../model/certificate.ts';
import type { PathMatch } from '../../model/match.ts';
import type { Origin } from '../../model/origin.ts';
import type { Forward, Retries, Route } from '../../model/route.ts';
import { accept, type Result, refuse } from '../../result.ts';
import { notRegex, upgradeToHttps, wildcardHeader } from '../conditions.ts';
import { clusterViolations } from '../envoy/cluster-message.ts';
import { clustersOf, hostViolations, routeViolations } from '../envoy/route-message.ts';
import { chainViolations } from '../listener/filter-chain.ts';
import {
  annotationPrefixes,
  ignoredAnnotation,
  isContoursAnnotation,
  isDelegated,
  type Lookup,
  secretReference,
} from '../lookup.ts';
import { globalAuthorization, globalAuthorizationPolicy } from '../policy/authorization.ts';
import { headerChanges, NO_HEADERS, withDefaultHeaders } from '../policy/header-policy.ts';
import type { TlsTermination } from '../proxy/proxy-tls.ts';
import type { HostContribution } from '../proxy/translate-root.ts';
import type { RoutingSettings } from '../settings.ts';
import { envoyTimeout } from '../timeouts.ts';
import { certificateOf, NO_SECRET, tlsSecretProblem } from '../upstream/tls-secret.ts';
import { externalNameProblem, protocolOf, serviceCluster } from '../upstream/upstream.ts';

export interface TranslatedIngress {
  /** By host; `*` for rules without one. */
  readonly parts: ReadonlyMap<string, HostContribution>;
  readonly secrets: readonly Certificate[];
  readonly problems: readonly string[];
}

export const ANY_HOST = '*';

export function ingressHosts({ spec }: Pick<Ingress, 'spec'>): string[] {
  const hosts = (spec?.rules ?? []).map(({ host }) => (host ? host.toLowerCase() : ANY_HOST));
  return [...new Set([...(spec?.defaultBackend ? [ANY_HOST] : []), ...hosts])];
}

/** Paths by host, each by an id that is the same for paths that match the same. */
export function ingressPaths({ spec }: Pick<Ingress, 'spec'>): Map<string, Record<string, string>> {
  const found = new Map<string, Record<string, string>>();
  const add = (host: string, path: string, type: string | undefined) => {
    const paths = found.get(host) ?? {};
    paths[JSON.stringify(pathMatch(path, type))] = path;
    found.set(host, paths);
  };
  if (spec?.defaultBackend) add(ANY_HOST, '/', undefined);
  for (const { host, http } of spec?.rules ?? [])
    for (const { path, pathType } of http?.paths ?? [])
      add(host ? host.toLowerCase() : ANY_HOST, path ? path : '/', pathType);
  return found;
}

export function translateIngress(ingress: Ingress, lookup: Lookup, settings: RoutingSettings): TranslatedIngress {
  return new IngressTranslation(ingress, lookup, settings).result();
}

type Path = NonNullable<
  NonNullable<NonNullable<NonNullable<Ingress['spec']>['rules']>[number]['http']>['paths']
>[number];
type Backend = NonNullable<NonNullable<Ingress['spec']>['defaultBackend']>;

class IngressTranslation {
  readonly #ingress: Ingress;
  readonly #lookup: Lookup;
  readonly #settings: RoutingSettings;
  readonly #namespace: string;
  readonly #problems: string[] = [];
  readonly #prefixes: readonly string[];

  constructor(ingress: Ingress, lookup: Lookup, settings: RoutingSettings) {
    this.#ingress = ingress;
    this.#lookup = lookup;
    this.#settings = settings;
    this.#namespace = ingress.metadata.namespace ?? '';
    this.#prefixes = annotationPrefixes(settings.ingress);
    if (settings.ingress.contour !== true)
      for (const name of Object.keys(ingress.metadata.annotations ?? {}))
        if (isContoursAnnotation(name)) this.#report(ignoredAnnotation(name));
  }

  result(): TranslatedIngress {
    const { spec } = this.#ingress;
    const routes = new Map<string, Route[]>();
    const add = (host: string, entries: readonly Route[]) =>
      routes.set(host, [...(routes.get(host) ?? []), ...entries]);
    if (spec?.defaultBackend)
      add(
        ANY_HOST,
        this.#routes(
          ANY_HOST,
          [{ path: '/', pathType: 'ImplementationSpecific', backend: spec.defaultBackend }],
          () => 'spec.defaultBackend',
        ),
      );
    for (const [index, rule] of (spec?.rules ?? []).entries()) {
      const host = rule.host ? rule.host.toLowerCase() : ANY_HOST;
      const at = (path: number) => `spec.rules[${index}].http.paths[${path}]`;
      add(host, this.#routes(host, rule.http?.paths ?? [], at));
    }
    const terminations = this.#tls();
    // The plain listener has it for all hosts.
    const authorization = terminations.size > 0 ? globalAuthorization(this.#settings, this.#lookup) : undefined;
    const parts = new Map<string, HostContribution>();
    const forcesTls = this.#annotation('ingress.kubernetes.io/force-ssl-redirect') === 'true';
    const allowsHttp = this.#annotation('kubernetes.io/ingress.allow-http') !== 'false' || forcesTls;
    for (const [host, entries] of routes) {
      const tls = host === ANY_HOST ? undefined : terminations.get(host);
      const plain = !allowsHttp
        ? []
        : forcesTls
          ? entries.map((entry) => upgradeToHttps({ ...entry, permitInsecure: false }))
          : entries;
      const part: HostContribution = {
        fqdn: host,
        plain,
        secure: tls && { routes: entries, tls, tcp: undefined, jwt: undefined, authorization },
        policies: {},
        rateLimits: [],
        origins: [{ ...this.#origin(), path: 'spec' }],
      };
      const [refused] = [...hostViolations(part), ...(tls ? chainViolations(part, this.#settings) : [])];
      if (!refused) parts.set(host, part);
      else
        this.#problems.push(
          `spec.rules: Envoy would refuse the host ${host} (${refused.path} ${refused.problem}), which is not served; correct the value that it comes from`,
        );
    }
    const secrets = [...parts.values()].flatMap(({ secure }) => secure?.tls?.secret ?? []);
    return { parts, secrets, problems: this.#problems };
  }

  #annotation(...names: readonly string[]): string | undefined {
    for (const name of names) {
      const candidates = name.includes('/') ? [name] : this.#prefixes.map((prefix) => prefix + name);
      const found = candidates.find((each) => this.#ingress.metadata.annotations?.[each] !== undefined);
      if (found !== undefined) return this.#ingress.metadata.annotations?.[found];
    }
    return undefined;
  }

  /** Once, however many paths have it. */
  #report(problem: string): void {
    if (!this.#problems.includes(problem)) this.#problems.push(problem);
  }

  #tls(): Map<string, TlsTermination> {
    const found = new Map<string, TlsTermination>();
    for (const { hosts = [], secretName } of this.#ingress.spec?.tls ?? []) {
      if (!secretName) continue;
      const namespace = this.#annotation('tls-cert-namespace');
      const ref = namespace ? { namespace, name: secretName } : secretReference(secretName, this.#namespace);
      const where = `${ref.namespace}/${ref.name}`;
      if (!isDelegated(this.#lookup, ref, this.#namespace)) {
        this.#problems.push(
          `spec.tls: Secret ${where} is not delegated to the namespace ${this.#namespace}; add a TLSCertificateDelegation there`,
        );
        continue;
      }
      const secret = this.#lookup.secret(ref.namespace, ref.name);
      const problem = secret ? tlsSecretProblem(secret) : NO_SECRET;
      if (!secret || problem !== undefined) {
        this.#problems.push(`spec.tls: Secret ${where} cannot be used: ${problem ?? ''}`);
        continue;
      }
      const { tls } = this.#settings.envoy.listener;
      const least = this.#annotation('tls-minimum-protocol-version');
      const most = this.#annotation('tls-maximum-protocol-version');
      for (const [which, version] of Object.entries({ minimum: least, maximum: most }))
        if (version !== undefined && version !== '1.2' && version !== '1.3')
          this.#report(
            `annotation tls-${which}-protocol-version: ${JSON.stringify(version)} is not known and ignored; use 1.2 or 1.3`,
          );
      for (const host of hosts) {
        found.set(host.toLowerCase(), {
          secret: certificateOf(secret),
          minimumVersion: least === '1.3' ? '1.3' : tls.minimumProtocolVersion,
          maximumVersion: most === '1.2' ? '1.2' : tls.maximumProtocolVersion,
          clientValidation: undefined,
          requiresClientCertificate: false,
          forwardedCertificate: undefined,
          fallback: undefined,
        });
      }
    }
    return found;
  }

  #routes(host: string, paths: readonly Path[], at: (index: number) => string): Route[] {
    const headers = wildcardHeader(host);
    return paths.flatMap(({ path = '/', pathType, backend }, index) => {
      const matches = pathMatch(path === '' ? '/' : path, pathType);
      if (!matches.isOk) {
        this.#problems.push(`spec.rules: the path of ${host}, ${notRegex(path, matches.problem)}`);
        return [];
      }
      const match = { path: matches.value, headers, query: [] };
      // Requests for a path that cannot be served must not reach the backend of a shorter one.
      const origin: Origin = { ...this.#origin(), path: at(index) };
      const answer = (status: number): Route => ({
        match,
        action: { kind: 'answer', status, body: '' },
        policies: {},
        permitInsecure: true,
        origin,
      });
      const found = this.#forward(backend, path, origin);
      if (!found) return [answer(503)];
      const route: Route = { match, ...found, permitInsecure: true, origin };
      const refused = [...routeViolations(route), ...clustersOf(route).flatMap((each) => clusterViolations(each))];
      const [first] = refused;
      if (!first) return [route];
      this.#problems.push(
        `spec.rules: Envoy would refuse the path ${path} of ${host} (${first.path} ${first.problem}); correct the value that it comes from`,
      );
      return refused.some(({ path: at }) => at.startsWith('match')) ? [] : [answer(502)];
    });
  }

  #forward(
    backend: Backend,
    path: string,
    origin: Origin,
  ): Pick<Route, 'action' | 'policies' | 'requestHeaders' | 'responseHeaders'> | undefined {
    const { name = '', port } = backend.service ?? {};
    const service = this.#lookup.service(this.#namespace, name);
    const where = `${this.#namespace}/${name}`;
    if (!backend.service || !service) {
      this.#problems.push(
        backend.service
          ? `spec.rules: Service ${where} does not exist; create it or correct the backend`
          : `spec.rules: the backend of the path ${path} is ${backend.resource ? `a ${backend.resource.kind}` : 'empty'}; name a Service`,
      );
      return undefined;
    }
    const found = service.ports.find(
      (each) =>
        (port?.number === undefined ? each.name === port?.name : each.port === port.number) && each.protocol === 'TCP',
    );
    const problem = found
      ? externalNameProblem(service, this.#settings.enableExternalNameService)
      : `it has no TCP port ${port?.number ?? port?.name ?? ''}; use one that it has`;
    if (!found || problem !== undefined) {
      this.#problems.push(`spec.rules: Service ${where} cannot be used: ${problem ?? ''}`);
      return undefined;
    }
    for (const annotation of service.ignored ?? [])
      this.#report(`spec.rules: Service ${where}: ${ignoredAnnotation(annotation)}`);
    const protocol = protocolOf(service, found);
    const cluster = serviceCluster(
      service,
      found,
      {
        protocol,
        sni: service.externalName ?? '',
        origin,
      },
      this.#settings,
    );
    const websockets =
      this.#annotation('websocket-routes')
        ?.split(',')
        .map((each) => each.trim()) ?? [];
    const timeout = envoyTimeout(this.#annotation('response-timeout', 'request-timeout'));
    if (!timeout.isOk)
      this.#report(`annotation response-timeout: ${timeout.problem}; until then requests have no timeout`);
    const { applyToIngress, requestHeaders, responseHeaders } = this.#settings.policy;
    const action: Forward = {
      kind: 'forward',
      destinations: [{ cluster, weight: 1 }],
      mirrors: [],
      // An invalid timeout is switched off: a default that is too short would break working requests.
      timeout: timeout.isOk ? timeout.value : '0s',
      retries: this.#retries(),
      allowsWebsockets: websockets.includes(path),
      hashes: [],
      rateLimits: [],
    };
    return {
      action,
      ...(applyToIngress && {
        requestHeaders: headerChanges(withDefaultHeaders(NO_HEADERS, requestHeaders, { direction: 'request' })),
        responseHeaders: headerChanges(withDefaultHeaders(NO_HEADERS, responseHeaders, { direction: 'response' })),
      }),
      // On each route: on the host it would also hold for routes of an HTTPProxy with the same host.
      policies: globalAuthorizationPolicy(this.#settings),
    };
  }

  #origin(): Omit<Origin, 'path'> {
    return { kind: 'Ingress', namespace: this.#namespace, name: this.#ingress.metadata.name ?? '' };
  }

  #retries(): Retries | undefined {
    const retryOn = this.#annotation('retry-on');
    if (!retryOn) return undefined;
    const text = this.#annotation('num-retries') ?? '';
    const count = /^-?\d+$/.test(text) ? Number(text) : 0;
    const perTry = envoyTimeout(this.#annotation('per-try-timeout'));
    if (text !== '' && !/^-?\d+$/.test(text))
      this.#report(
        `annotation num-retries: ${JSON.stringify(text)} is not a number, and 1 is used; write one such as 3`,
      );
    if (!perTry.isOk)
      this.#report(`annotation per-try-timeout: ${perTry.problem}; until then tries have no timeout of their own`);
    const timeout = perTry.isOk ? perTry.value : undefined;
    return { on: retryOn, count: count < 0 ? 0 : Math.max(count, 1), perTryTimeout: timeout };
  }
}

/** ImplementationSpecific: a regular expression where it looks like one, else a string prefix. */
function pathMatch(path: string, type: string | undefined): Result<PathMatch> {
  if (type === 'Exact') return accept({ kind: 'exact', value: path });
  if (type === 'Prefix') {
    const trimmed = withoutTrailing(path, '/');
    return accept(
      trimmed === '' ? { kind: 'prefix', value: '/' } : { kind: 'prefix', value: trimmed, isSegment: true },
    );
  }
  if (!/[\^+*[\]%]/.test(path)) return accept({ kind: 'prefix', value: path });
  const problem = regexProblem(path);
  return problem === undefined ? accept({ kind: 'regex', value: path }) : refuse(problem);
}
