import { useSignal } from '@preact/signals';
import type { ActAnswer, ActRequest, PlanAnswer } from '../../api-types.ts';
import { Dialog } from '../parts/dialog.tsx';
import { post } from '../state/api.ts';
import { session } from '../state/world.ts';

interface PlanActionsProps {
  readonly plan: PlanAnswer | undefined;
  readonly verb: ActRequest['verb'];
  readonly onDone: () => void;
}

const TITLES: Readonly<Record<ActRequest['verb'], string>> = { apply: 'Apply', drain: 'Drain', resume: 'Resume' };

/** Carries out the plan that is shown, after a question. The server refuses it where an input has changed since. */
export function PlanActions({ plan, verb, onDone }: PlanActionsProps) {
  const isOpen = useSignal(false);
  const names = useSignal<readonly string[]>([]);
  const result = useSignal('');
  const problem = useSignal('');
  const isRunning = useSignal(false);
  const mayWrite = session.value?.writes === true;
  const title = TITLES[verb];
  const { planId, deletes = [] } = plan ?? {};
  const act = async () => {
    if (planId === undefined) return;
    isRunning.value = true;
    problem.value = '';
    try {
      const request: ActRequest = { planId, verb, ...(deletes.length > 0 && { confirm: names.value }) };
      const { done } = await post<ActAnswer>('/api/act', request);
      result.value = done.map((one) => `${one.verb} ${one.id}`).join(', ');
    } catch (error) {
      // The server reports the objects that were written before a conflict.
      problem.value = error instanceof Error ? error.message : String(error);
    } finally {
      isRunning.value = false;
      onDone();
    }
  };
  const isConfirmed = deletes.every((name, at) => names.value[at] === name);
  return (
    <>
      <button
        type="button"
        class="button primary"
        disabled={!mayWrite || planId === undefined}
        title={mayWrite ? 'Needs a plan without refusals' : 'Start capstan console --allow-writes to apply plans'}
        onClick={() => {
          names.value = deletes.map(() => '');
          result.value = '';
          problem.value = '';
          isOpen.value = true;
        }}
      >
        {mayWrite ? `${title}…` : `${title}… read-only`}
      </button>
      <Dialog isOpen={isOpen} label={`${title} this plan`} class="sheet">
        <div class="sheet-head">
          <h2>{title} this plan</h2>
          <button type="button" class="button small" onClick={() => (isOpen.value = false)}>
            Close
          </button>
        </div>
        <div class="sheet-body stack">
          {result.value === '' && problem.value === '' && (
            <p>
              The manifests are written with your own rights, as field manager capstan-console, without force. The
              operators then do what the plan shows.
            </p>
          )}
          {deletes.map((name, at) => (
            <label key={name} class="label">
              Type {name} to delete it
              <input
                type="text"
                autocomplete="off"
                value={names.value[at] ?? ''}
                onInput={(event) => (names.value = names.value.with(at, event.currentTarget.value))}
              />
            </label>
          ))}
          <div aria-live="polite">
            {result.value !== '' && <p class="ok">Done: {result.value}</p>}
            {problem.value !== '' && <p class="bad">{problem.value}</p>}
          </div>
          {result.value === '' && problem.value === '' && (
            <div class="actions">
              <button
                type="button"
                class={`button ${deletes.length > 0 ? 'danger' : 'primary'}`}
                disabled={!isConfirmed || isRunning.value || planId === undefined}
                onClick={() => void act()}
              >
                {title}
              </button>
            </div>
          )}
        </div>
      </Dialog>
    </>
  );
}
