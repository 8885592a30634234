// The stages of a backend's maintenance, and how far its routes have come. Routes follow the stage that is written here, so
// a stage is written down, with its time, before anything returns.
import { CustomResourceDefinition, type Kind } from '@capstan/kube';
import {
  type ConditionInput,
  conditionType,
  plan,
  type Reader,
  type Reconciler,
  reading,
  reconciler,
} from '@capstan/reconcile';
import { backendNamed } from '../backend/backend.ts';
import {
  DiscoveryBackend,
  type EffectiveBackend,
  type MaintenanceState,
  type MaintenanceStatus,
} from '../kinds/index.ts';
import { isInMaintenance, stageOf } from '../maintenance/backend-drain.ts';
import { SERVICE_READS } from '../maintenance/services.ts';
import { DEFINITION_FIELDS, OBSTACLES, type RouteTotals, type RouteTotalsOf } from '../maintenance/totals.ts';
import { createdAt, latestMoment } from '../schedule/moments.ts';

const drainedCondition = conditionType<
  | 'Drained'
  | 'Draining'
  | 'NoCapacity'
  | 'NoWeights'
  | 'ConflictingManager'
  | 'Paused'
  | 'PartialDrain'
  | 'Forbidden'
  | 'Restoring'
  | 'Enabled'
>('Drained');

/** There once a weight could not be restored. */
const weightsCondition = conditionType<'AmbiguousWeight' | 'Restored'>('WeightsRestored');

export function createMaintenanceReconciler(routeKinds: readonly Kind[], totals: RouteTotalsOf): Reconciler {
  return reconciler<DiscoveryBackend>({
    name: 'maintenance',
    resource: DiscoveryBackend,
    reads: [
      ...routeKinds.map((kind) => reading(kind, 'everywhere', { optional: true })),
      // Kinds of routes may be installed at any time.
      reading(CustomResourceDefinition, 'everywhere', {
        optional: true,
        fields: DEFINITION_FIELDS,
        names: routeKinds.map(({ plural, group }) => `${plural}.${group}`),
      }),
      ...SERVICE_READS,
    ],
    primary: false,
    reconcile({ object, read }) {
      const { name = '', namespace = '', creationTimestamp } = object.metadata;
      const backend = read.derived(backendNamed, name);
      // A backend that does not own the name has no routes either.
      if (backend?.effective === undefined || backend.ref.namespace !== namespace) return plan();
      const stage = read.get(DiscoveryBackend, backend.ref, stageOf);
      const now = () =>
        new Date(latestMoment(read, createdAt(creationTimestamp), 1000)).toISOString().replace('.000Z', 'Z');
      const wanted = isInMaintenance(read, backend.effective);
      const isUntouched = !wanted && (stage === undefined || stage.state === 'Active');
      const enabled = drainedCondition.isFalse('Enabled', 'the backend takes requests');
      if (isUntouched && stage === undefined) return plan({ conditions: [enabled] });

      const counts = read.derived(totals, name);
      const weights = weightsOf(counts, read.get(DiscoveryBackend, backend.ref, hasWeightsCondition) === true);
      if (isUntouched) return plan({ conditions: [enabled, ...weights] });
      const isOver = isRampOver(read, stage, wanted, backend.effective);
      const state = nextState(stage?.state, wanted, counts, backend.effective, isOver);
      const isSame = stage !== undefined && beginOf(stage.state) === beginOf(state);
      const maintenance: MaintenanceStatus = {
        state,
        since: isSame ? stage.since : now(),
        ...(state === 'Active' ? {} : figures(counts)),
      };
      const isStage = state !== stage?.state;
      const isWhole = isOver && backend.effective.maintenance.drainPercent === 100;
      const message = messageOf(state, counts, isWhole);
      return plan({
        conditions: [conditionOf(state, counts, backend.effective, message), ...weights],
        // Counts may change with every route; a new stage is reported at once.
        ...(isStage ? { status: { maintenance } } : { progress: { maintenance } }),
        events: isStage ? [{ reason: state, note: message }] : [],
      });
    },
  });
}

const hasWeightsCondition = ({ status }: DiscoveryBackend) =>
  status?.conditions?.some(({ type }) => type === weightsCondition.type) ?? false;

/** Weights that were edited beyond recognition while the backend was drained: the user decides their values. */
function weightsOf({ ambiguous, shown }: RouteTotals, isThere: boolean): ConditionInput[] {
  if (ambiguous === 0)
    return isThere ? [weightsCondition.isTrue('Restored', 'every weight has its desired value')] : [];
  const first = shown.filter(({ reason }) => reason === 'AmbiguousWeight').slice(0, NAMED);
  const texts = first.map(
    ({ kind, namespace, name, rule, message }) => `${kind} ${namespace}/${name}: ${rule} ${message}`,
  );
  const more = ambiguous > NAMED ? `; and more in ${ambiguous} routes` : '';
  return [weightsCondition.isFalse('AmbiguousWeight', `${texts.join('; ')}${more}`)];
}

