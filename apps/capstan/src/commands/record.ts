import { systemClock, untilAborted } from '@capstan/kube';
import { createLogger, createRuntime, followClusterSecrets, rolesOf, SYSTEM_NAMESPACE } from '@capstan/reconcile';
import { command, list, UsageErrors } from '@capstan/reconcile/command-line';
import { OPERATOR_OPTIONS, requireOperators } from '../cli/load-operators.ts';
import { CLUSTER_OPTIONS, openCluster } from '../cluster/open-cluster.ts';
import { neverLeads } from '../plan/warm-runtime.ts';
import { recordingOf } from '../run/recording.ts';

/** Inputs of the program in the cluster that no other process can have. */
const UNSEEN = [
  'answers to writes, and failures of writes',
  'leases that are gained and lost',
  'facts that are fetched with an effect, and all facts of the program itself',
  'reports of sinks',
  'the digest keys: digests of secret data are others',
];

export default command({
  usage: 'record FOLDER [--operators LIST] [-n NAMESPACE] [flags]',
  description:
    'Records what the operators of a cluster read, from outside and with your rights, until it is stopped (Ctrl-C). It writes\n' +
    'nothing to the cluster. It cannot see everything that the program in the cluster sees: capstan capture inspect names that.\n' +
    'For a whole recording start the program with capstan run --record.',
  examples: ['capstan record ./record --kubeconfig staging.yaml', 'capstan record ./record --operators sesame'],
  options: {
    'watch-namespaces': {
      type: 'string',
      value: 'LIST',
      parse: list,
      help: 'What the operators are restricted to; default nothing.',
    },
    'with-secrets': { type: 'boolean', help: 'Record the content of Secrets too, encrypted with --key.' },
    key: { type: 'string', value: 'FILE', help: 'The key of --with-secrets: 32 bytes, also in hex or base64.' },
    ...CLUSTER_OPTIONS,
    ...OPERATOR_OPTIONS,
  },
  operatorFlags: true,
  positionals: 1,
  async run(args, io) {
    const { flags } = args;
    const [folder] = args.positionals;
    if (folder === undefined) throw UsageErrors.Missing(args.command, 'a folder', `${args.command} ./record`);
    const operators = await requireOperators(args, io);
    const { clock = systemClock, signal } = io;
    const logger = createLogger({ clock, format: 'text', level: 'warn', write: (line) => io.stderr(line) });
    const recording = await recordingOf({
      operators,
      flags: { ...flags, record: folder },
      operatorFlags: args.operatorFlags,
      clock,
      logger,
      cwd: io.cwd,
      unseen: UNSEEN,
    });
    if (recording === undefined) throw UsageErrors.Missing(args.command, 'a folder', `${args.command} ./record`);
    const { client, namespace } = await openCluster(flags, io);
    const random = Math.random;
    const runtime = createRuntime({
      operators,
      clock,
      random,
      logger,
      leadership: () => neverLeads,
      facts: 'readOnly',
      record: recording.recorder,
    });
    const { 'watch-namespaces': watchNamespaces } = flags;
    runtime.addWorld({ name: '', client, namespace, ...(watchNamespaces && { watchNamespaces }) });
    const declared = operators.flatMap(({ reconcilers, sinks = [] }) => [...reconcilers, ...sinks]);
    const clusters = followClusterSecrets({
      client,
      runtime,
      roles: rolesOf(declared),
      namespace: SYSTEM_NAMESPACE,
      clock,
      random,
      logger,
      userAgent: io.userAgent ?? 'capstan',
      signal,
    });
    io.stderr(`Recording to ${folder}; end it with Ctrl-C\n`);
    // It never runs: a sink without a lease would deliver. Caches fill, and waves follow, all the same.
    await untilAborted(signal);
    await clusters;
    await runtime.run(AbortSignal.abort());
    await recording.end();
    await client.close();
    return 0;
  },
});
