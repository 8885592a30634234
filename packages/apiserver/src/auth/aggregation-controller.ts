import { compileLabelSelector, type LabelSelector, type UnknownObject } from '@capstan/kube';
import type { ObjectOperations } from '../controllers.ts';
import type { Core } from '../core.ts';
import { equalJson, valueAt } from '../json/copy.ts';
import { type PolicyRule, rulesOf } from './policy-rule.ts';
import { CLUSTER_ROLES } from './rbac.ts';

/** Keeps the rules of aggregated ClusterRoles equal to those of the roles that their selectors choose. */
export function startAggregationController(
  core: Core,
  operations: ObjectOperations,
  run: (work: () => Promise<void>) => void,
): void {
  let scheduled = false;
  const aggregate = async () => {
    scheduled = false;
    for (const { key, object } of core.store.list(CLUSTER_ROLES, '')) {
      const rules = aggregated(core, object);
      if (rules === undefined || equalJson(rules, rulesOf(object))) continue;
      // The aggregates of aggregates (admin is made of edit, which is made of view) follow by their own events.
      await operations.change(CLUSTER_ROLES, key, (role) => ({ ...role, rules }));
    }
  };
  const schedule = () => {
    if (scheduled) return;
    scheduled = true;
    run(aggregate);
  };
  core.store.subscribe(CLUSTER_ROLES, schedule);
  schedule();
}

function aggregated(core: Core, role: UnknownObject): PolicyRule[] | undefined {
  const selectors = valueAt(role, ['aggregationRule', 'clusterRoleSelectors']);
  if (!Array.isArray(selectors)) return undefined;
  const rules = new Map<string, PolicyRule>();
  for (const selector of selectors as LabelSelector[]) {
    const { matches } = compileLabelSelector(selector);
    for (const { object } of core.store.list(CLUSTER_ROLES, '')) {
      if (object.metadata.name === role.metadata.name || !matches(object.metadata.labels ?? {})) continue;
      for (const rule of rulesOf(object)) if (!rules.has(JSON.stringify(rule))) rules.set(JSON.stringify(rule), rule);
    }
  }
  return [...rules.values()];
}
