// The flags of `capstan install`, `upgrade` and `uninstall`, and the installation that they describe.
import type { Discovery } from '@capstan/kube';
import type { Operator } from '@capstan/reconcile';
import { SYSTEM_NAMESPACE } from '@capstan/reconcile';
import {
  CLUSTER_OPTIONS,
  type Flags,
  type FlagValues,
  notEmpty,
  type OperatorFlags,
  positiveDuration,
  type Refusal,
  refuse,
  wholeNumber,
} from '@capstan/reconcile/command-line';
import { BUILT_IN_OPERATORS } from '../operators.ts';
import { VERSION } from '../version.ts';
import type { Installation } from './manifests.ts';
import { operatorArgs } from './operator-args.ts';

export const INSTALL_OPTIONS = {
  ...CLUSTER_OPTIONS,
  namespace: {
    type: 'string',
    short: 'n',
    value: 'NAME',
    help: `Where the operators run; default ${SYSTEM_NAMESPACE}.`,
  },
  timeout: {
    type: 'string',
    value: 'DURATION',
    default: '5m',
    parse: positiveDuration,
    help: 'How long to wait.',
  },
} as const satisfies Flags;

/** A reference as container runtimes take it: a registry, a path in lower case, and a tag or a digest. */
const IMAGE =
  /^(?:[A-Za-z0-9.-]+(?::\d+)?\/)?[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*(?::\w[\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$/;

function imageReference(text: string): string | Refusal {
  return IMAGE.test(text) ? text : refuse('write REGISTRY/NAME:TAG, as in registry.example.com/team/capstan:1.0');
}

export const IMAGE_OPTIONS = {
  image: {
    type: 'string',
    value: 'IMAGE',
    default: `capstan:${VERSION}`,
    parse: imageReference,
    help: 'The image of Capstan.',
  },
  replicas: {
    type: 'string',
    value: 'COUNT',
    default: '2',
    parse: wholeNumber(1, 9),
    help: 'Of each operator; one writes, the others wait to take over.',
  },
} as const satisfies Flags;

export const ONE_PROGRAM_OPTION = {
  'one-program': {
    type: 'boolean',
    help: 'Run all operators in one Deployment: a third of the memory, and one account with the permissions of all.',
  },
} as const satisfies Flags;

export const MAX_ROLE_OPTION = {
  'crossplane-max-role': {
    type: 'string',
    value: 'NAME',
    parse: notEmpty('name a ClusterRole'),
    help: 'The ClusterRole that bounds the rights of providers; default crossplane:allowed-provider-permissions.',
  },
} as const satisfies Flags;

/** Returns the flags of operators with the one of Crossplane that `--crossplane-max-role` stands for. */
export function withMaxRole(flags: OperatorFlags, role: string | undefined): OperatorFlags {
  if (role === undefined) return flags;
  const { crossplane = {} } = flags;
  return { ...flags, crossplane: { ...crossplane, 'max-role': [role] } };
}

export const ADMISSION_OPTION = {
  admission: {
    type: 'boolean',
    help: 'Install the admission webhook too, which refuses objects that operators could only report as invalid.',
  },
} as const satisfies Flags;

/** The operators whose kinds the webhook checks: all, whichever are installed now, so that one that comes later is checked too. */
export async function admissionOperators(isWanted: boolean): Promise<readonly Operator[]> {
  if (!isWanted) return [];
  return Promise.all(BUILT_IN_OPERATORS.map(async ({ load }) => (await load()).default));
}

export interface GivenInstallation {
  readonly flags: { namespace?: string | undefined } & Partial<
    FlagValues<typeof IMAGE_OPTIONS> & FlagValues<typeof ONE_PROGRAM_OPTION>
  >;
  /** The flags of operators, for their pods. */
  readonly operatorFlags: OperatorFlags;
}

export function installationOf(
  operators: readonly Operator[],
  { flags, operatorFlags }: GivenInstallation,
  served: Pick<Discovery, 'kindOf'> | undefined,
  admission: readonly Operator[] = [],
): Installation {
  const image = flags.image ?? `capstan:${VERSION}`;
  return {
    operators,
    namespace: flags.namespace ?? SYSTEM_NAMESPACE,
    image,
    version: VERSION,
    replicas: flags.replicas ?? 2,
    isOneProgram: flags['one-program'] ?? false,
    hasServiceMonitors: served?.kindOf('monitoring.coreos.com/v1', 'ServiceMonitor') !== undefined,
    args: operatorArgs(operators, operatorFlags, image),
    admission,
  };
}
