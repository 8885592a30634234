// A Broker: the accounts and the role of its members, the default policy and the initial ones. Policies are created once and
// then left to users.
import { Lease, parseDuration, Role, ServiceAccount } from '@capstan/kube';
import {
  apply,
  conditionType,
  createOnly,
  plan,
  type Reader,
  reading,
  reconciler,
  remove,
  writing,
} from '@capstan/reconcile';
import { CLIENT_ROLE, CLIENT_RULES } from '../deployment/broker-objects.ts';
import {
  BROKER_ORIGIN,
  Broker,
  CablePolicies,
  Cluster,
  CREATED_AT_ANNOTATION,
  Endpoint,
  ORIGIN_LABEL,
} from '../kinds/index.ts';
import { accountOf, heartbeatOf } from '../membership/names.ts';
import { BUILT_IN_DRIVER, driverNameOf } from '../policy/driver-names.ts';
import { DEFAULT_POLICY, readPolicy } from '../policy/read-policy.ts';
import { replacementOf } from '../sync/content.ts';
import { lastDefaultOf } from '../sync/in-force.ts';
import { recordPolicies } from '../sync/policy-record.ts';

const ready = conditionType<'Ready' | 'Copy' | 'InvalidPolicy'>('Ready');

export const broker = reconciler<Broker>({
  name: 'broker',
  resource: Broker,
  reads: [
    reading(Cluster, 'everywhere'),
    reading(Endpoint, 'everywhere'),
    reading(CablePolicies, 'everywhere'),
    reading(Lease, 'referenced'),
    reading(ServiceAccount, 'referenced'),
  ],
  writes: [
    writing(Cluster, 'remove'),
    writing(Endpoint, 'remove'),
    writing(ServiceAccount, 'remove'),
    writing(Lease, 'remove'),
    writing(CablePolicies, 'createOnly', { prunes: false }),
    writing(Role, 'apply', { grants: { namespaced: CLIENT_RULES } }),
  ],
  reconcile({ object: { metadata, spec, status }, read }) {
    const { name = '', namespace = '', creationTimestamp = '', labels } = metadata;
    if (labels?.[ORIGIN_LABEL] !== undefined)
      return plan({
        prune: false,
        conditions: [
          ready.isTrue(
            'Copy',
            `Broker "${name}": has the settings of the broker that this cluster joined; edit them there`,
          ),
        ],
      });
    const driver = spec.defaultCableDriver ?? BUILT_IN_DRIVER;
    const wanted = [...(spec.initialPolicies ?? [])];
    const problems = wanted.flatMap(({ name, spec: given }) =>
      readPolicy({ metadata: { name }, spec: given }).problems.map(({ message }) => `policy "${name}": ${message}`),
    );
    if (driverNameOf(driver) === undefined) problems.push(`spec.defaultCableDriver: "${driver}" is not known`);
    // A deleted default policy comes back as it last was valid, not as it was deployed.
    const found = read.get(CablePolicies, { namespace, name: DEFAULT_POLICY }, validSpecOf);
    const lastDefault = found ?? lastDefaultOf({ metadata: {}, status });
    if (lastDefault !== undefined) {
      const at = wanted.findIndex(({ name }) => name === DEFAULT_POLICY);
      wanted.splice(at < 0 ? wanted.length : at, at < 0 ? 0 : 1, { name: DEFAULT_POLICY, spec: lastDefault });
    } else if (!wanted.some(({ name }) => name === DEFAULT_POLICY))
      wanted.push({ name: DEFAULT_POLICY, spec: [{ cableDriver: { name: driver } }] });
    const timeout = timeoutOf(spec.memberTimeout);
    if (timeout === null)
      problems.push(`spec.memberTimeout: "${spec.memberTimeout}" is not a duration of at least 1m, such as 72h`);
    const members = read.list(Cluster, { namespace });
    const expired = members.filter(({ spec: { cluster_id: id } }) => {
      const renewed = timeout ? read.get(Lease, { namespace, name: heartbeatOf(id) }, renewedAt) : undefined;
      // A member that never sent a heartbeat has an earlier version: its age is not known.
      return timeout && renewed !== undefined && read.reached(renewed + timeout);
    });
    const clusters = members.filter((each) => !expired.includes(each)).map(idOf);
    const policyRecord = recordPolicies(status?.policyRecord ?? [], read.list(CablePolicies, { namespace }, uidsOf));
    const good = problems.length === 0;
    return plan({
      prune: good,
      children: good
        ? [
            apply(Role, { metadata: { namespace, name: CLIENT_ROLE }, rules: CLIENT_RULES }, { adopts: true }),
            ...wanted.map(({ name, spec: given }) =>
              createOnly(
                CablePolicies,
                {
                  metadata: {
                    namespace,
                    name,
                    labels: { [ORIGIN_LABEL]: BROKER_ORIGIN },
                    annotations: { [CREATED_AT_ANNOTATION]: new Date(creationTimestamp || 0).toISOString() },
                  },
                  spec: given,
                },
                { owned: false },
              ),
            ),
          ]
        : [],
      removals: good ? expired.flatMap((each) => removalsOf(each, read, namespace)) : [],
      ...(good &&
        expired.length > 0 && {
          events: expired.map(({ spec: { cluster_id: id } }) => ({
            type: 'Warning' as const,
            reason: 'MemberTimeout',
            note: `cluster "${id}": was not heard of for ${spec.memberTimeout} (memberTimeout) and is removed; it can join again`,
          })),
        }),
      status: {
        clusters: clusters.map((id) => ({ id })),
        policyRecord,
        ...(lastDefault !== undefined && { defaultPolicy: lastDefault }),
      },
      conditions: [
        good
          ? ready.isTrue(
              'Ready',
              `Broker "${name}": ${clusters.length} ${clusters.length === 1 ? 'cluster has' : 'clusters have'} joined`,
            )
          : ready.isFalse('InvalidPolicy', `Broker "${name}": ${problems.join('; ')}; correct the spec`),
      ],
    });
  },
});

