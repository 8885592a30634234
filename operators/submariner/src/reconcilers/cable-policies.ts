// Reports on a policy: whether it is accepted, how it is understood, and how many pairs it decides.
import { ConfigMap } from '@capstan/kube';
import { conditionType, noCondition, plan, type Reader, reading, reconciler } from '@capstan/reconcile';
import { Broker, CablePolicies, Cluster } from '../kinds/index.ts';
import { isEncrypted } from '../policy/driver-names.ts';
import { withInlineOptions } from '../policy/inline-options.ts';
import { type CableRule, DEFAULT_POLICY, readPolicy } from '../policy/read-policy.ts';
import { pairCounts, policySet } from '../resolution/pair-fold.ts';
import { isOriginal } from '../sync/content.ts';
import { isSuperseded } from '../sync/in-force.ts';

const accepted = conditionType<
  | 'Accepted'
  | 'Invalid'
  | 'NameConflict'
  | 'MemberPoliciesNotAllowed'
  | 'NotEncrypted'
  | 'SelectsNothing'
  | 'EmptyLabelValue'
>('Accepted');
const optionsResolved = conditionType<'Resolved' | 'ConfigMapMissing'>('OptionsResolved');
const conflicting = conditionType<'SameRank'>('Conflicting');

export const cablePolicies = reconciler<CablePolicies>({
  name: 'cable-policies',
  resource: CablePolicies,
  reads: [reading(Cluster, 'everywhere'), reading(Broker, 'everywhere'), ConfigMap],
  primary: true,
  reconcile({ object, read }) {
    const { namespace = '' } = object.metadata;
    const isHere = isOriginal(object.metadata);
    // The options of a ConfigMap are part of the policy: an error in one is an error of the policy.
    const { spec, missing, used } = withInlineOptions(object.spec, (map, given) =>
      isHere ? read.get(ConfigMap, { namespace: given ?? namespace, name: map }, dataOf) : undefined,
    );
    const policy = readPolicy({ metadata: object.metadata, spec });
    const { name } = policy;
    const known = read.derived(policySet, namespace).policies.find((each) => each.name === name)?.rules ?? [];
    const inForce = isSuperseded(object) ? [] : known;
    const { pairs, clusters, conflicting: conflicts } = read.derived(pairCounts, namespace);
    if (policy.problems.length > 0) {
      const text = policy.problems.map(({ message }) => message).join('; ');
      const source = used.length === 0 ? '' : ` (options of ConfigMap ${used.join(', ')})`;
      const note = inForce.length > 0 ? '; the rules that were accepted last stay in force' : '';
      return plan({
        conditions: [accepted.isFalse('Invalid', `policy "${name}"${source}: ${text}${note}`)],
        status: { ...rulesStatus(inForce), matchedPairs: pairs[name] ?? 0 },
      });
    }
    const rules = inForce.length > 0 ? inForce : policy.rules;
    const place = isHere ? '' : ` in cluster "${policy.origin}", where the policy comes from`;
    const matched = isSuperseded(object) ? 0 : (pairs[name] ?? 0);
    const conflict = conflicts[name];
    return plan({
      conditions: [
        acceptance(
          object,
          read,
          name,
          rules.some(({ driver }) => !isEncrypted(driver)),
          matched === 0 && clusters > 1,
          policy.warnings,
        ),
        missing.length === 0
          ? optionsResolved.isTrue('Resolved', '')
          : optionsResolved.isFalse(
              'ConfigMapMissing',
              `policy "${name}": ConfigMap ${missing.join(', ')} does not exist${place}; drivers use their defaults until it is created`,
            ),
        conflict === undefined
          ? noCondition('Conflicting')
          : conflicting.isTrue(
              'SameRank',
              `policy "${name}": another policy of the same rank contradicts it for ${conflict}; give one of them a priority`,
            ),
      ],
      status: { ...rulesStatus(rules), matchedPairs: matched },
    });
  },
});

/** A printer column shows the first value of a list only: the names of all drivers are one text besides. */
function rulesStatus(rules: readonly CableRule[]) {
  return { drivers: [...new Set(rules.map(({ driver }) => driver))].join(','), effective: rules.map(effectiveRule) };
}

function effectiveRule({ left, right, driver, options, priority, onUnavailable }: CableRule) {
  return {
    leftClusterSelector: left.selector,
    rightClusterSelector: right.selector,
    cableDriver: { name: driver, ...(Object.keys(options.data).length > 0 && { options: options.data }) },
    ...(priority !== 0 && { priority }),
    ...(onUnavailable !== 'fail' && { onUnavailable }),
  };
}

const dataOf = ({ data }: ConfigMap) => data ?? {};
const securityOf = ({ spec }: Broker) => spec.minimumSecurity;

function acceptance(
  object: CablePolicies,
  read: Reader,
  name: string,
  isOpen: boolean,
  selectsNothing: boolean,
  warnings: readonly string[],
) {
  const sync = object.status?.conditions?.find(({ type }) => type === 'Synced');
  if (sync?.reason === 'NameConflict' || sync?.reason === 'MemberPoliciesNotAllowed')
    return accepted.isFalse(sync.reason, sync.message);
  const { namespace = '' } = object.metadata;
  if (isOpen && read.list(Broker, { namespace }, securityOf).includes('encrypted'))
    return accepted.isFalse(
      'NotEncrypted',
      `policy "${name}": vxlan does not encrypt, which the broker asks for (minimumSecurity); use another driver`,
    );
  if (warnings.length > 0) return accepted.isTrue('EmptyLabelValue', `policy "${name}": ${warnings.join('; ')}`);
  if (selectsNothing && name !== DEFAULT_POLICY)
    return accepted.isTrue(
      'SelectsNothing',
      `policy "${name}": decides no pair of the clusters that are known; check its selectors`,
    );
  return accepted.isTrue('Accepted', '');
}
