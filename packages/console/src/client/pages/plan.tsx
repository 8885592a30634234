import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { ObjectAnswer, PlanAnswer, PlanRequest, SchemaAnswer } from '../../api-types.ts';
import { describe, parseObjectId, placeOf } from '../logic/routes.ts';
import { manifestOf, skeletonOf } from '../manifests/manifest.ts';
import { outlineOf } from '../manifests/yaml-outline.ts';
import { ManifestEditor } from '../parts/manifest-editor.tsx';
import { CopyButton, PageHead, Panel, ProblemNote } from '../parts/panel.tsx';
import { get, Problem, post } from '../state/api.ts';
import { DRAFT_ID, keepDraft, keptDraft } from '../state/draft.ts';
import { replace, route, withQuery } from '../state/location.ts';
import { PlanActions } from './plan-actions.tsx';
import { PlanEffects } from './plan-effects.tsx';

const REST_MS = 250;
/** Answered to a plan that a newer one of the same draft has ended. */
const ENDED = 499;

export function Plan() {
  const { query } = route.value;
  const isDeletion = query['delete'] === 'true';
  const action = actionOf(query);
  const draft = useSignal(query['object'] === undefined && query['create'] === undefined ? keptDraft() : '');
  const revision = useSignal(0);
  const base = useSignal<Readonly<Record<string, string>>>({});
  const plan = useSignal<PlanAnswer | undefined>(undefined);
  const problem = useSignal<Problem | undefined>(undefined);
  const took = useSignal<number | undefined>(undefined);
  const saved = useSignal(0);
  const waited = useRef(0);
  const text = draft.value;
  const fill = (loaded: string) => {
    draft.value = loaded;
    revision.value++;
  };
  useEffect(() => {
    problem.value = undefined;
    if (action === undefined && text.trim() === '') {
      plan.value = undefined;
      return undefined;
    }
    const stop = new AbortController();
    const run = () => {
      if (action === undefined) keepDraft(text);
      const began = performance.now();
      post<PlanAnswer>('/api/plan', requestOf(text, isDeletion, action, base.value), stop.signal).then(
        (answer) => {
          if (stop.signal.aborted) return;
          plan.value = answer;
          took.value = Math.round(performance.now() - began);
        },
        (error: unknown) => {
          if (stop.signal.aborted || (error instanceof Problem && error.status === ENDED)) return;
          plan.value = undefined;
          problem.value = error instanceof Problem ? error : new Problem(0, String(error));
        },
      );
    };
    const isSaved = waited.current !== saved.value;
    waited.current = saved.value;
    const timer = setTimeout(run, isSaved ? 0 : REST_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text, isDeletion, action?.verb, action?.object, saved.value]);
  // It runs last: the effect above forgets the problem of an earlier draft.
  useEffect(() => open(query, fill, base, problem), [query['object'], query['create']]);
  const first = outlineOf(text).find(({ kind }) => kind !== '');
  const documents = outlineOf(text).filter(({ kind }) => kind !== '').length;
  const command = isDeletion ? 'capstan plan -f FILE --delete' : 'capstan plan -f FILE';
  return (
    <>
      <PageHead
        title={action !== undefined ? actionTitle(action) : isDeletion ? 'Plan a deletion' : 'Plan a change'}
        sub="Nothing is written. The same reconcilers run over the caches plus what you type; the server is asked by a dry run."
      >
        {took.value !== undefined && plan.value !== undefined && <span class="soft">planned in {took.value} ms</span>}
        <CopyButton text={command} title={`Copy as ${command.replace(' -f FILE', '')}`} />
        <PlanActions
          plan={plan.value}
          verb={action?.verb ?? 'apply'}
          onDone={() => {
            plan.value = undefined;
            saved.value++;
          }}
        />
      </PageHead>
      <div class={action === undefined ? 'columns' : 'stack'}>
        {action === undefined && (
          <Panel
            title={first === undefined ? 'Manifests' : first.kind}
            count={documents > 1 ? `and ${documents - 1} more` : ''}
            more={
              <label class="actions">
                <input
                  type="checkbox"
                  checked={isDeletion}
                  onChange={(event) => replace(withQuery({ delete: event.currentTarget.checked ? 'true' : '' }))}
                />
                Delete these objects
              </label>
            }
            note={
              <>
                <kbd>Ctrl Space</kbd> completes · <kbd>Ctrl S</kbd> plans now · <kbd>Alt ↓</kbd> next problem. The draft
                stays in this tab, Secrets do not.
              </>
            }
          >
            <ManifestEditor
              text={text}
              label="Manifests"
              revision={revision.value}
              onChange={(changed) => (draft.value = changed)}
              onSave={() => saved.value++}
            />
          </Panel>
        )}
        <div class="stack">
          {problem.value !== undefined && <PlanProblem problem={problem.value} />}
          <PlanEffects plan={plan.value} isEmpty={action === undefined && text.trim() === ''} />
        </div>
      </div>
    </>
  );
}

function PlanProblem({ problem }: { problem: Problem }) {
  if (problem.status !== 422 && problem.status !== 409) return <ProblemNote problem={problem} />;
  return (
    <Panel title={problem.status === 409 ? 'The object has changed' : 'Not valid yet'}>
      <p class="body">{problem.message}</p>
    </Panel>
  );
}

type Action = NonNullable<PlanRequest['action']>;

function actionOf({ action, on = '' }: Readonly<Record<string, string>>): Action | undefined {
  return action === 'drain' || action === 'resume' ? { verb: action, object: on } : undefined;
}

function actionTitle({ verb, object }: Action): string {
  const place = parseObjectId(object);
  return `${verb === 'drain' ? 'Drain' : 'Resume'} ${place === undefined ? object : describe(place)}`;
}

function requestOf(
  manifests: string,
  isDeletion: boolean,
  action: Action | undefined,
  base: Readonly<Record<string, string>>,
): PlanRequest {
  if (action !== undefined) return { manifests: '', action, draft: DRAFT_ID };
  return {
    manifests,
    draft: DRAFT_ID,
    ...(isDeletion && { delete: true }),
    ...(Object.keys(base).length > 0 && { base }),
  };
}

/** Fills the editor with an object of the cluster, or with the start of one that does not exist. */
function open(
  { object, create }: Readonly<Record<string, string>>,
  fill: (text: string) => void,
  base: { value: Readonly<Record<string, string>> },
  problem: { value: Problem | undefined },
): (() => void) | undefined {
  const place = placeOf((object ?? create ?? '').split('/').map(decodeURIComponent));
  if (place === undefined) return undefined;
  if (place.world !== '') {
    const message = `${describe(place)} is in another cluster; plan it in the console of that cluster`;
    problem.value = new Problem(422, message);
    return undefined;
  }
  const stop = new AbortController();
  const show = async () => {
    if (object !== undefined) {
      const answer = await get<ObjectAnswer>(`/api/object/${object}`, stop.signal);
      const { resourceVersion } = (answer.object['metadata'] ?? {}) as { resourceVersion?: string };
      if (resourceVersion !== undefined) base.value = { [answer.id]: resourceVersion };
      fill(manifestOf(answer.object));
      return;
    }
    const schema = await get<SchemaAnswer>(`/api/schema/${encodeURIComponent(place.kind)}`, stop.signal).catch(
      () => undefined,
    );
    const group = place.kind.slice(place.kind.indexOf('.') + 1);
    fill(skeletonOf(place, schema?.apiVersion ?? (place.kind.includes('.') ? `${group}/v1` : 'v1')));
  };
  show().catch((error: unknown) => {
    if (!stop.signal.aborted) problem.value = error instanceof Problem ? error : new Problem(0, String(error));
  });
  return () => stop.abort();
}