const uidsOf = (policy: CablePolicies) => ({
  uid: policy.metadata.uid ?? '',
  replaces: replacementOf(policy)?.uid,
});
const idOf = ({ spec }: Cluster) => spec.cluster_id;
const endpointOf = ({ apiVersion, kind, metadata, spec }: Endpoint) => ({
  apiVersion,
  kind,
  metadata,
  id: spec.cluster_id,
});

/** The spec of a policy; undefined for one that is not valid. */
const validSpecOf = (policy: CablePolicies) => (readPolicy(policy).problems.length === 0 ? policy.spec : undefined);

const renewedAt = ({ spec }: Lease) => (spec?.renewTime === undefined ? undefined : Date.parse(spec.renewTime));

/** Members write these objects themselves. The ruling on members that are not heard of any more names them. */
const EXPIRED = { provenance: { ruling: 'docs/decisions/0034-ownership.md' } } as const;

/** Everything of a member that vanished; its role and bindings are owned by its account. */
function removalsOf(cluster: Cluster, read: Reader, namespace: string) {
  const id = cluster.spec.cluster_id;
  const endpoints = read.list(Endpoint, { namespace }, endpointOf).filter((each) => each.id === id);
  const account = read.get(ServiceAccount, { namespace, name: accountOf(id) });
  const heartbeat = read.get(Lease, { namespace, name: heartbeatOf(id) });
  return [
    ...endpoints.map((endpoint) => remove(Endpoint, endpoint, EXPIRED)),
    remove(Cluster, cluster, EXPIRED),
    ...(account === undefined ? [] : [remove(ServiceAccount, account, EXPIRED)]),
    ...(heartbeat === undefined ? [] : [remove(Lease, heartbeat, EXPIRED)]),
  ];
}

const LEAST_TIMEOUT_MS = 60_000;

/** In milliseconds; undefined for none, null for a text that is no duration or too short for heartbeats. */
function timeoutOf(text: string | undefined): number | undefined | null {
  if (text === undefined || text === '') return undefined;
  try {
    const ms = parseDuration(text);
    return ms >= LEAST_TIMEOUT_MS ? ms : null;
  } catch {
    return null;
  }
}
