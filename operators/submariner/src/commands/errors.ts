import { catalogue } from '@capstan/kube';

export const CommandErrors = catalogue('subctl', {
  Usage: (problem: string, command: string) => ({
    message: problem,
    remedy: `see subctl ${command === '' ? '' : `${command} `}--help`,
  }),
  UnknownCommand: (name: string, near: string) => ({
    message: `unknown command "${name}"`,
    remedy: `did you mean "${near}"?`,
  }),
  UnknownFlag: (flag: string, command: string, near: string | undefined) => ({
    message: `subctl ${command} has no flag ${flag}`,
    remedy: near === undefined ? `see subctl ${command} --help` : `did you mean --${near}?`,
  }),
  NotInstalled: () => ({
    message: 'this cluster is neither a broker nor joined to one',
    remedy: 'run "subctl deploy-broker" or "subctl join broker-info.subm"',
  }),
  PolicyExists: (name: string) => ({
    message: `policy "${name}" already exists`,
    remedy: 'use another name, or --overwrite to replace it',
  }),
  ConfigExists: (name: string) => ({
    message: `ConfigMap "${name}" exists with other options`,
    remedy: 'use another name, or --overwrite to replace its data',
  }),
  PolicyNotFound: (name: string) => ({
    message: `policy "${name}" not found`,
    remedy: '"subctl cable-policy list" shows those that exist',
  }),
  DefaultPolicy: () => ({
    message: 'policy "default" cannot be deleted',
    remedy: 'pairs that no other policy selects need it; use --force to delete it all the same',
  }),
  Invalid: (what: string, problems: readonly string[]) => ({
    message: `${what}: ${problems.join('; ')}`,
    remedy: 'correct it',
  }),
  UnknownCluster: (name: string, known: readonly string[]) => ({
    message: `cluster "${name}" is not known`,
    remedy: known.length === 0 ? 'no cluster has joined yet' : `use one of ${known.join(', ')}`,
  }),
  ClusterExists: (id: string) => ({
    message: `cluster "${id}": a cluster of this id has joined the broker`,
    remedy: 'choose another id by --clusterid; if it is this cluster, installed again, use --force',
  }),
  StillLeaving: (id: string) => ({
    message: `cluster "${id}": is still leaving its broker`,
    remedy: 'repeat the command in a moment; "subctl leave" completes it where no operator runs',
  }),
  OldBroker: (id: string, problem: string) => ({
    message: `cluster "${id}": cannot leave its old broker: ${problem}`,
    remedy: 'then run "subctl leave" here, and join the new broker',
  }),
  NotTheBroker: () => ({
    message: 'this cluster is not a broker',
    remedy: 'name the broker by --context',
  }),
  BadLabel: (label: string, problem: string) => ({
    message: `invalid label "${label}": ${problem}`,
    remedy: 'use key=value',
  }),
  NoBrokerInfo: (file: string, problem: string) => ({
    message: `${file}: the broker information file cannot be read (${problem})`,
    remedy:
      '"subctl deploy-broker --context BROKER" writes it as broker-info.subm in its working folder; run it there, or copy the file here',
  }),
  BadBrokerInfo: (file: string) => ({
    message: `${file}: is not a broker information file`,
    remedy: 'use the file that "subctl deploy-broker" wrote',
  }),
  OnlyBroker: () => ({
    message: 'this cluster is the broker only: it has no gateways',
    remedy: 'name a cluster that joined it by --context',
  }),
  NoGateways: () => ({
    message: 'no gateways detected',
    remedy: 'label a node submariner.io/gateway=true, and check the pods of the DaemonSet submariner-gateway',
  }),
  NoConnections: () => ({ message: 'no connections found', remedy: 'join a second cluster' }),
});
