import { type Client, reasonOf, systemClock } from '@capstan/kube';
import { command, withCluster } from '@capstan/reconcile/command-line';
import { CliErrors } from '../cli/errors.ts';
import type { Io } from '../cli/io.ts';
import { OPERATOR_OPTIONS } from '../cli/load-operators.ts';
import type { OperatorArgs } from '../cli/operator-options.ts';
import { applyInstallation } from '../install/apply.ts';
import { IMAGE_OPTIONS, INSTALL_OPTIONS } from '../install/install-options.ts';
import { findInstalled } from '../install/installed.ts';
import { formatUpgrade, planUpgrade, type RehearsalFlags } from '../rehearse/plan-upgrade.ts';
import { coloursFor } from '../text/colours.ts';

export default command({
  usage: 'upgrade [--operators LIST] [-n NAMESPACE] [--image IMAGE] [--yes]',
  description:
    'Brings the operators that are installed to this version, after a rehearsal that shows what it would do (capstan plan upgrade)\n' +
    'and, when that is anything, a question: definitions first, then the operators. When one does not become\n' +
    'ready, every operator that is not ready gets its former Deployment back; definitions are not reverted. Flags of operators that\n' +
    'their pods have now stay, unless others are given.',
  examples: ['capstan upgrade --image registry.example.com/capstan:1.1.0'],
  options: {
    ...INSTALL_OPTIONS,
    ...IMAGE_OPTIONS,
    ...OPERATOR_OPTIONS,
    yes: { type: 'boolean', short: 'y', help: 'Show what the upgrade would do, and do not ask.' },
  },
  operatorFlags: true,
  async run(args, io) {
    const { flags } = args;
    return withCluster(flags, io, async ({ client }) => {
      const { installation } = await findInstalled(args, io, client);
      if (!(await isWanted(args, io, client))) return 0;
      await applyInstallation({
        client,
        clock: io.clock ?? systemClock,
        installation,
        timeoutMs: flags.timeout,
        report: (line) => io.stderr(`  ${line}\n`),
        signal: io.signal,
      });
      io.stdout('Capstan is upgraded. Next: capstan status\n');
      return 0;
    });
  },
});

type UpgradeArgs = OperatorArgs & { readonly flags: RehearsalFlags & { readonly yes: boolean | undefined } };

/** Shows the effects of the upgrade, and asks when there are any. A rehearsal that fails is a reason to ask, too. */
async function isWanted(args: UpgradeArgs, io: Io, client: Client): Promise<boolean> {
  const differs = await rehearsed(args, io, client);
  if (!differs || args.flags.yes === true) return true;
  if (io.confirm === undefined) throw CliErrors.UpgradeNotConfirmed();
  return io.confirm('Upgrade?');
}

async function rehearsed(args: UpgradeArgs, io: Io, client: Client): Promise<boolean> {
  try {
    const report = await planUpgrade({ ...args, flags: { ...args.flags, timeout: REHEARSAL_MS } }, io, client);
    io.stderr(formatUpgrade(report, { isWide: false, showStatus: false, colours: coloursFor(io) }));
    return report.differs || report.unread.length > 0;
  } catch (error) {
    io.signal.throwIfAborted();
    io.stderr(`The upgrade could not be rehearsed: ${reasonOf(error)}\n`);
    return true;
  }
}

/** The time for the caches: that of --timeout is for the upgrade itself. */
const REHEARSAL_MS = 30_000;
