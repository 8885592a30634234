import { command, json, REPORT_OUTPUT } from '@capstan/reconcile/command-line';
import { VERSION } from '../version.ts';

export default command({
  usage: 'version [-o json]',
  description: 'Prints the version of Capstan and of the Node.js that it runs on.',
  examples: [],
  options: { output: REPORT_OUTPUT },
  async run({ flags }, io) {
    const node = process.versions.node;
    io.stdout(flags.output === 'json' ? json({ capstan: VERSION, node }) : `capstan ${VERSION} (Node.js ${node})\n`);
    return 0;
  },
});
