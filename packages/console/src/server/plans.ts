// Plans and actions. An action needs a plan of the last ten minutes, and the plan must still hold. Nothing else can write.
import { randomBytes } from 'node:crypto';
import { type Clock, CodedError, kindId } from '@capstan/kube';
import type { ActAnswer, ActRequest, PlanAnswer, PlanRequest } from '../api-types.ts';
import type { ConsolePlan, ConsoleSource } from './source.ts';

export interface PlansAnswer {
  readonly status: number;
  readonly body: unknown;
}

export interface Plans {
  plan(body: unknown, signal: AbortSignal): Promise<PlansAnswer>;
  act(body: unknown, signal: AbortSignal): Promise<PlansAnswer>;
}

const KEPT_MS = 10 * 60_000;
const MAX_KEPT = 50;
const VERBS: ReadonlySet<unknown> = new Set(['apply', 'drain', 'resume']);
/** nginx's code for a request whose client has gone: here, a newer plan of the same draft took its place. */
const SUPERSEDED = 499;

interface Kept {
  readonly at: number;
  readonly plan: ConsolePlan;
  readonly verb: ActRequest['verb'];
  readonly deletes: readonly string[];
}

export function createPlans(source: Pick<ConsoleSource, 'writes' | 'plan' | 'fetch' | 'runtime'>, clock: Clock): Plans {
  const kept = new Map<string, Kept>();
  const drafts = new Map<string, AbortController>();
  const forgetOld = () => {
    for (const [id, { at }] of kept) if (clock.now() - at >= KEPT_MS || kept.size > MAX_KEPT) kept.delete(id);
  };

  /** Answers a request that is well formed; the signal ends it. */
  async function answer(request: PlanRequest, signal: AbortSignal): Promise<PlansAnswer> {
    if (source.plan === undefined) return problem(404, 'this console has no plans');
    const moved = await movedSince(request.base ?? {}, signal);
    if (moved !== undefined)
      return problem(409, `${moved} has changed since the draft was opened; compare, and plan again`);
    signal.throwIfAborted();
    const plan = await source.plan(request, signal);
    const deletes = deletedNames(plan.report);
    const body: PlanAnswer = { report: plan.report, text: plan.text, ...(deletes.length > 0 && { deletes }) };
    if (!source.writes || plan.apply === undefined) return { status: 200, body };
    const planId = randomBytes(16).toString('base64url');
    kept.set(planId, { at: clock.now(), plan, verb: request.action?.verb ?? 'apply', deletes });
    forgetOld();
    return { status: 200, body: { ...body, planId } };
  }

  /** The first object whose version is another one than the draft began with. */
  async function movedSince(base: Readonly<Record<string, string>>, signal: AbortSignal): Promise<string | undefined> {
    const kinds = source.runtime.worlds.get('')?.kinds ?? [];
    for (const [id, version] of Object.entries(base)) {
      const [kindName = '', key = ''] = id.split(' ');
      const kind = kinds.find((one) => kindId(one) === kindName);
      if (kind === undefined) continue;
      const object = await source.fetch({ world: '', kind: kindName, key }, kind, signal);
      if (object?.metadata.resourceVersion !== version) return id;
    }
    return undefined;
  }

  return {
    async plan(body, signal) {
      const request = requestOf(body);
      if (request === undefined)
        return problem(
          400,
          'the body must have manifests, a text, or action with verb and object; delete, base and draft are optional',
        );
      const ending = new AbortController();
      const until = AbortSignal.any([signal, ending.signal]);
      if (request.draft !== undefined) {
        drafts.get(request.draft)?.abort();
        drafts.set(request.draft, ending);
      }
      try {
        return await answer(request, until);
      } catch (error) {
        if (ending.signal.aborted) return problem(SUPERSEDED, 'a newer plan of the same draft took its place');
        if (error instanceof CodedError) return problem(422, error.message);
        throw error;
      } finally {
        if (request.draft !== undefined && drafts.get(request.draft) === ending) drafts.delete(request.draft);
      }
    },
    async act(body, signal) {
      if (!source.writes)
        return problem(403, 'this console only reads; start it with --allow-writes to apply plans from it');
      const { planId, verb, confirm = [] } = (body ?? {}) as { planId?: unknown; verb?: unknown; confirm?: unknown };
      if (typeof planId !== 'string' || !VERBS.has(verb))
        return problem(400, 'the body must have planId, and verb as one of apply, drain, resume');
      forgetOld();
      const found = kept.get(planId);
      if (found?.plan.apply === undefined) return problem(409, 'the plan is not known any more; plan again');
      if (found.verb !== verb) return problem(409, `the plan was made to ${found.verb}, and not to ${String(verb)}`);
      const typed = Array.isArray(confirm) ? (confirm as readonly unknown[]) : [];
      const unconfirmed = found.deletes.find((name) => !typed.includes(name));
      if (unconfirmed !== undefined)
        return problem(400, `the plan deletes ${unconfirmed}; confirm has to repeat the name of each deleted object`);
      // A plan is applied once: afterwards its inputs have changed.
      kept.delete(planId);
      try {
        const outcome = await found.plan.apply(signal);
        if ('stale' in outcome) return problem(409, outcome.stale);
        const answered: ActAnswer = { done: outcome.done };
        return { status: 200, body: answered };
      } catch (error) {
        if (error instanceof CodedError) return problem(422, error.message);
        throw error;
      }
    },
  };
}

/** The names of the objects that the manifests themselves delete. */
function deletedNames({ given }: ConsolePlan['report']): string[] {
  if (!Array.isArray(given)) return [];
  return (given as readonly { readonly verb?: unknown; readonly object?: unknown }[]).flatMap(({ verb, object }) =>
    verb === 'delete' && typeof object === 'string' ? [object.slice(object.search(/[ /][^ /]*$/) + 1)] : [],
  );
}

const MAX_TEXT = 200;

function requestOf(body: unknown): PlanRequest | undefined {
  const {
    manifests = '',
    delete: isDeletion,
    action,
    base,
    draft,
  } = (body ?? {}) as { [field in keyof PlanRequest]?: unknown };
  if (typeof manifests !== 'string' || (isDeletion !== undefined && typeof isDeletion !== 'boolean')) return undefined;
  if (draft !== undefined && (typeof draft !== 'string' || draft.length > MAX_TEXT)) return undefined;
  const versions = base ?? {};
  if (typeof versions !== 'object' || !Object.values(versions).every((one) => typeof one === 'string'))
    return undefined;
  const { verb, object } = (action ?? {}) as { verb?: unknown; object?: unknown };
  if (action !== undefined && ((verb !== 'drain' && verb !== 'resume') || typeof object !== 'string')) return undefined;
  if (action === undefined && (body as { manifests?: unknown } | null)?.manifests === undefined) return undefined;
  return {
    manifests,
    ...(isDeletion !== undefined && { delete: isDeletion }),
    ...(draft !== undefined && { draft }),
    ...(base !== undefined && { base: versions as Record<string, string> }),
    ...(action !== undefined && { action: { verb, object } as NonNullable<PlanRequest['action']> }),
  };
}

function problem(status: number, message: string): PlansAnswer {
  return { status, body: { message } };
}
