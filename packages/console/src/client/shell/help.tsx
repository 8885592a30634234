import { PAGE_KEYS, SINGLE_KEYS } from '../logic/key-bindings.ts';
import { Dialog } from '../parts/dialog.tsx';
import { areSingleKeysOn } from '../state/preferences.ts';
import { isHelpOpen } from './dialogs.ts';

export function Help() {
  return (
    <Dialog isOpen={isHelpOpen} label="Shortcuts" class="sheet">
      <div class="sheet-head">
        <h2>Shortcuts</h2>
        <button type="button" class="button small" onClick={() => (isHelpOpen.value = false)}>
          Close
        </button>
      </div>
      <div class="sheet-body stack">
        <div class="keys">
          <Key keys={['Ctrl', 'K']} title="Search or jump to" />
          <Key keys={['Enter']} title="Open" />
          <Key keys={['Esc']} title="Close, or back" />
          {SINGLE_KEYS.map(([key, , title]) => (
            <Key key={key} keys={[key]} title={title} />
          ))}
        </div>
        <h3>Pages</h3>
        <div class="keys">
          {PAGE_KEYS.map(([key, , title]) => (
            <Key key={key} keys={['g', key]} title={title} />
          ))}
        </div>
        <label class="actions">
          <input
            type="checkbox"
            checked={areSingleKeysOn.value}
            onChange={(event) => (areSingleKeysOn.value = event.currentTarget.checked)}
          />
          Use single keys. They are off while you type.
        </label>
      </div>
    </Dialog>
  );
}

function Key({ keys, title }: { keys: readonly string[]; title: string }) {
  return (
    <div>
      <span>{title}</span>
      <span class="nowrap">
        {keys.map((key) => (
          <>
            {' '}
            <kbd>{key}</kbd>
          </>
        ))}
      </span>
    </div>
  );
}
