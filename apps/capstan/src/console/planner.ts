// The plans of the console: those of `capstan plan`, on the warm runtime, with server-side apply and without force.
import type { ConsoleOutcome, ConsolePlan, ConsoleSource, PlanRequest, WhatIfRequest } from '@capstan/console';
import { DiscoveryBackend } from '@capstan/gimbal';
import {
  type Client,
  type Clock,
  CodedError,
  type DefinedKind,
  isConflict,
  type Kind,
  type KubeObject,
  kindId,
  untilAborted,
} from '@capstan/kube';
import { type Operator, type PreviewChange, type PreviewResult, preview, type Runtime } from '@capstan/reconcile';
import { CliErrors } from '../cli/errors.ts';
import { formatPlan, type PlanReport } from '../plan/format-plan.ts';
import { givenManifests } from '../plan/given-manifests.ts';
import { knownKinds } from '../plan/known-kinds.ts';
import { predictRefusals } from '../plan/predict-refusals.ts';
import { parseManifests } from '../plan/read-manifests.ts';
import { helmReleases } from '../plan/tool/helm-releases.ts';
import { mergeSchemas } from '../plan/tool/strategic-patch.ts';
import type { RuntimeNotes } from '../plan/warm-runtime.ts';
import type { GivenChange } from '../plan/would-become.ts';
import { coloursFor } from '../text/colours.ts';

export interface PlannerOptions {
  readonly runtime: Runtime;
  readonly all: readonly Operator[];
  readonly client: Client;
  readonly clock: Clock;
  readonly namespace: string;
  readonly timeoutMs: number;
  /** Resolves when the caches are full. */
  notesOf(): Promise<RuntimeNotes>;
}

export const FIELD_MANAGER = 'capstan-console';
/** Actions apply one field: under the name of manifests, the other fields of these would be given up. */
const ACTION_MANAGER = 'capstan-console-action';

export interface Planner {
  readonly plan: NonNullable<ConsoleSource['plan']>;
  /** The objects of manifests as they would be, for previews of pages. Fields of other managers are taken as forced. */
  changesOf(request: WhatIfRequest, signal: AbortSignal): Promise<readonly PreviewChange[]>;
}

export function createPlanner(options: PlannerOptions): Planner {
  const { runtime, all, client, clock, namespace, timeoutMs } = options;
  const schemas = mergeSchemas();

  /** Reads the manifests of a request against the cluster. */
  function reading(
    { manifests, delete: isDeletion = false }: WhatIfRequest,
    signal: AbortSignal,
    fieldManager = FIELD_MANAGER,
  ) {
    const kinds = knownKinds(all, client, signal);
    const predicting = (until: AbortSignal, isForced: boolean) => ({
      client,
      signal: until,
      schemas,
      releases: helmReleases(client, until),
      choice: { tool: 'server-side-apply' as const, fieldManager, forceConflicts: isForced },
    });
    const given = (until: AbortSignal, isForced = false) =>
      givenManifests(parseManifests(manifests, 'the manifests'), {
        kinds,
        predicting: predicting(until, isForced),
        isDeletion,
        namespace,
        givenNamespace: undefined,
      });
    const previewed = (changes: readonly GivenChange[]) =>
      changes.filter(({ verb }) => verb !== 'none').map((one) => previewChange(one, kinds.seenAs(one.kind)));
    return { given, previewed };
  }

  async function plan(request: PlanRequest, signal: AbortSignal): Promise<ConsolePlan> {
    const { action } = request;
    const known = await withSignal(options.notesOf(), signal);
    const { given, previewed: toPreview } =
      action === undefined
        ? reading(request, signal)
        : reading({ manifests: manifestOfAction(action) }, signal, ACTION_MANAGER);
    const predict = (changes: readonly GivenChange[], until: AbortSignal) =>
      preview(runtime, toPreview(changes), { clock, signal: until, factTimeoutMs: timeoutMs });
    // Fields of another manager are shown as they would become. Only their manager may write them, so that plan has no action.
    let conflict: string | undefined;
    const { given: changes } = await given(signal).catch((error: unknown) => {
      if (!isConflicting(error)) throw error;
      conflict = error.message;
      return given(signal, true);
    });
    const result = await predict(changes, signal);
    const { bodies, ...previewed } = result;
    const { refused } = await predictRefusals(client, bodies, signal);
    const report: PlanReport = {
      given: changes.map(({ verb, object, tool, paths, changes: values }) => ({
        verb,
        object,
        tool,
        paths,
        changes: values,
      })),
      ...previewed,
      unknowns: [...known.unseen, ...previewed.unknowns],
      refusals: [...(conflict === undefined ? [] : [conflict]), ...refused],
      notes: [...new Set([...changes.flatMap(({ notes }) => notes), ...known.notes])],
    };
    const colours = coloursFor({ env: {} });
    const text = formatPlan(report, { colours, isWide: false, showStatus: true });
    const shown: ConsolePlan = { report: { ...report }, text };
    if (report.refusals.length > 0 || known.unseen.length > 0 || !changes.every(canBeMade)) return shown;
    return {
      ...shown,
      async apply(until): Promise<ConsoleOutcome> {
        await runtime.settle();
        const { given: now } = await given(until);
        const again = await predict(now, until);
        if (!now.every(canBeMade) || textOf(now, again) !== textOf(changes, result)) return { stale: STALE };
        return makeAll(now);
      },
    };
  }

  return {
    plan,
    async changesOf(request, signal) {
      await withSignal(options.notesOf(), signal);
      const { given, previewed } = reading(request, signal);
      return previewed((await given(signal, true)).given);
    },
  };
}

