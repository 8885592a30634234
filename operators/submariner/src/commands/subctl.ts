// The program subctl. Exit codes are 0 and 1, progress goes to stderr and data to stdout, as the original has it.
import { CodedError, createClient, reasonOf } from '@capstan/kube';
import { nearest } from '@capstan/reconcile/command-line';
import {
  CLUSTER_FLAGS,
  contextOf,
  type FlagDefinition,
  flagLines,
  kubeconfigPaths,
  OUTPUT_FLAG,
  parseFlags,
} from './arguments.ts';
import { addPolicies, checkExplained, deletePolicy, explainPolicy, listPolicies } from './cable-policy.ts';
import { deployBroker } from './deploy-broker.ts';
import { CommandErrors } from './errors.ts';
import type { CommandContext, Flags, SubctlIo } from './io.ts';
import { checkJoin, join } from './join.ts';
import { checkRemoved, leave, removeMember } from './leave.ts';
import { formatOf } from './output.ts';
import { diagnoseCables, showCables, showConnections, showEndpoints, showGateways } from './show.ts';

export const VERSION = '0.1.0';

interface Command {
  readonly summary: string;
  readonly usage: string;
  readonly flags: Readonly<Record<string, FlagDefinition>>;
  /** Checks the arguments alone, before a cluster is needed. */
  check?(flags: Flags): void;
  run(context: CommandContext): Promise<number>;
}

const DRY_RUN = { help: 'Show which pairs would change, and write nothing.' };

export const COMMANDS: Readonly<Record<string, Command>> = {
  'deploy-broker': {
    summary: 'Set up a cluster as the broker of a set of clusters',
    usage: 'deploy-broker [flags]',
    flags: {
      'cable-driver': {
        value: 'NAME',
        help: 'Driver of the policy "default"; deduced from the Submariner resource, else ipsec.',
      },
      'policies-file': { value: 'FILE', help: 'Further policies to create.' },
      'broker-namespace': { value: 'NAME', help: 'Default submariner-k8s-broker.' },
      'broker-info': { value: 'FILE', help: 'Where to write what clusters need to join; default broker-info.subm.' },
      'broker-url': { value: 'URL', help: 'Address of the broker for members; that of the kubeconfig by default.' },
      components: { value: 'LIST', many: true, help: 'Default connectivity.' },
      globalnet: { help: 'Not acted on.' },
    },
    run: deployBroker,
  },
  join: {
    summary: 'Join a cluster to a broker',
    usage: 'join BROKER-INFO [flags]',
    flags: {
      clusterid: { value: 'ID', help: 'Default: the name of the context.' },
      label: { value: 'KEY=VALUE', many: true, help: 'A label of the cluster, for cable policies; may be repeated.' },
      clustercidr: { value: 'CIDR', help: 'Network of pods.' },
      servicecidr: { value: 'CIDR', help: 'Network of services.' },
      'cable-driver': { value: 'NAME', help: 'Driver of the deduced default policy.' },
      'cable-drivers': { value: 'LIST', many: true, help: 'Drivers to offer as separate cables.' },
      'combined-cable-drivers': {
        value: 'LIST',
        many: true,
        help: 'Drivers of a combined cable, inner first: vxlan,ipsec.',
      },
      'cable-driver-config': { value: 'NAME', help: 'ConfigMap with options of the drivers.' },
      nattport: { value: 'PORT', help: 'UDP port of IPsec; default 4500.' },
      natt: { value: 'BOOL', help: 'Whether NAT may lie between gateways; default true.' },
      'preferred-server': { help: 'This gateway waits for connections.' },
      'air-gapped': { help: 'No public address is looked up.' },
      'force-udp-encaps': { help: 'Encapsulate ESP in UDP always.' },
      'label-gateway': { value: 'BOOL', help: 'Label a node as gateway; default true.' },
      'health-check': { value: 'BOOL', help: 'Default true.' },
      'health-check-interval': { value: 'SECONDS', help: 'Default 1.' },
      'health-check-max-packet-loss-count': { value: 'COUNT', help: 'Default 5.' },
      'broker-url': { value: 'URL', help: 'Address of the broker; that of the file by default.' },
      force: { help: 'Take over the id of a cluster that has joined before: for one that was installed again.' },
    },
    check: checkJoin,
    run: join,
  },
  leave: {
    summary: 'Let a cluster leave its broker, and remove everything of Submariner from it',
    usage: 'leave [flags]',
    flags: {},
    run: leave,
  },
  'remove-member': {
    summary: 'Remove a cluster that vanished without leaving from the broker',
    usage: 'remove-member ID [flags]',
    flags: {},
    check: checkRemoved,
    run: removeMember,
  },
  'cable-policy add': {
    summary: 'Create a cable policy',
    usage: 'cable-policy add [flags]',
    flags: {
      name: { value: 'NAME', help: 'The name of this policy.' },
      'left-cluster-selector': {
        value: 'LABELS',
        help: 'Comma separated list of cluster labels; none selects any cluster.',
      },
      'right-cluster-selector': { value: 'LABELS', help: 'The same for the other end.' },
      'cable-driver': { value: 'NAME', help: 'ipsec, wireguard, vxlan, vxlan+ipsec or none.' },
      'cable-config': { value: 'NAME', help: 'The cable driver ConfigMap name.' },
      priority: { value: 'NUMBER', help: 'Higher wins; default 0.' },
      filename: { value: 'FILE', short: 'f', help: 'Policies from a file; - reads standard input.' },
      overwrite: { help: 'Replace policies that exist.' },
      'dry-run': DRY_RUN,
      ...OUTPUT_FLAG,
      yes: { short: 'y', help: 'Do not ask.' },
    },
    run: addPolicies,
  },
  'cable-policy list': {
    summary: 'Report the cable policies',
    usage: 'cable-policy list [flags]',
    flags: OUTPUT_FLAG,
    run: listPolicies,
  },
  'cable-policy delete': {
    summary: 'Delete a cable policy',
    usage: 'cable-policy delete --name NAME [flags]',
    flags: {
      name: { value: 'NAME', help: 'The name of the policy to delete.' },
      force: { help: 'Also the policy "default".' },
    },
    run: deletePolicy,
  },
  'cable-policy explain': {
    summary: 'Explain which cable connects two clusters, and why',
    usage: 'cable-policy explain CLUSTER CLUSTER [flags]',
    flags: { ...OUTPUT_FLAG, cluster: { value: 'ID', many: true, help: 'Instead of the arguments.' } },
    check: checkExplained,
    run: explainPolicy,
  },
  'show connections': {
    summary: 'Show connections',
    usage: 'show connections [flags]',
    flags: OUTPUT_FLAG,
    run: showConnections,
  },
  'show endpoints': {
    summary: 'Show endpoints',
    usage: 'show endpoints [flags]',
    flags: OUTPUT_FLAG,
    run: showEndpoints,
  },
  'show gateways': { summary: 'Show gateways', usage: 'show gateways [flags]', flags: OUTPUT_FLAG, run: showGateways },
  'show cables': {
    summary: 'Draw the clusters and their cables',
    usage: 'show cables [--format svg|dot|text] [flags]',
    flags: {
      ...OUTPUT_FLAG,
      format: { value: 'FORMAT', help: 'The picture of -o table: svg, dot or text; default text.' },
    },
    run: showCables,
  },
  'diagnose cables': {
    summary: 'Report everything that is wrong with cables',
    usage: 'diagnose cables [flags]',
    flags: OUTPUT_FLAG,
    run: diagnoseCables,
  },
};

