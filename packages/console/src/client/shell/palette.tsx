import { useComputed, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { FindAnswer, ObjectsAnswer } from '../../api-types.ts';
import { type Choice, paletteChoices } from '../logic/palette-choices.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Glyph, Icon } from '../parts/glyph.tsx';
import { get, Problem } from '../state/api.ts';
import { follow } from '../state/location.ts';
import { reports } from '../state/world.ts';
import { isPaletteOpen } from './dialogs.ts';

const REST_MS = 60;
const MOST = 8;

export function Palette() {
  return (
    <Dialog isOpen={isPaletteOpen} label="Search or jump to" class="palette">
      <Search />
    </Dialog>
  );
}

function Search() {
  const q = useSignal('');
  const found = useSignal<FindAnswer>({ objects: [], absent: [], total: 0 });
  const at = useSignal(0);
  const choices = useComputed(() => paletteChoices(q.value, found.value, reports.value));
  const text = q.value.trim();
  useEffect(() => {
    at.value = 0;
    if (text === '') {
      found.value = { objects: [], absent: [], total: 0 };
      return undefined;
    }
    const stop = new AbortController();
    const timer = setTimeout(() => {
      find(text, stop.signal).then(
        (answer) => (found.value = answer),
        () => undefined,
      );
    }, REST_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text]);
  const list = choices.value;
  const chosen = Math.min(at.value, list.length - 1);
  useEffect(() => document.getElementById(`choice-${chosen}`)?.scrollIntoView({ block: 'nearest' }), [chosen]);
  const open = (choice: Choice | undefined, isBeside: boolean) => {
    if (choice === undefined) return;
    isPaletteOpen.value = false;
    if (isBeside) globalThis.open(choice.link, '_blank', 'noopener');
    else follow(choice.link);
  };
  const press = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0 && list.length > 0) {
      event.preventDefault();
      at.value = (chosen + step + list.length) % list.length;
    } else if (event.key === 'Enter') {
      event.preventDefault();
      open(list[chosen], event.ctrlKey || event.metaKey);
    }
  };
  return (
    <>
      <div class="palette-field">
        <Icon name="find" />
        <input
          type="text"
          role="combobox"
          aria-label="Search objects, pages and questions"
          aria-expanded={list.length > 0}
          aria-controls="choices"
          aria-autocomplete="list"
          {...(list.length > 0 && { 'aria-activedescendant': `choice-${chosen}` })}
          placeholder="A name, a page, or why"
          spellcheck={false}
          autocomplete="off"
          value={q.value}
          onInput={(event) => (q.value = event.currentTarget.value)}
          onKeyDown={press}
        />
        <span class="faint nowrap">{text === '' ? '' : `${found.value.total} found`}</span>
      </div>
      <div class="palette-list" id="choices" role="listbox" aria-label="Results">
        {list.map((choice, index) => (
          <>
            {choice.group !== list[index - 1]?.group && (
              <div class="palette-title" role="presentation">
                {choice.group}
              </div>
            )}
            {/* The keyboard reaches the options from the field above. */}
            <div
              id={`choice-${index}`}
              class="palette-row"
              role="option"
              aria-selected={index === chosen}
              tabIndex={-1}
              onClick={(event) => open(choice, event.ctrlKey || event.metaKey)}
            >
              {choice.state === undefined ? <Icon name={choice.icon ?? ''} /> : <Glyph state={choice.state} />}
              <span class="break">
                <Marked text={choice.text} word={text} />
              </span>
              <span class="end">{choice.note}</span>
            </div>
          </>
        ))}
        {list.length === 0 && (
          <p class="empty" role="presentation">
            Nothing has this name. A filter such as <code>is:unready</code> or <code>reads:Secret/default/token</code>{' '}
            opens the explorer.
          </p>
        )}
      </div>
      <div class="palette-foot">
        <span>
          <kbd>↑</kbd> <kbd>↓</kbd> choose
        </span>
        <span>
          <kbd>Enter</kbd> open
        </span>
        <span>
          <kbd>Ctrl Enter</kbd> open beside
        </span>
        <span>
          <kbd>Esc</kbd> close
        </span>
      </div>
    </>
  );
}

/** A server without the index of the palette filters rows. */
async function find(q: string, signal: AbortSignal): Promise<FindAnswer> {
  const query = `q=${encodeURIComponent(q)}&limit=${MOST}`;
  try {
    return await get<FindAnswer>(`/api/find?${query}`, signal);
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 404) throw error;
    const { rows, total } = await get<ObjectsAnswer>(`/api/objects?${query}`, signal);
    return { objects: rows, absent: [], total };
  }
}

function Marked({ text, word }: { text: string; word: string }) {
  const at = word === '' ? -1 : text.toLowerCase().indexOf(word.toLowerCase());
  if (at < 0) return <>{text}</>;
  return (
    <>
      {text.slice(0, at)}
      <mark>{text.slice(at, at + word.length)}</mark>
      {text.slice(at + word.length)}
    </>
  );
}
