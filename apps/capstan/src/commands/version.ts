import { command, formatReport, REPORT_OUTPUT } from '@capstan/reconcile/command-line';
import { VERSION } from '../version.ts';

export default command({
  usage: 'version [-o FORMAT]',
  description: 'Prints the version of Capstan and of the Node.js that it runs on.',
  examples: ['capstan version', 'capstan version -o json'],
  options: { output: REPORT_OUTPUT },
  async run({ flags }, io) {
    const node = process.versions.node;
    io.stdout(
      await formatReport(flags.output, {
        value: { capstan: VERSION, node },
        text: () => `capstan ${VERSION} (Node.js ${node})\n`,
        names: () => [`capstan/${VERSION}`],
      }),
    );
    return 0;
  },
});
