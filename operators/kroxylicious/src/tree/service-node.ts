// The leaf of a KafkaService: the address and the TLS settings of the Kafka cluster, and a hash of these and of every mounted file. Only
// the listener's address of a Strimzi Kafka counts, so that its other fields never restart a proxy.
import { childNameWithin } from '@capstan/kube';
import { type Digest, derivation, type Reader } from '@capstan/reconcile';
import type { TargetClusterConfig, TlsConfig } from '../configuration/schema.ts';
import { validateBootstrapServers } from '../configuration/validate.ts';
import { KafkaService, type NodeIdRange, type ServiceTls, StrimziKafka, StrimziKafkaV1beta2 } from '../kinds/index.ts';
import { distinctMounts, MOUNT_PATHS, type Mount } from '../resolution/mounts.ts';
import { named, notFound, type Problem, problem, type Warning } from '../resolution/problem.ts';
import { trustFault } from '../tls/certificates.ts';
import {
  allowedDenied,
  keysOf,
  type Resolved,
  resolveCertificate,
  resolveTrust,
  UNRESOLVED,
} from '../tls/resolve-tls.ts';
import { inspectTlsLists } from '../tls/tls-lists.ts';
import { type NamespacedRef, refOfKey, specOf } from './keys.ts';

export interface NamedRange {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

export interface ServiceNode {
  readonly problems: readonly Problem[];
  readonly warnings?: readonly Warning[];
  /** Known even while there are problems, since ports depend on it. */
  readonly nodeIdRanges: readonly NamedRange[];
  /** Absent while there are problems. */
  readonly valid?: {
    readonly target: TargetClusterConfig;
    readonly mounts: readonly Mount[];
    readonly hash: string;
    /** The content of `status.tls`. */
    readonly tls: ServiceTls | undefined;
    /** Certificates of another namespace to copy into this one, since a pod can mount only Secrets of its own namespace. */
    readonly copy: { readonly name: string; readonly data: Readonly<Record<string, string>> } | undefined;
  };
}

export const nodeIdRangesOf = (node: ServiceNode | undefined) => node?.nodeIdRanges;

/** More brokers than any Kafka cluster has. Each may need a port or a Service. */
const MAX_NODES = 1000;
const STRIMZI_CA_KEY = 'ca.crt';
/** Short enough for a volume of the same name with its prefix. */
const MAX_COPY_NAME = 63 - 'configmaps-'.length;

type Spec = KafkaService['spec'];

/** Undefined if the service does not exist. */
export const serviceNode = derivation<ServiceNode | undefined>({
  name: 'KafkaService',
  compute({ key, read, digest }) {
    const ref = refOfKey(key);
    const spec = specOf(read, KafkaService, ref);
    if (spec === undefined) return undefined;
    const ranges = namedRanges(spec.nodeIdRanges);
    const wrong = rangeProblems(ranges);
    const nodeIdRanges = wrong.length > 0 ? [] : ranges;
    const found = resolve(spec, ref, read, digest, nodeIdRanges);
    const problems = [...wrong, ...found.problems];
    return problems.length > 0 ? { problems, nodeIdRanges } : { ...found, nodeIdRanges };
  },
});

function resolve(
  spec: Spec,
  ref: NamespacedRef,
  read: Reader,
  digest: Digest,
  ranges: readonly NamedRange[],
): Omit<ServiceNode, 'nodeIdRanges'> {
  const { namespace } = ref;
  const bootstrap = spec.strimziKafkaRef
    ? strimziBootstrap(spec.strimziKafkaRef, namespace, read)
    : { servers: spec.bootstrapServers ?? '' };
  if (bootstrap.problem !== undefined) return { problems: [bootstrap.problem] };
  const addressFaults = validateBootstrapServers(bootstrap.servers);
  if (addressFaults.length > 0)
    return { problems: addressFaults.map(({ problem: wrong }) => addressProblem(spec, wrong)) };
  const certificate =
    spec.tls?.certificateRef === undefined
      ? UNRESOLVED
      : resolveCertificate(spec.tls.certificateRef, {
          read,
          namespace,
          path: 'spec.tls.certificateRef',
          mountPath: MOUNT_PATHS.clientCertificate,
        });
  const trust = resolveServerTrust(spec, ref, read);
  const lists = inspectTlsLists(spec.tls ?? {}, 'spec.tls');
  const problems = [...trust.problems, ...certificate.problems, ...lists.problems];
  if (problems.length > 0) return { problems };
  const hasTls = spec.tls !== undefined || trust.value !== undefined;
  const protocols = allowedDenied(spec.tls?.protocols);
  const cipherSuites = allowedDenied(spec.tls?.cipherSuites);
  const tls: TlsConfig | undefined = hasTls
    ? {
        ...(certificate.value ? { key: certificate.value } : {}),
        ...(trust.value ? { trust: trust.value } : {}),
        ...(cipherSuites ? { cipherSuites } : {}),
        ...(protocols ? { protocols } : {}),
      }
    : undefined;
  const target: TargetClusterConfig = {
    bootstrapServers: bootstrap.servers.replaceAll(/\s/g, ''),
    bootstrapServerSelection: { strategy: 'round-robin' },
    ...(tls ? { tls } : {}),
  };
  const shown = hasTls ? { ...spec.tls, ...(trust.shown ? { trustAnchorRef: trust.shown } : {}) } : undefined;
  return {
    problems,
    warnings: [...(certificate.warnings ?? []), ...(trust.warnings ?? []), ...lists.warnings],
    valid: {
      target,
      mounts: distinctMounts([...certificate.mounts, ...trust.mounts]),
      hash: digest(target, ranges, certificate.content, trust.content),
      tls: shown,
      copy: trust.copy,
    },
  };
}

function addressProblem({ strimziKafkaRef }: Spec, wrong: string): Problem {
  return strimziKafkaRef === undefined
    ? problem('Invalid', 'spec.bootstrapServers', `${wrong}; write host:port, several with commas`)
    : problem(
        'InvalidReferencedResource',
        'spec.strimziKafkaRef',
        `the address of the listener ${wrong}; see to the Kafka`,
      );
}

type StrimziRef = NonNullable<Spec['strimziKafkaRef']>;
const listenersOf = ({ spec, status }: StrimziKafka) => ({
  wanted: spec?.kafka?.listeners?.map(({ name }) => name) ?? [],
  served: status?.listeners ?? [],
});

function strimziBootstrap(ref: StrimziRef, own: string, read: Reader): { servers: string; problem?: Problem } {
  const path = 'spec.strimziKafkaRef';
  const at = { namespace: ref.namespace ?? own, name: ref.name };
  const failed = (found: Problem) => ({ servers: '', problem: found });
  if (ref.kind !== StrimziKafka.kind || ref.group !== StrimziKafka.group)
    return failed(
      problem(
        'ReferencedGroupKindNotSupported',
        path,
        `must name a Kafka of kafka.strimzi.io, not ${ref.kind}.${ref.group}`,
      ),
    );
  const kind = read.access(StrimziKafka) === 'not-served' ? StrimziKafkaV1beta2 : StrimziKafka;
  const access = read.access(kind);
  if (access === 'not-served')
    return failed(
      problem(
        'ReferencedResourcesNotFound',
        path,
        'Strimzi is not installed: there is no kind Kafka of kafka.strimzi.io; install it or use spec.bootstrapServers',
      ),
    );
  if (access === 'forbidden')
    return failed(
      problem(
        'ReferencedResourcesNotFound',
        path,
        'this operator may not read Kafka of kafka.strimzi.io; give it that right or use spec.bootstrapServers',
      ),
    );
  if (!read.covers(kind, at.namespace))
    return failed(
      problem(
        'ReferencedResourcesNotFound',
        `${path}.namespace`,
        `this operator does not watch the namespace ${at.namespace}; add it to its --watch-namespaces or use spec.bootstrapServers`,
      ),
    );
  const kafka = read.get(kind, at, listenersOf);
  if (kafka === undefined) return failed(notFound(path, 'Kafka', at));
  if (!kafka.wanted.includes(ref.listenerName))
    return failed(
      problem(
        'InvalidReferencedResource',
        `${path}.listenerName`,
        `${named('Kafka', at)} has no listener ${ref.listenerName}; it has ${kafka.wanted.join(', ') || 'none'}`,
      ),
    );
  const listener = kafka.served.find(({ name, type }) => (name ?? type) === ref.listenerName);
  const servers =
    listener?.bootstrapServers ?? listener?.addresses?.map(({ host, port }) => `${host}:${port}`).join(',');
  if (!servers)
    return failed(
      problem(
        'ReferencedResourceNotReconciled',
        path,
        `the listener ${ref.listenerName} of ${named('Kafka', at)} has no address yet; wait for Strimzi`,
      ),
    );
  return { servers };
}

interface ServerTrust extends Resolved<NonNullable<TlsConfig['trust']>> {
  /** The reference to report in the status. */
  readonly shown?: NonNullable<ServiceTls['trustAnchorRef']>;
  readonly copy?: { name: string; data: Record<string, string> };
}

/** Resolves the trust for Kafka's certificate. A trust anchor from the user has precedence over Strimzi's certificates. */
function resolveServerTrust(spec: Spec, ref: NamespacedRef, read: Reader): ServerTrust {
  const { namespace } = ref;
  const explicit = spec.tls?.trustAnchorRef;
  if (explicit !== undefined) {
    const found = resolveTrust(explicit, {
      read,
      namespace,
      path: 'spec.tls.trustAnchorRef',
      mountPath: MOUNT_PATHS.serverTrust,
    });
    return found.value === undefined ? found : { ...found, shown: { ...explicit, storeType: found.value.storeType } };
  }
  const strimzi = spec.strimziKafkaRef;
  if (!strimzi?.trustStrimziCaCertificate) return UNRESOLVED;
  const path = 'spec.strimziKafkaRef.trustStrimziCaCertificate';
  const name = `${strimzi.name}-cluster-ca-cert`;
  const from = strimzi.namespace ?? namespace;
  if (from === namespace) {
    const anchor = { kind: 'Secret', group: '', name, key: STRIMZI_CA_KEY, storeType: 'PEM' as const };
    const found = resolveTrust(anchor, { read, namespace, path, mountPath: MOUNT_PATHS.serverTrust });
    return found.value === undefined ? found : { ...found, shown: anchor };
  }
  const keys = keysOf(read, 'Secret', { namespace: from, name });
  if (keys === undefined) return { ...UNRESOLVED, problems: [notFound(path, 'Secret', { namespace: from, name })] };
  const certificates = keys(STRIMZI_CA_KEY)?.bytes.toString('utf8');
  if (certificates === undefined)
    return {
      ...UNRESOLVED,
      problems: [
        problem(
          'InvalidReferencedResource',
          path,
          `${named('Secret', { namespace: from, name })} has no key ${STRIMZI_CA_KEY}; wait for Strimzi`,
        ),
      ],
    };
  const wrong = trustFault(Buffer.from(certificates), 'PEM');
  if (wrong !== undefined)
    return {
      ...UNRESOLVED,
      problems: [
        problem(
          'InvalidReferencedResource',
          path,
          `key ${STRIMZI_CA_KEY} of ${named('Secret', { namespace: from, name })} is not usable: ${wrong}`,
        ),
      ],
    };
  const copy = {
    name: childNameWithin(MAX_COPY_NAME, ref.name, 'strimzi-ca'),
    data: { [STRIMZI_CA_KEY]: certificates },
  };
  const folder = MOUNT_PATHS.serverTrust(copy.name);
  return {
    value: { storeFile: `${folder}/${STRIMZI_CA_KEY}`, storeType: 'PEM' },
    mounts: [
      {
        source: 'ConfigMap',
        name: copy.name,
        path: folder,
        keys: [STRIMZI_CA_KEY],
        origin: { source: 'Secret', namespace: from, name },
      },
    ],
    content: [certificates],
    problems: [],
    shown: { kind: 'ConfigMap', group: '', name: copy.name, key: STRIMZI_CA_KEY, storeType: 'PEM' },
    copy,
  };
}

function namedRanges(ranges: readonly NodeIdRange[] | undefined): NamedRange[] {
  if (ranges === undefined) return [{ name: 'default', start: 0, end: 2 }];
  return ranges.map(({ name, start, end }, i) => ({ name: name ?? `range-${i}`, start, end }));
}

function rangeProblems(ranges: readonly NamedRange[]): Problem[] {
  const path = 'spec.nodeIdRanges';
  const problems: Problem[] = [];
  const names = new Set(ranges.map(({ name }) => name));
  if (names.size < ranges.length) problems.push(problem('Invalid', path, 'two ranges have one name; rename one'));
  const sorted = ranges.toSorted((left, right) => left.start - right.start);
  for (const [i, { name, start, end }] of sorted.entries()) {
    const before = sorted[i - 1];
    if (start > end)
      problems.push(problem('Invalid', path, `${name} starts at ${start}, above its end ${end}; exchange them`));
    else if (before !== undefined && before.end >= start)
      problems.push(problem('Invalid', path, `${name} overlaps ${before.name}; give each id to one range`));
  }
  const count = ranges.reduce((sum, { start, end }) => sum + end - start + 1, 0);
  if (count > MAX_NODES)
    problems.push(
      problem(
        'Invalid',
        path,
        `${count} node ids are more than the ${MAX_NODES} that one virtual cluster can have; name only those that exist`,
      ),
    );
  return problems;
}
