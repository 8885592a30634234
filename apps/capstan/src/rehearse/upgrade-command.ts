import { formatReport, type ReportFormat } from '@capstan/reconcile/command-line';
import type { Io } from '../cli/io.ts';
import type { OperatorArgs } from '../cli/operator-options.ts';
import { withCluster } from '../cluster/open-cluster.ts';
import { coloursFor } from '../text/colours.ts';
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
