// The cables of a cluster in one condition of its Submariner: why a pair has none, with the remedy that its gateway reports.
import { type ConditionInput, conditionType, noCondition } from '@capstan/reconcile';
import type { GatewayStatus } from '../kinds/index.ts';

const connected = conditionType<'Connected' | 'Connecting' | 'CablesDown'>('Connected');
const MOST_NAMED = 3;

/** A cluster that has not joined has a condition for that alone. */
export function connections(gateways: readonly GatewayStatus[], joined: ConditionInput): ConditionInput {
  const active = gateways.find(({ haStatus }) => haStatus === 'active');
  const all = active?.connections ?? [];
  if (joined.status === 'False' || all.length === 0) return noCondition('Connected');
  const down = all.filter(({ status }) => status === 'error' || status === 'conflict');
  if (down.length > 0) {
    const named = down
      .slice(0, MOST_NAMED)
      .map(({ endpoint, statusMessage = '' }) => `cluster "${endpoint.cluster_id}": ${statusMessage}`);
    const more = down.length > MOST_NAMED ? `; and ${down.length - MOST_NAMED} more` : '';
    return connected.isFalse('CablesDown', `${down.length} of ${all.length} cables: ${named.join('; ')}${more}`);
  }
  const coming = all.filter(({ status }) => status === 'connecting').length;
  return coming > 0
    ? connected.isUnknown('Connecting', `${coming} of ${all.length} cables are being set up`)
    : connected.isTrue('Connected', '');
}