/** A newer draft ends the wait of an older one. */
function withSignal<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return Promise.race([promise, untilAborted(signal).then(() => signal.throwIfAborted() as never)]);
}

/** The field that the commands `gimbal drain` and `gimbal resume` set. */
function manifestOfAction({ verb, object }: NonNullable<PlanRequest['action']>): string {
  const [kind = '', key = ''] = object.split(' ');
  const [namespace = '', name = ''] = key.split('/');
  if (kind !== kindId(DiscoveryBackend) || name === '') throw CliErrors.NoSuchAction(verb, object);
  return JSON.stringify({
    apiVersion: DiscoveryBackend.apiVersion,
    kind: DiscoveryBackend.kind,
    metadata: { namespace, name },
    spec: { clusterStatus: verb === 'drain' ? 'Maintenance' : 'Enabled' },
  });
}

function isConflicting(error: unknown): error is CodedError {
  return error instanceof CodedError && /\bconflicts? with\b/.test(error.message);
}

/** Returns whether the change can be written: some changes are only predicted, as those of another tool. */
function canBeMade({ verb, make }: GivenChange): boolean {
  return verb === 'none' || make !== undefined;
}

const STALE = 'an object that the plan was made from has changed since; nothing was written; plan again';

/** Makes the changes in their order. Each is refused by the server if its object is another one by then. */
async function makeAll(changes: readonly GivenChange[]): Promise<ConsoleOutcome> {
  const done: { id: string; verb: string }[] = [];
  for (const { verb, object, make } of changes) {
    if (verb === 'none' || make === undefined) continue;
    try {
      await make();
    } catch (error) {
      if (!isConflict(error))
        throw error instanceof CodedError ? error : new Error(`${object} was not written`, { cause: error });
      const written =
        done.length === 0 ? 'nothing was written' : `written before: ${done.map(({ id }) => id).join(', ')}`;
      return { stale: `${object} has changed since the plan; ${written}; plan again` };
    }
    done.push({ id: object, verb });
  }
  return { done };
}

/** The whole plan as text: two plans with the same text do the same. */
function textOf(changes: readonly GivenChange[], { bodies, ...previewed }: PreviewResult): string {
  const given = changes.map(({ verb, object, after }) => ({
    verb,
    object,
    version: after?.metadata.resourceVersion,
    after,
  }));
  return JSON.stringify([given, previewed, bodies.map(({ body }) => body)], (key, value: unknown) =>
    VOLATILE.has(key) ? undefined : value,
  );
}

/** Each prediction gives new values to these. */
const VOLATILE: ReadonlySet<string> = new Set(['managedFields', 'uid', 'creationTimestamp', 'lastTransitionTime']);

/** Returns the change in the form in which reconcilers see objects. */
function previewChange({ after, ref }: GivenChange, kind: Kind): PreviewChange {
  if (after === undefined) return { kind, ref, gone: true };
  const view: KubeObject = 'viewOf' in kind ? (kind as DefinedKind).viewOf(after) : after;
  return { kind, object: view };
}
