// A Broker: the accounts and the role of its members, the default policy and the initial ones. Policies are created once and
// then left to users.
import { Role } from '@capstan/kube';
import { apply, conditionType, createOnly, plan, reading, reconciler, writing } from '@capstan/reconcile';
import { CLIENT_ROLE, CLIENT_RULES } from '../deployment/broker-objects.ts';
import { BROKER_ORIGIN, Broker, CablePolicies, Cluster, CREATED_AT_ANNOTATION, ORIGIN_LABEL } from '../kinds/index.ts';
import { BUILT_IN_DRIVER, driverNameOf } from '../policy/driver-names.ts';
import { DEFAULT_POLICY, readPolicy } from '../policy/read-policy.ts';

const ready = conditionType<'Ready' | 'InvalidPolicy'>('Ready');

export const broker = reconciler<Broker>({
  name: 'broker',
  resource: Broker,
  reads: [reading(Cluster, 'everywhere'), reading(CablePolicies, 'everywhere')],
  writes: [
    writing(CablePolicies, 'children', { onlyVerbs: ['create'] }),
    writing(Role, 'children', { extraVerbs: ['escalate'] }),
  ],
  reconcile({ object: { metadata, spec }, read }) {
    const { namespace = '', creationTimestamp = '', labels } = metadata;
    // A member's copy of its broker's settings.
    if (labels?.[ORIGIN_LABEL] !== undefined) return plan({ prune: false });
    const driver = spec.defaultCableDriver ?? BUILT_IN_DRIVER;
    const wanted = [...(spec.initialPolicies ?? [])];
    const problems = wanted.flatMap(({ name, spec: given }) =>
      readPolicy({ metadata: { name }, spec: given }).problems.map(({ message }) => `policy "${name}": ${message}`),
    );
    if (driverNameOf(driver) === undefined) problems.push(`spec.defaultCableDriver: "${driver}" is not known`);
    if (!wanted.some(({ name }) => name === DEFAULT_POLICY))
      wanted.push({ name: DEFAULT_POLICY, spec: [{ cableDriver: { name: driver } }] });
    const clusters = read.list(Cluster, { namespace }, idOf);
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
      status: { clusters: clusters.map((id) => ({ id })) },
      conditions: [
        good
          ? ready.isTrue('Ready', `broker: ${clusters.length} cluster(s) have joined`)
          : ready.isFalse('InvalidPolicy', `broker: ${problems.join('; ')}; correct spec.initialPolicies`),
      ],
    });
  },
});

const idOf = ({ spec }: Cluster) => spec.cluster_id;
