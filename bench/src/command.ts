// `npm run bench`: lists the benches; `npm run bench -- NAME` runs one, a process a part, and prints a table or JSON.
import { parseArgs } from 'node:util';
import type { Bench, Part, Scale } from './bench.ts';
import { benches } from './benches.ts';
import { machine } from './measure/machine.ts';
import type { Result } from './measure/result.ts';
import { runInProcess } from './part-process.ts';
import { formatTable, type Report } from './table.ts';

export interface Io {
  out(text: string): void;
  err(text: string): void;
  now(): Date;
  /** Keeps the report of a run in full size. */
  save(report: Report): void;
  /** Writes the page of all saved results, and returns a line about it. */
  report(): string;
}

/** The exit code: 0 when everything was measured, reached or not; 1 when something could not be; 2 for a wrong call. */
export async function runCommand(args: readonly string[], io: Io): Promise<number> {
  if (args.length === 1 && args[0] === 'report') {
    try {
      io.out(`${io.report()}\n`);
      return 0;
    } catch (error) {
      io.err(`${describe(error)}\n`);
      return 1;
    }
  }
  const call = parse(args);
  if (typeof call === 'string') {
    io.err(`${call}\n\n${USAGE}`);
    return 2;
  }
  if (call === undefined) {
    io.out(`${USAGE}\nBenches:\n${benches.map(({ name, summary }) => `  ${name}  ${summary}\n`).join('')}`);
    return 0;
  }
  const { bench, parts, json, scale, here, isPeer } = call;
  const before = machine(io.now());
  const results: Result[] = [];
  let failed = false;
  for (const part of parts) {
    const lack = part.lacks?.();
    if (lack !== undefined) {
      failed = true;
      io.err(`${bench.name}: ${part.name} could not be measured: ${lack}\n`);
      continue;
    }
    if (!json) io.err(`${bench.name}: ${part.name} (${part.summary}) ...\n`);
    try {
      results.push(...(here ? await part.measure(scale) : await runInProcess(bench, part, scale, isPeer)));
    } catch (error) {
      failed = true;
      io.err(`${bench.name}: ${part.name} could not be measured: ${describe(error)}\n`);
    }
  }
  const report = { bench: bench.name, machine: before, results };
  // A part in a process of its own reports to the process that started it, which saves the whole.
  if (scale === 'full' && !here) io.save(report);
  io.out(json ? `${JSON.stringify(report)}\n` : formatTable(report));
  return failed ? 1 : 0;
}

const USAGE = `Usage: npm run bench -- NAME [--peer] [--only PART,...] [--tiny] [--json]
       npm run bench -- report   writes docs/benchmarks.md and its plots from the last results
  --peer   the parts beside a real peer (npm run setup:real) instead of the others
  --only   some parts only
  --tiny   small sizes, to see that it works; the figures mean nothing
  --json   one JSON object on stdout (with npm run -s)
`;

interface Call {
  bench: Bench;
  parts: readonly Part[];
  json: boolean;
  scale: Scale;
  isPeer: boolean;
  /** In this process: how a part's own process is started. */
  here: boolean;
}

/** Parses the call; undefined for the list of benches, a sentence for arguments that cannot be understood. */
function parse(args: readonly string[]): Call | string | undefined {
  let parsed: ReturnType<typeof parseCall>;
  try {
    parsed = parseCall(args);
  } catch (error) {
    return describe(error);
  }
  const { values, positionals } = parsed;
  const [name, ...more] = positionals;
  if (name === undefined) return undefined;
  if (more.length > 0) return `one bench at a time: ${positionals.join(' ')}`;
  const bench = benches.find((candidate) => candidate.name === name);
  if (bench === undefined) return `there is no bench ${name}; there is: ${benches.map((each) => each.name).join(', ')}`;
  const isPeer = values.peer ?? false;
  const parts = isPeer ? (bench.peerParts ?? []) : bench.parts;
  if (parts.length === 0) return `${name} has no parts beside a peer; leave out --peer`;
  const wanted = values.only?.split(',');
  const unknown = wanted?.find((part) => !parts.some((each) => each.name === part));
  if (unknown !== undefined) {
    return `${name} has no part ${unknown}; it has: ${parts.map((part) => part.name).join(', ')}`;
  }
  return {
    bench,
    parts: parts.filter((part) => wanted?.includes(part.name) ?? true),
    json: values.json ?? false,
    scale: values.tiny ? 'tiny' : 'full',
    isPeer,
    here: values.here ?? false,
  };
}

function parseCall(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      json: { type: 'boolean' },
      tiny: { type: 'boolean' },
      peer: { type: 'boolean' },
      only: { type: 'string' },
      here: { type: 'boolean' },
    },
  });
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
