// The checks of an HTTPProxy before it is stored: the problems of its status, except those that depend on Services, Secrets and other
// objects that may come later. Hosts of other proxies and chains of includes are checked: an edit that takes a host from another proxy
// would take both down.
import { type AdmissionCheck, admissionCheck } from '@capstan/reconcile';
import { defaultConfiguration } from '../configuration/effective.ts';
import { HTTPProxy } from '../kinds/http-proxy.ts';
import type { RouteProblem } from '../result.ts';
import { hostNames } from './conditions.ts';
import { isSameClass, type Lookup, type ServicePortView } from './lookup.ts';
import { translateRoot } from './proxy/translate-root.ts';

/** Reasons that another object cannot take away. */
const OWN_REASONS = new Set([
  'CookieRewritePoliciesInvalid',
  'DuplicateMatchConditions',
  'FQDNNotSpecified',
  'HeaderMatchConditionsNotValid',
  'IncludeCreatesCycle',
  'InvalidJWTVerificationPolicy',
  'JWTProviderNotDefined',
  'NoServicesAndInclude',
  'NothingDefined',
  'OnlyOneMirror',
  'PathMatchConditionsNotValid',
  'PolicyDidNotParse',
  'QueryParameterMatchConditionsNotValid',
  'RateLimitPolicyNotValid',
  'TimeoutPolicyNotValid',
  'TLSConfigNotValid',
  'TLSIncompatibleFeatures',
]);
/** The host of a proxy that others include: its routes are checked below a name that no host has. */
const NO_HOST = 'included.invalid';

export const HTTP_PROXY_ADMISSION: AdmissionCheck = admissionCheck({
  kind: HTTPProxy,
  reads: [HTTPProxy],
  check(proxy, { list }) {
    const others = list(HTTPProxy).filter((other) => keyOf(other) !== keyOf(proxy));
    const whole = problemsOf(proxy, others);
    // Without its certificate a host is not looked at further: its routes are, by themselves.
    const routes = problemsOf(withoutPolicies(proxy), others).filter(
      ({ reason }) => reason !== 'TLSIncompatibleFeatures',
    );
    const own = [...whole, ...routes].filter(({ reason }) => OWN_REASONS.has(reason)).map(({ message }) => message);
    return { errors: [...new Set([...own, ...duplicates(proxy, others)])] };
  },
});

/** Names of the proxy that others have: an edit must not take one from them. */
function duplicates(proxy: HTTPProxy, others: readonly HTTPProxy[]): string[] {
  const rivals = others.filter((other) => isSameClass(other, proxy));
  return hostNames(proxy.spec.virtualhost ?? {}).flatMap(({ fqdn, at }) => {
    const names = rivals
      .filter(({ spec }) => hostNames(spec.virtualhost ?? {}).some((each) => each.fqdn === fqdn))
      .map(keyOf)
      .toSorted()
      .join(', ');
    if (names === '') return [];
    return `${at}: ${JSON.stringify(fqdn)} is the host of HTTPProxy ${names}, which is older and keeps it; use another host, or include this one there`;
  });
}

function problemsOf(proxy: HTTPProxy, others: readonly HTTPProxy[]): readonly RouteProblem[] {
  const isRoot = proxy.spec.virtualhost !== undefined;
  const root = isRoot ? proxy : { ...proxy, spec: { ...proxy.spec, virtualhost: { fqdn: NO_HOST } } };
  const known = new Map([...others, root].map((one) => [keyOf(one), one]));
  const { findings } = translateRoot(root, lookupOf(proxy, known), defaultConfiguration());
  return findings.get(keyOf(proxy))?.errors ?? [];
}

function withoutPolicies(proxy: HTTPProxy): HTTPProxy {
  const { virtualhost, ...spec } = proxy.spec;
  return {
    ...proxy,
    spec: { ...spec, ...(virtualhost && { virtualhost: { fqdn: virtualhost.fqdn, fqdns: virtualhost.fqdns } }) },
  };
}

/** Every Service that the proxy names is there, with the ports that it names. */
function lookupOf(proxy: HTTPProxy, known: ReadonlyMap<string, HTTPProxy>): Lookup {
  const { routes = [], tcpproxy } = proxy.spec;
  const named = [...routes.flatMap(({ services = [] }) => services), ...(tcpproxy?.services ?? [])];
  return {
    proxy: (namespace, name) => known.get(`${namespace}/${name}`),
    service(namespace, name) {
      const ports = named
        .filter((service) => service.name === name)
        .flatMap(({ port, healthPort }) => [port, healthPort])
        .filter((port) => port !== undefined)
        .map(
          (port): ServicePortView => ({ name: '', port, protocol: 'TCP', appProtocol: undefined, targetPort: port }),
        );
      return { namespace, name, type: 'ClusterIP', externalName: undefined, ports, annotations: {} };
    },
    secret: () => undefined,
    extensionService: () => undefined,
    delegations: () => [],
  };
}

function keyOf({ metadata }: HTTPProxy): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}
