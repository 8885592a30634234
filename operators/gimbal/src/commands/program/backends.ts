import { systemClock } from '@capstan/kube';
import {
  CLUSTER_OPTIONS,
  command,
  formatReport,
  objectName,
  REPORT_OUTPUT,
  withCluster,
} from '@capstan/reconcile/command-line';
import { DiscoveryBackend } from '../../kinds/index.ts';
import { backendRows, backendTable } from '../backends.ts';

export default command({
  usage: 'backends [-n NAMESPACE] [-o FORMAT]',
  description:
    'Lists backends of all namespaces: their state, the age of their last full comparison, and their errors.',
  examples: ['gimbal backends', 'gimbal backends -o wide', 'gimbal backends -o json'],
  options: { ...CLUSTER_OPTIONS, output: REPORT_OUTPUT },
  async run({ flags }, io) {
    return withCluster(flags, io, async ({ client }) => {
      const rows = await backendRows(client, (io.clock ?? systemClock).now(), flags.namespace);
      io.stdout(
        await formatReport(flags.output, {
          value: rows,
          text: (isWide) => backendTable(rows, isWide),
          names: () => rows.map(({ kind, name }) => objectName(`${kind}.${DiscoveryBackend.group}`, name)),
        }),
      );
      return 0;
    });
  },
});
