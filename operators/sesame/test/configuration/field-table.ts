// The table of fields in docs/sesame-configuration.md, from the schema. `node FILE` prints it.
import { changeClassesOf } from '../../src/configuration/change-class.ts';
import { LEAVES, schemaAt } from '../../src/configuration/fields.ts';
import { KEY_OF_FIELD } from '../../src/configuration/file/file-keys.ts';
import { SERVE_FLAGS } from '../../src/configuration/serve-flags.ts';
import { DEFAULT_NAMESPACE } from '../../src/kinds/group.ts';

export function fieldTable(): string {
  const rows = LEAVES.map((path) => {
    const flags = Object.entries(SERVE_FLAGS).filter(([, { paths }]) => paths.includes(path));
    const flag = flags[0] === undefined ? '' : `\`--${flags[0][0]}\``;
    const key = KEY_OF_FIELD.get(path) ?? KEY_OF_FIELD.get(path.slice(0, path.lastIndexOf('.')));
    return `| \`${path}\` | ${defaultOf(path)} | ${changeClassesOf(path).join(', ')} | ${key === undefined ? '' : `\`${key}\``} | ${flag} |`;
  });
  return ['| field | default | on change | key of the file | flag |', '|---|---|---|---|---|', ...rows].join('\n');
}

function defaultOf(path: string): string {
  const value: unknown = schemaAt(path)?.default;
  if (value === undefined) return '';
  if (value === DEFAULT_NAMESPACE) return 'that of Sesame';
  if (Array.isArray(value) && value.length > 2) return `${value.length} entries`;
  return value === '' ? 'empty' : `\`${JSON.stringify(value)}\``;
}

if (import.meta.main) process.stdout.write(`${fieldTable()}\n`);
