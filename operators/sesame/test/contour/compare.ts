// Compares the two for each case, and finds the entry of the page that excuses a difference.
import type { KubeObject } from '@capstan/kube';
import type { Case } from './cases.ts';
import { type Answer, nameOf, statusIn } from './contour.ts';
import { reportLines, type SesamesAnswer } from './sesame.ts';
import { differencesBetween, type Found, hostView, listenersView, sorted, type Value } from './view.ts';

export interface Finding extends Found {
  readonly name: string;
  /** The id of a difference; undefined: none excuses it. */
  readonly excuse: string | undefined;
}

export function compare(each: Case, contour: Answer, sesame: SesamesAnswer): Finding[] {
  const statuses = each.objects
    .filter(({ kind }) => kind === 'HTTPProxy')
    .map((object): Reported => {
      const key = nameOf(object);
      const live = contour.objects.find((one) => nameOf(one) === key);
      const valid = live && statusIn(live).conditions?.find(({ type }) => type === 'Valid');
      return { object, contour: reportLines(valid ?? {}), sesame: sesame.reports.get(key) ?? [] };
    });
  const findings = statuses.flatMap((one) => statusFindings(each, one, statuses));
  // Contour serves a host whose HTTPProxies have errors differently, or not at all.
  if (statuses.some((one) => errorsIn(one.contour).length + errorsIn(one.sesame).length > 0)) return findings;
  for (const host of each.hosts) {
    const of = (answer: Answer | SesamesAnswer) => sorted({ ...hostView(answer.resources, host) });
    for (const found of differencesBetween(of(contour), of(sesame)))
      findings.push({ ...found, name: each.name, excuse: EXCUSES.find(({ fits }) => fits(found, each))?.id });
  }
  return findings;
}

/** Compares the parts of listeners that no host has alone: probes, statistics and limits. */
export function compareListeners(contour: Answer, sesame: SesamesAnswer): Finding[] {
  return differencesBetween(listenersView(contour.resources), listenersView(sesame.resources)).map((found) => ({
    ...found,
    name: 'listeners',
    excuse: LISTENER_EXCUSES.find(({ path }) => path.test(found.path))?.id,
  }));
}

const LISTENER_EXCUSES: readonly { readonly id: string; readonly path: RegExp }[] = [
  { id: 'misdirected-requests', path: /http_filters\.(names|envoy\.filters\.http\.lua)/ },
  { id: 'extension-weights', path: /\.locality_weighted_lb_config$/ },
  { id: 'global-authorization-timeout', path: /ext_authz\.typed_config\.grpc_service\.timeout$/ },
];

interface Reported {
  readonly object: KubeObject;
  readonly contour: readonly string[];
  readonly sesame: readonly string[];
}

const errorsIn = (lines: readonly string[]) => lines.filter((line) => !line.startsWith('warning '));

function statusFindings({ name }: Case, own: Reported, all: readonly Reported[]): Finding[] {
  const [theirs, ours] = [errorsIn(own.contour), errorsIn(own.sesame)];
  const isSame = theirs.length === 0 ? ours.length === 0 : theirs.some((line) => ours.includes(line));
  const unwarned = own.contour.filter((line) => line.startsWith('warning ') && !own.sesame.includes(line));
  const path = `status of ${own.object.metadata.name ?? ''}`;
  const finding = (contour: readonly string[], sesame: readonly string[], excuse?: string): Finding => ({
    name,
    path,
    contour: contour.join(' '),
    sesame: sesame.join(' '),
    excuse,
  });
  const findings = isSame ? [] : [finding(theirs, ours, statusExcuse(own, all))];
  if (unwarned.length > 0 && ours.length === 0) findings.push(finding(unwarned, own.sesame));
  return findings;
}

