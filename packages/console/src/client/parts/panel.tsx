import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { UnknownAnswer } from '../../api-types.ts';
import { linkToObject, nameOf, type ObjectPlace } from '../logic/routes.ts';
import type { Problem } from '../state/api.ts';
import { Glyph } from './glyph.tsx';

interface PanelProps {
  readonly title: string;
  readonly count?: number | string | undefined;
  readonly more?: ComponentChildren;
  readonly note?: ComponentChildren;
  readonly children?: ComponentChildren;
}

export function Panel({ title, count, more, note, children }: PanelProps) {
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>{title}</h2>
        {count !== undefined && <span class="count">{count}</span>}
        {more !== undefined && <div class="panel-more">{more}</div>}
      </div>
      {children}
      {note !== undefined && <div class="note">{note}</div>}
    </section>
  );
}

export function PageHead({
  title,
  sub,
  glyph,
  children,
}: {
  title: string;
  sub?: ComponentChildren;
  glyph?: ComponentChildren;
  children?: ComponentChildren;
}) {
  return (
    <div class="page-head">
      <div class="page-title">
        <h1>
          {glyph}
          {title}
        </h1>
        {sub !== undefined && <div class={`soft ${glyph === undefined ? '' : 'inset'}`}>{sub}</div>}
      </div>
      {children !== undefined && <div class="actions">{children}</div>}
    </div>
  );
}

export function ObjectLink({ place, text }: { place: ObjectPlace; text?: string }) {
  return (
    <a class="name" href={linkToObject(place)} data-row>
      {text ?? nameOf(place.key)}
    </a>
  );
}

/** An answer that did not arrive: one sentence, and the Role where a right is missing. */
export function ProblemNote({ problem: { status, message, role } }: { problem: Problem }) {
  const isMissingRight = status === 403;
  return (
    <div class={`banner ${isMissingRight ? '' : 'bad'}`} role="alert">
      <Glyph state={isMissingRight ? 'unknown' : 'broken'} isNamed />
      <div>
        <b>{isMissingRight ? 'Not known: a right is missing.' : status === 404 ? 'Not found.' : 'No answer.'}</b>{' '}
        {message}
        {role !== undefined && <Role role={role} />}
      </div>
    </div>
  );
}

/** A report that cannot be computed: the reasons, and the Role to request. It is drawn as not known, neither as empty nor as healthy. */
export function UnknownNote({ answer: { unknown, role } }: { answer: UnknownAnswer }) {
  return (
    <Panel title="Not known">
      <div class="nothing">
        <Glyph state="unknown" isNamed />
        {unknown.map((reason) => (
          <p key={reason}>{reason}</p>
        ))}
        {role !== undefined && <Role role={role} />}
      </div>
    </Panel>
  );
}

function Role({ role }: { role: string }) {
  return (
    <details>
      <summary>The Role to request</summary>
      <pre class="code">{role}</pre>
      <CopyButton text={role} title="Copy the Role" />
    </details>
  );
}

export function Loading() {
  return (
    <p class="empty" role="status">
      Loading
    </p>
  );
}

interface NothingProps {
  readonly glyph: string;
  readonly title: string;
  readonly text: ComponentChildren;
  readonly children?: ComponentChildren;
}

/** An empty page states the reason and offers the next step. */
export function Nothing({ glyph, title, text, children }: NothingProps) {
  return (
    <div class="nothing">
      <Glyph state={glyph} isNamed />
      <b>{title}</b>
      <p>{text}</p>
      {children !== undefined && <div class="actions">{children}</div>}
    </div>
  );
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly options: readonly (readonly [value: T, text: string])[];
  readonly value: T;
  readonly onChange: (value: T) => void;
}

export function Choice<T extends string>({ label, options, value, onChange }: ChoiceProps<T>) {
  return (
    <div class="choice" role="group" aria-label={label}>
      {options.map(([one, text]) => (
        <button key={one} type="button" aria-pressed={one === value} onClick={() => onChange(one)}>
          {text}
        </button>
      ))}
    </div>
  );
}

/** Every view can be had on the command line: the button copies the command, which its title shows. */
export function CopyButton({ text, title, isSmall = false }: { text: string; title: string; isSmall?: boolean }) {
  const isCopied = useSignal(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    isCopied.value = true;
    setTimeout(() => (isCopied.value = false), COPIED_MS);
  };
  return (
    <button type="button" class={`button ${isSmall ? 'small' : ''}`} title={text} onClick={() => void copy()}>
      <span aria-live="polite">{isCopied.value ? 'Copied' : title}</span>
    </button>
  );
}

const COPIED_MS = 1500;
