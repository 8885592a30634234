import type { KubeObject } from '@capstan/kube';
import { formatReport, type ReportFormat, UsageErrors } from '@capstan/reconcile/command-line';
import type { Io } from '../cli/io.ts';
import type { OperatorArgs } from '../cli/operator-options.ts';
import { withCluster } from '../cluster/open-cluster.ts';
import { readManifests } from '../plan/read-manifests.ts';
import { coloursFor } from '../text/colours.ts';
import { isSettled } from './format-rehearsal.ts';
import { ORIGINALS } from './originals.ts';
import { formatTakeover, planTakeover } from './plan-takeover.ts';
import { formatUpgrade, planUpgrade, type RehearsalFlags } from './plan-upgrade.ts';

/** Parts of the cluster could not be seen. */
const INCOMPLETE = 1;
/** With --exit-code. */
const DIFFERS = 3;

export type RehearsalArgs = OperatorArgs & {
  readonly flags: RehearsalFlags & {
    readonly kubeconfig: string | undefined;
    readonly context: string | undefined;
    readonly namespace: string | undefined;
    readonly output: ReportFormat | 'markdown';
    readonly 'exit-code'?: boolean | undefined;
    readonly 'show-status'?: boolean | undefined;
  };
};

/** `capstan plan takeover ORIGINAL`. */
export async function runTakeoverPlan(args: TakeoverArgs, name: string | undefined, io: Io): Promise<number> {
  const { flags } = args;
  const original = name === undefined ? undefined : ORIGINALS[name];
  if (name === undefined || original === undefined)
    throw UsageErrors.BadValue('takeover', name ?? '', `name one of ${Object.keys(ORIGINALS).join(', ')}`);
  const manifests = await readManifests(flags.filename ?? [], io, { isRecursive: flags.recursive ?? false });
  return withCluster(flags, io, async ({ client }) => {
    const given = manifests.map(({ object }) => object as KubeObject);
    const report = await planTakeover(args, io, client, { name, original, given });
    const format = flags.output === 'markdown' ? 'table' : flags.output;
    io.stdout(
      await formatReport(format, {
        value: report,
        text: (isWide) =>
          formatTakeover(report, { isWide, colours: coloursFor(io), showStatus: flags['show-status'] ?? false }),
        names: () => [...report.writes, ...report.later].map(({ object }) => object.replace(' ', '/')),
      }),
    );
    if (report.unread.length > 0) return INCOMPLETE;
    return flags['exit-code'] && !isSettled(report) ? DIFFERS : 0;
  });
}

type TakeoverArgs = RehearsalArgs & {
  readonly flags: { readonly filename?: readonly string[] | undefined; readonly recursive?: boolean | undefined };
};

/** `capstan plan upgrade`. */
export function runUpgradePlan(args: RehearsalArgs, io: Io): Promise<number> {
  const { flags } = args;
  return withCluster(flags, io, async ({ client }) => {
    const report = await planUpgrade(args, io, client);
    const format = flags.output === 'markdown' ? 'table' : flags.output;
    const { installation, writes, later } = report;
    io.stdout(
      await formatReport(format, {
        value: report,
        text: (isWide) =>
          formatUpgrade(report, { isWide, colours: coloursFor(io), showStatus: flags['show-status'] ?? false }),
        names: () => [...installation, ...writes, ...later].map(({ object }) => object.replace(' ', '/')),
      }),
    );
    if (report.unread.length > 0) return INCOMPLETE;
    return flags['exit-code'] && report.differs ? DIFFERS : 0;
  });
}