function statusExcuse({ object, contour, sesame }: Reported, all: readonly Reported[]): string | undefined {
  const [theirs, ours] = [errorsIn(contour), errorsIn(sesame)];
  if (all.some((one) => one.contour.includes('VirtualHostError/DuplicateVhost'))) return 'oldest-host';
  const isInvalid = (lines: readonly string[]) => errorsIn(lines).some((line) => line !== ORPHANED);
  if ([...theirs, ...ours].includes(ORPHANED) && all.some((one) => isInvalid(one.contour) || isInvalid(one.sesame)))
    return 'parts-of-invalid-roots';
  if (theirs.length > 0 && ours.length > 0) return 'several-errors';
  if (theirs.length > 0)
    return theirs.every((line) => line === 'AuthError/AuthNotPermitted') ? 'plain-authorization' : undefined;
  if (ours.every((line) => NEED_PREFIX.has(line)) && EXACT_FIRST.test(JSON.stringify(object)))
    return 'exact-conditions';
  return STRICTER.find(([, line]) => ours.every((each) => each === line))?.[0];
}

const ORPHANED = 'Orphaned/Orphaned';
/** Errors of a route that has no prefix. */
const NEED_PREFIX = new Set(['PrefixReplaceError/MustHavePrefix', 'RouteError/RequestRedirectPolicy']);

/** Errors of Sesame about fields that Contour ignores. */
const STRICTER = [
  ['unknown-jwt-provider', 'JWTVerificationError/JWTProviderNotDefined'],
  ['authorization-without-termination', 'AuthError/AuthNotPermitted'],
  ['authorization-without-service', 'AuthError/ExtensionServiceNotFound'],
  ['empty-ranges', 'RouteError/HealthCheckPolicyInvalid'],
] as const;

interface Excuse {
  readonly id: string;
  fits(found: Found, each: Case): boolean;
}

const has = (value: Value | undefined | object, text: string) => JSON.stringify(value ?? null).includes(text);
const isIngress = ({ objects }: Case) => objects.some(({ kind }) => kind === 'Ingress');
/** A header or query condition beside an exact one, after it. */
const EXACT_FIRST = /"conditions":\[\{"exact":"[^"]+"\},\{"(?:header|queryParameter)"/;

const EXCUSES: readonly Excuse[] = [
  { id: 'health-checks', fits: ({ path }) => path.endsWith('.no_traffic_interval') },
  { id: 'ingress-without-service', fits: (_, each) => isIngress(each) && has(each.objects, '"name":"missing"') },
  {
    id: 'ingress-timeouts',
    fits: ({ path, sesame }, each) => isIngress(each) && path.endsWith('.route.timeout') && sesame === '0s',
  },
  {
    id: 'misdirected-requests',
    fits: ({ path }) => /http_filters\.(names|envoy\.filters\.http\.lua)/.test(path),
  },
  {
    id: 'zero-weights',
    fits: ({ path, contour, sesame }, { objects }) =>
      has(objects, '"weight":0') &&
      (has(sesame, '"status":503') ||
        (path.endsWith('.direct_response') && contour === undefined) ||
        isGone(path, sesame)),
  },
  { id: 'no-retries', fits: ({ path, sesame }) => path.endsWith('.retry_policy.num_retries') && sesame === 0 },
  {
    id: 'policies-of-answers',
    fits: ({ path, contour }) =>
      contour === undefined &&
      /\.(?:(?:request|response)_headers_to_(?:add|remove)|typed_per_filter_config)$/.test(path),
  },
  {
    id: 'exact-conditions',
    fits: ({ path }, { objects }) => EXACT_FIRST.test(JSON.stringify(objects)) && /\.(order|routes)/.test(path),
  },
  {
    id: 'cookie-rewrites',
    fits: ({ path }, { objects }) => has(objects, 'cookieRewritePolicies') && /\.routes\./.test(path),
  },
  { id: 'affinity-cookie', fits: ({ path }) => /\.hash_policy\[\d+\]\.cookie\.name$/.test(path) },
  {
    id: 'extension-tls',
    fits: ({ path }) => /ext_authz.*\.transport_socket\.typed_config\.common_tls_context\.tls_params$/.test(path),
  },
  { id: 'extension-weights', fits: ({ path }) => path.endsWith('.locality_weighted_lb_config') },
];

/** The route that answers instead has no forwarding. */
function isGone(path: string, sesame: Value | undefined): boolean {
  return sesame === undefined && path.endsWith('].route');
}
