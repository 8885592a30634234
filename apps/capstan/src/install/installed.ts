// The operators of an installation, with the flags that their pods have, and the same installation in this version.
import { type Client, Deployment, discover } from '@capstan/kube';
import { type Operator, SYSTEM_NAMESPACE } from '@capstan/reconcile';
import type { OperatorFlags } from '@capstan/reconcile/command-line';
import { ADMISSION_NAME } from '../admission/names.ts';
import { CliErrors } from '../cli/errors.ts';
import type { Io } from '../cli/io.ts';
import { loadOperators, requireOperators } from '../cli/load-operators.ts';
import type { OperatorArgs } from '../cli/operator-options.ts';
import { admissionOperators, type GivenInstallation, installationOf } from './install-options.ts';
import { type Installation, ONE_PROGRAM, operatorsOf } from './manifests.ts';
import { givenIn, mergedFlags } from './operator-args.ts';

export interface Installed {
  /** The operators of this version, with the flags of the installed ones. */
  readonly operators: readonly Operator[];
  readonly installation: Installation;
  /** The Deployments that run them now. */
  readonly deployments: readonly Deployment[];
}

/** Throws when none of the operators is installed in the namespace. */
export async function findInstalled(
  args: OperatorArgs & { readonly flags: GivenInstallation['flags'] },
  io: Io,
  client: Client,
): Promise<Installed> {
  const { flags } = args;
  const { signal } = io;
  const all = await requireOperators(args, io);
  const served = await discover(client, { signal });
  const { namespace = SYSTEM_NAMESPACE } = flags;
  const { items } = await client.list(Deployment, { namespace, signal });
  const installed = new Set(items.map(({ metadata }) => metadata.name));
  const isInstalled = (name: string) => installed.has(`capstan-${name}`);
  const program = items.find(({ metadata }) => metadata.name === `capstan-${ONE_PROGRAM}`);
  const isOneProgram = program !== undefined;
  const running = new Set(isOneProgram ? operatorsOf(program) : all.map(({ name }) => name).filter(isInstalled));
  const operators = all.filter(({ name }) => args.flags.operators !== undefined || running.has(name));
  if (!operators.some(({ name }) => running.has(name))) throw CliErrors.NotInstalledYet(namespace);
  const admission = await admissionOperators(installed.has(ADMISSION_NAME));
  const deployments = items.filter(({ metadata: { name } }) =>
    isOneProgram ? name === program.metadata.name : operators.some((one) => name === `capstan-${one.name}`),
  );
  const before = Object.assign({}, ...deployments.map((one) => givenIn(one, operators))) as OperatorFlags;
  const operatorFlags = mergedFlags(operators, before, args.operatorFlags);
  const given = { flags: { ...flags, 'one-program': isOneProgram }, operatorFlags };
  const flagged = await loadOperators({ ...args, operatorFlags }, io);
  const upgraded = flagged.filter(({ name }) => operators.some((one) => one.name === name));
  return { operators: upgraded, installation: installationOf(upgraded, given, served, admission), deployments };
}
