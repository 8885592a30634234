import { type Operator, operator } from '@capstan/reconcile';
import { Broker, CablePolicies, Cluster, Endpoint, Gateway, Submariner } from './kinds/index.ts';
import { createSubmarinerReconciler } from './reconcilers/submariner.ts';
import { DEFAULT_SETTINGS, type Settings } from './settings.ts';

/** Cables between clusters: the driver of each pair is chosen by policy. */
export function createSubmariner(given: Partial<Settings> = {}): Operator {
  const settings = { ...DEFAULT_SETTINGS, ...given };
  return operator({
    name: 'submariner',
    description: 'The right cable for each pair of clusters.',
    kinds: [Submariner, Broker, CablePolicies, Cluster, Endpoint, Gateway],
    reconcilers: [createSubmarinerReconciler(settings)],
  });
}

export default createSubmariner();
