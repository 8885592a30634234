// `crossplane core start`: `capstan run` with Crossplane, in a namespace that need not be there yet.
import { startArguments } from '@capstan/crossplane';
import { isForbidden } from '@capstan/kube';
import { ensureNamespace, SYSTEM_NAMESPACE } from '@capstan/reconcile';
import { runCommandLine } from '../cli/cli.ts';
import type { Io } from '../cli/io.ts';
import { parseCommandLine } from '../cli/parse.ts';
import { report } from '../cli/report.ts';
import { withCluster } from '../cluster/open-cluster.ts';
import run from '../commands/run.ts';
import { BUILT_IN_OPERATORS } from '../operators.ts';

/** Never throws: whatever goes wrong is a sentence on stderr and an exit code. */
export async function runCrossplaneStart(argv: readonly string[], io: Io): Promise<number> {
  const translated = startArguments(argv, io.env);
  try {
    await checkFlags(translated, io);
    await ensureNamespaces(translated.slice(1), io);
  } catch (error) {
    return report(error, argv.includes('--verbose') || argv.includes('-v'), io);
  }
  return runCommandLine(translated, io);
}

/** Before a cluster is looked for: what cannot be meant is told first. */
async function checkFlags(translated: readonly string[], { env }: Io): Promise<void> {
  const flags = translated.flatMap((argument) => {
    const [, name, value] = /^--crossplane\.([^=]+)=(.*)$/s.exec(argument) ?? [];
    return name === undefined ? [] : [[name, value ?? ''] as const];
  });
  await BUILT_IN_OPERATORS.find(({ name }) => name === 'crossplane')?.load(Object.fromEntries(flags), env);
}

/** The Lease is in the system namespace, and nothing is written without the Lease: somebody must make it first. */
async function ensureNamespaces(argv: readonly string[], io: Io): Promise<void> {
  const { flags } = parseCommandLine('run', run, argv);
  await withCluster(flags as never, io, async ({ client, namespace }) => {
    for (const name of [namespace, SYSTEM_NAMESPACE])
      try {
        await ensureNamespace(client, name, io.signal);
      } catch (error) {
        // Where this account may not create it, it has to be there.
        if (!isForbidden(error)) throw error;
      }
  });
}
