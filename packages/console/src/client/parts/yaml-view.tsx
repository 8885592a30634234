import { useSignal } from '@preact/signals';
import { indexedPath, managerOfPath, type YamlLine, yamlLines } from '../manifests/yaml-lines.ts';
import { CopyButton, Panel } from './panel.tsx';

const COLOURS = 5;

interface YamlViewProps {
  readonly object: Readonly<Record<string, unknown>>;
  readonly owners: readonly { readonly path: string; readonly manager: string }[];
  readonly command: string;
}

/** The object as YAML. A bar and a name show the field manager of each line. */
export function YamlView({ object, owners, command }: YamlViewProps) {
  const isStatusShown = useSignal(false);
  const managerOf = managerOfPath(owners.map(({ path, manager }) => ({ path: indexedPath(object, path), manager })));
  const managers = [...new Set(owners.map(({ manager }) => manager))];
  const lines = yamlLines(object).filter(({ path }) => isStatusShown.value || !path.startsWith('status.'));
  const hasStatus = Object.hasOwn(object, 'status');
  let last: string | undefined;
  return (
    <Panel
      title="YAML"
      more={
        <>
          {managers.slice(0, COLOURS).map((manager, at) => (
            <span key={manager} class="actions">
              <i class={`swatch manager-${at}`} />
              {manager}
            </span>
          ))}
          {hasStatus && (
            <button type="button" class="button small" onClick={() => (isStatusShown.value = !isStatusShown.value)}>
              {isStatusShown.value ? 'Fold status' : 'Show status'}
            </button>
          )}
          <CopyButton text={command} title="Copy kubectl" isSmall />
        </>
      }
    >
      <div class="scroll" tabIndex={0} role="region" aria-label="YAML">
        <ol class="yaml">
          {lines.map((line, at) => {
            const manager = managerOf(line.path);
            const isFirst = manager !== undefined && manager !== last;
            last = manager;
            const colour = manager === undefined ? undefined : Math.min(managers.indexOf(manager), COLOURS - 1);
            return (
              <li key={line.path + String(at)}>
                <span class="number" aria-hidden="true">
                  {at + 1}
                </span>
                <span class={`gutter ${colour === undefined ? '' : `manager-${colour}`}`} />
                <Line line={line} isFolded={!isStatusShown.value && line.path === 'status'} />
                <span class="manager">{isFirst ? manager : ''}</span>
              </li>
            );
          })}
        </ol>
      </div>
    </Panel>
  );
}

function Line({ line: { indent, dash, key, value, type }, isFolded }: { line: YamlLine; isFolded: boolean }) {
  const space = ' '.repeat(Math.max(0, indent * 2 - (dash ? 2 : 0)));
  const name = type === 'string' ? 'string' : type === 'none' ? '' : 'figure';
  return (
    <code>
      {space}
      {dash && '- '}
      {key !== undefined && <span class="key">{key}:</span>}
      {value !== undefined && key !== undefined && ' '}
      {value !== undefined && <span class={name}>{value}</span>}
      {isFolded && <span class="faint"> …</span>}
    </code>
  );
}