const ALIASES: Readonly<Record<string, string>> = {
  'diagnose cable-policies': 'diagnose cables',
  uninstall: 'leave',
};

/** Never throws: it reports an error as a sentence on stderr with exit code 1. */
export async function runSubctl(argv: readonly string[], io: SubctlIo): Promise<number> {
  try {
    return await dispatch(argv, io);
  } catch (error) {
    io.stderr(` ✗ ${error instanceof CodedError ? error.message : reasonOf(error)}\n\nsubctl version: v${VERSION}\n`);
    return 1;
  }
}

async function dispatch(argv: readonly string[], io: SubctlIo): Promise<number> {
  const isHelp = (argument: string | undefined) => argument === '--help' || argument === '-h' || argument === 'help';
  if (argv.length === 0 || isHelp(argv[0])) {
    io.stdout(help());
    return argv.length === 0 ? 1 : 0;
  }
  if (argv[0] === 'version' || argv[0] === '--version') {
    io.stdout(`subctl version: v${VERSION}\n`);
    return 0;
  }
  const words = [argv.slice(0, 2).join(' '), argv[0] ?? ''];
  const name = words.map((word) => ALIASES[word] ?? word).find((word) => Object.hasOwn(COMMANDS, word));
  const command = name === undefined ? undefined : COMMANDS[name];
  if (name === undefined || command === undefined) {
    const group = Object.keys(COMMANDS).filter((each) => each.startsWith(`${argv[0]} `));
    if (group.length > 0 && (argv.length === 1 || isHelp(argv[1]))) {
      io.stdout(help(group));
      return argv.length === 1 ? 1 : 0;
    }
    const given = argv.slice(0, 2).join(' ');
    const near = nearest(given, Object.keys(COMMANDS)) ?? nearest(argv[0] ?? '', Object.keys(COMMANDS));
    throw near === undefined
      ? CommandErrors.Usage(`unknown command "${given}"`, '')
      : CommandErrors.UnknownCommand(given, near);
  }
  const rest = argv.slice(name.includes(' ') ? 2 : 1);
  const flags = { ...command.flags, ...CLUSTER_FLAGS };
  if (rest.some(isHelp)) {
    io.stdout(`${command.summary}\n\nUsage:\n  subctl ${command.usage}\n\nFlags:\n${flagLines(flags)}`);
    return 0;
  }
  const parsed = parseFlags(name, flags, rest);
  if ('output' in flags) formatOf(parsed, name);
  contextOf(parsed);
  command.check?.(parsed);
  const paths = kubeconfigPaths(parsed);
  const context = contextOf(parsed);
  const connection = await io.connect({
    env: paths.length === 0 ? io.env : { ...io.env, KUBECONFIG: paths.join(':') },
    ...(context !== undefined && { context }),
  });
  const client = createClient({ transport: connection });
  try {
    return await command.run({ io, client, context: connection.context, flags: parsed });
  } finally {
    await client.close();
  }
}

function help(names: readonly string[] = Object.keys(COMMANDS)): string {
  const lines = names.map((name) => `  ${name.padEnd(24)} ${COMMANDS[name]?.summary ?? ''}\n`);
  return `subctl manages cables between clusters\n\nUsage:\n  subctl COMMAND [flags]\n\nCommands:\n${lines.join('')}\nsubctl COMMAND --help shows its flags.\n`;
}
