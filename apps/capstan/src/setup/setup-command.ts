import { command } from '@capstan/reconcile/command-line';

export default command({
  usage: 'setup NAME…  |  setup --list  |  setup --where NAME',
  description:
    'Fetches programs that capstan up runs as processes of this machine: without them their pods are simulated. They go into a cache\n' +
    'folder (CAPSTAN_REAL, by default ~/.cache/capstan/real); nothing is installed, and no service is started.',
  examples: ['capstan setup --list', 'capstan setup envoy', 'capstan setup --where envoy'],
  options: {
    list: { type: 'boolean', help: 'List them, with their size, and whether they are there.' },
    where: { type: 'boolean', help: 'Print the folder of one, or end with 1 where it is not there.' },
  },
  positionals: 8,
  async run({ flags, positionals }, io) {
    const [{ RUN_TIME_PEERS }, { listPeers, setUpPeers, wherePeer }] = await Promise.all([
      import('./run-time-peers.ts'),
      import('./set-up.ts'),
    ]);
    const output = {
      print: (line: string) => io.stdout(`${line}\n`),
      report: (line: string) => io.stderr(`${line}\n`),
    };
    if (flags.list) return listPeers(RUN_TIME_PEERS, output);
    if (flags.where) return wherePeer(RUN_TIME_PEERS, positionals[0], output);
    return setUpPeers(RUN_TIME_PEERS, positionals, output);
  },
});
