// Reports on a Cluster object whether its networks can be reached from the others, with the problems.
import { conditionType, derivation, plan, reading, reconciler } from '@capstan/reconcile';
import { isCidr } from '../drivers/addresses.ts';
import { Cluster } from '../kinds/index.ts';
import { findOverlaps, networksOf } from '../networks/overlaps.ts';

const accepted = conditionType<'Accepted' | 'OverlappingSubnets' | 'InvalidSubnet'>('Accepted');

/** By namespace: the first overlap of each cluster that has one. */
const overlaps = derivation<Readonly<Record<string, string>>>({
  name: 'overlapping networks',
  compute: ({ key: namespace, read }) =>
    Object.fromEntries(findOverlaps(read.list(Cluster, { namespace }, networksOf))),
});

/** By namespace and cluster, so that a cluster is looked at again only when its own answer changes. */
const overlapOf = derivation<string>({
  name: 'overlap of a cluster',
  compute({ key, read }) {
    const [namespace = '', id = ''] = key.split('/');
    return read.derived(overlaps, namespace)[id] ?? '';
  },
});

export const cluster = reconciler<Cluster>({
  name: 'cluster',
  resource: Cluster,
  reads: [reading(Cluster, 'everywhere')],
  reconcile({ object, read }) {
    const { id, subnets } = networksOf(object);
    const wrong = subnets.filter((subnet) => !isCidr(subnet));
    if (wrong.length > 0)
      return plan({
        conditions: [
          accepted.isFalse(
            'InvalidSubnet',
            `cluster "${id}": ${wrong.join(', ')} is not a subnet, and gets no route; write ADDRESS/LENGTH`,
          ),
        ],
      });
    const overlap = read.derived(overlapOf, `${object.metadata.namespace ?? ''}/${id}`);
    return plan({
      conditions: [overlap === '' ? accepted.isTrue('Accepted', '') : accepted.isFalse('OverlappingSubnets', overlap)],
    });
  },
});
