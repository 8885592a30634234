// The content of a recording, for the person who is about to send it.
import type { OpenedRecording } from '@capstan/reconcile';

export function inspect({ header, lines, notes, bytes }: OpenedRecording): string {
  const tables = new Map<number, string>();
  const functions = new Map<number, string>();
  const keys = new Map<string, Set<string>>();
  const results = new Map<string, number>();
  const worlds: string[] = [];
  let waves = 0;
  let from = Number.POSITIVE_INFINITY;
  let to = 0;
  const seen = (table: number, key: string) => {
    const name = tables.get(table) ?? `table ${table}`;
    keys.set(name, (keys.get(name) ?? new Set()).add(key));
  };
  for (const line of lines) {
    if ('table' in line) tables.set(line.table, `${line.name}${line.sensitive ? ' (sensitive)' : ''}`);
    else if ('derivation' in line) functions.set(line.derivation, line.name);
    else if ('world' in line) worlds.push(line.world.name || 'the local cluster');
    else if ('cell' in line) seen(line.cell.table, line.cell.key);
    else if ('result' in line) add(results, functions.get(line.result.node) ?? '');
    else if ('wave' in line && !('snapshot' in line)) {
      waves++;
      from = Math.min(from, line.at);
      to = Math.max(to, line.at);
      for (const input of line.inputs ?? []) if (input.length > 2) seen(input[0], String(input[1]));
      for (const { node } of line.results ?? []) add(results, functions.get(node) ?? '');
    }
  }
  const text = [
    `recorded by ${header.version} from ${header.started}: ${waves} waves${waves === 0 ? '' : ` from ${new Date(from).toISOString()} to ${new Date(to).toISOString()}`}, ${Math.ceil(bytes / 1024)} KB`,
    `operators: ${header.operators.join(', ')}${header.flags.length === 0 ? '' : `; flags: ${header.flags.join(' ')}`}`,
    ...Object.entries(header.operatorFlags ?? {}).map(([name, flags]) => `flags of ${name}: ${JSON.stringify(flags)}`),
    header.secrets === 'replaced'
      ? 'secrets: every string in a sensitive table is replaced by a digest whose key is kept nowhere'
      : 'secrets: their content is in it; the file is encrypted',
    `clusters: ${[...new Set(worlds)].join(', ')}`,
    ...header.unseen.map((one) => `not in it: ${one}`),
    ...notes,
    '',
    'objects and other rows, by table:',
    ...[...keys].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, of]) => `  ${name}: ${of.size}`),
  ];
  if (results.size > 0) {
    text.push('', 'results that are recorded, because the functions read secrets:');
    for (const [name, times] of [...results].toSorted(([a], [b]) => (a < b ? -1 : 1))) text.push(`  ${name}: ${times}`);
  }
  return `${text.join('\n')}\n`;
}

function add(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
