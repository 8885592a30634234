import { systemClock } from '@capstan/kube';
import { CLUSTER_OPTIONS, command, json, REPORT_OUTPUT, table, withCluster } from '@capstan/reconcile/command-line';
import { backendRows, cellsOf, HEADING } from '../backends.ts';

export default command({
  usage: 'backends [-n NAMESPACE] [-o json]',
  description:
    'Lists backends of all namespaces: their state, the age of their last full comparison, and their errors.',
  examples: ['gimbal backends', 'gimbal backends -o json'],
  options: { ...CLUSTER_OPTIONS, output: REPORT_OUTPUT },
  async run({ flags }, io) {
    return withCluster(flags, io, async ({ client }) => {
      const rows = await backendRows(client, (io.clock ?? systemClock).now(), flags.namespace);
      if (flags.output === 'json') io.stdout(json(rows));
      else io.stdout(rows.length === 0 ? 'There are no backends.\n' : table(HEADING, rows.map(cellsOf)));
      return 0;
    });
  },
});