/** Draining and Drained are one stretch of time, with one beginning. */
function beginOf(state: MaintenanceState): string {
  return state === 'Drained' ? 'Draining' : state;
}

function nextState(
  current: MaintenanceState | undefined,
  wanted: boolean,
  { leaving, drained, held, unreadable, arriving }: RouteTotals,
  { maintenance }: EffectiveBackend,
  isRampOver: boolean,
): MaintenanceState {
  if (wanted) {
    // The first look counts nothing that has not been asked to leave yet.
    const isKnown = unreadable.length === 0 && arriving.length === 0;
    const isComplete = leaving === drained && isKnown && maintenance.drainPercent === 100;
    return isComplete && isRampOver ? 'Drained' : 'Draining';
  }
  if (current === 'Draining' || current === 'Drained') return 'Restoring';
  return leaving === 0 && held === 0 && isRampOver ? 'Active' : 'Restoring';
}

/** Only the ramp of a stage that has been written down can be over. */
function isRampOver(
  read: Reader,
  stage: Pick<MaintenanceStatus, 'state' | 'since'> | undefined,
  wanted: boolean,
  { maintenance }: EffectiveBackend,
): boolean {
  if (maintenance.rampSeconds === 0) return true;
  if (stage === undefined || beginOf(stage.state) !== (wanted ? 'Draining' : 'Restoring')) return false;
  return read.reached(Date.parse(stage.since) + maintenance.rampSeconds * 1000);
}

function figures({
  routes,
  drained,
  leaving,
  held,
  noCapacity,
  blocked,
  shown,
}: RouteTotals): Partial<MaintenanceStatus> {
  return {
    routes,
    routesDrained: leaving === 0 ? 0 : drained,
    routesHeld: held,
    routesBlocked: blocked,
    noCapacity,
    blocked: [...shown],
  };
}

function conditionOf(
  state: MaintenanceState,
  counts: RouteTotals,
  { maintenance }: EffectiveBackend,
  message: string,
): ConditionInput {
  if (state === 'Active') return drainedCondition.isFalse('Enabled', 'the backend takes requests');
  if (state === 'Restoring') return drainedCondition.isFalse('Restoring', message);
  if (state === 'Drained') return drainedCondition.isTrue('Drained', message);
  if (maintenance.drainPercent < 100)
    return drainedCondition.isFalse(
      'PartialDrain',
      `${maintenance.drainPercent} % of the weight is taken away; ${message}`,
    );
  if (counts.unreadable.length > 0)
    return drainedCondition.isFalse(
      'Forbidden',
      `${counts.unreadable.join(', ')} cannot be read; grant the operator that`,
    );
  // Only when nothing else is on its way do the obstacles name the condition.
  const reason =
    counts.pending === 0 && counts.arriving.length === 0
      ? OBSTACLES.find((each) => counts.obstacles.includes(each))
      : undefined;
  return drainedCondition.isFalse(reason ?? 'Draining', message);
}

function messageOf(
  state: MaintenanceState,
  { routes, leaving, drained, held, noCapacity, blocked, shown, arriving, ...rest }: RouteTotals,
  isWhole: boolean,
): string {
  const names = [...new Set(shown.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`))].slice(0, NAMED);
  const more = blocked > names.length ? ` and ${blocked - names.length} more` : '';
  const check = blocked === 0 ? '' : `; blocked: ${names.join(', ')}${more}`;
  const dry = noCapacity === 0 ? '' : `; ${noCapacity} without another service to take over`;
  if (state === 'Drained') return `none of ${routes} routes sends it requests${dry}${check}`;
  const news =
    arriving.length === 0 ? '' : `; ${arriving.join(', ')}: just installed, and its routes are still to be read`;
  const { pending, pendingNames } = rest;
  // A route that stays in the list is refused by the server, with an event on the route. With steps, all of them are on their way.
  const isNamed = isWhole && pending > 0 && pendingNames.length === pending;
  const under = isNamed ? `; on the way (see their events): ${pendingNames.join(', ')}` : '';
  if (state === 'Draining') return `${leaving - drained} of ${leaving} routes are left${under}${dry}${check}${news}`;
  if (state === 'Restoring') return `weights return; ${held} of ${routes} routes are left${waitsOf(shown)}`;
  return `the weights of ${routes} routes are as they were`;
}

/** Returns the reasons why the first of the remaining routes do not have their weights back yet. */
function waitsOf(shown: RouteTotals['shown']): string {
  const waits = shown.filter(({ reason }) => reason === 'Holding').slice(0, NAMED);
  const texts = waits.map(({ kind, namespace, name, message }) => `${kind} ${namespace}/${name} (${message})`);
  return texts.length === 0 ? '' : `; waiting: ${texts.join(', ')}`;
}

/** How many routes a message names. */
const NAMED = 5;
