import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import type { WhatIfAnswer, WhatIfRequest } from '../../api-types.ts';
import { Problem, post } from '../state/api.ts';
import { ManifestEditor } from './manifest-editor.tsx';
import { Panel } from './panel.tsx';

const REST_MS = 300;

interface WhatIfProps<T> {
  readonly title: string;
  readonly path: string;
  /** The manifest that the field begins with. */
  readonly start?: string;
  readonly onAnswer: (answer: WhatIfAnswer<T>) => void;
  readonly children?: ComponentChildren;
}

/** Manifests whose effect on a report is computed as they are typed. Nothing is written. */
export function WhatIf<T>({ title, path, start = '', onAnswer, children }: WhatIfProps<T>) {
  const text = useSignal(start);
  const isOpen = useSignal(false);
  const problem = useSignal('');
  const value = text.value;
  useEffect(() => {
    if (!isOpen.value || value.trim() === '') return undefined;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      const request: WhatIfRequest = { manifests: value };
      post<WhatIfAnswer<T>>(path, request, stop.signal).then(
        (answer) => {
          problem.value =
            'unknown' in (answer.after as object) ? (answer.after as { unknown: string[] }).unknown.join(' ') : '';
          onAnswer(answer);
        },
        (error: unknown) => {
          if (!stop.signal.aborted) problem.value = error instanceof Problem ? error.message : String(error);
        },
      );
    }, REST_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [value, path, isOpen.value]);
  return (
    <Panel
      title={title}
      more={
        <>
          <span class="tag lit">draft, not written</span>
          <button
            type="button"
            class="button small"
            aria-expanded={isOpen.value}
            onClick={() => (isOpen.value = !isOpen.value)}
          >
            {isOpen.value ? 'Close' : 'Try a change'}
          </button>
        </>
      }
    >
      {isOpen.value && (
        <ManifestEditor
          text={value}
          label="Manifests to try"
          onChange={(typed) => (text.value = typed)}
          onSave={() => undefined}
        />
      )}
      <div class="body" aria-live="polite">
        {problem.value !== '' && <p class="bad">{problem.value}</p>}
        {!isOpen.value && <p class="soft">Type manifests, and see which parts of this page would change.</p>}
        {isOpen.value && children}
      </div>
    </Panel>
  );
}
