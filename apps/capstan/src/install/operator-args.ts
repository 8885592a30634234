// The flags of operators in their pods: the user's flags, and the images that follow from Capstan's own.
import type { Deployment } from '@capstan/kube';
import type { Operator } from '@capstan/reconcile';
import { type Flags, findFlag, type GivenFlags, type OperatorFlags } from '@capstan/reconcile/command-line';
import { CliErrors } from '../cli/errors.ts';

/** Operators whose own pods run an image of Capstan, and the flag that names it. */
const IMAGE_FLAGS: Readonly<Record<string, string>> = {
  gimbal: 'image',
  kroxylicious: 'webhook-image',
  sesame: 'image',
  submariner: 'image',
};
/** Gateways need programs that the other image does not have. */
const GATEWAY = 'submariner';

/** Flags that have the value of another one unless they are given: requests of packages are bounded as their types are. */
const FOLLOWING_FLAGS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  crossplane: { 'provider-clusterrole': 'max-role' },
};

/** Returns the flags of an operator that follow another one, with the default of that one. */
export function followingFlags({
  name,
  flags = {},
}: Operator): readonly (readonly [flag: string, leader: string, text: string])[] {
  return Object.entries(FOLLOWING_FLAGS[name] ?? {}).flatMap(([flag, leader]) => {
    const text = flags[leader]?.default;
    return typeof text === 'string' ? [[flag, leader, text] as const] : [];
  });
}

/** The flag of an operator that names the bound of its grants. */
export const BOUND_FLAGS: Readonly<Record<string, string>> = { crossplane: 'max-role' };

export interface ImageFlag {
  readonly flag: string;
  readonly isGateway: boolean;
}

/** The flag of an operator whose value follows from the image of Capstan. */
export function imageFlagOf(operator: string): ImageFlag | undefined {
  const flag = IMAGE_FLAGS[operator];
  return flag === undefined ? undefined : { flag, isGateway: operator === GATEWAY };
}

/** Returns the flags of each operator as arguments of its pods, in the order of their names. */
export function operatorArgs(
  operators: readonly Operator[],
  given: OperatorFlags,
  image: string,
): ReadonlyMap<string, readonly string[]> {
  return new Map(operators.map((operator) => [operator.name, argsOf(operator, given[operator.name] ?? {}, image)]));
}

function argsOf(operator: Operator, given: GivenFlags, image: string): string[] {
  const { name, flags = {} } = operator;
  const byName = new Map(Object.entries(given).map(([typed, texts]) => [findFlag(flags, typed) ?? typed, texts]));
  for (const [flag, text] of pinnedFlags(flags)) if (!byName.has(flag)) byName.set(flag, [text]);
  for (const [flag, leader, text] of followingFlags(operator))
    if (!byName.has(flag)) byName.set(flag, byName.get(leader) ?? [text]);
  const own = imageFlagOf(name);
  if (own !== undefined && !byName.has(own.flag)) byName.set(own.flag, [own.isGateway ? gatewayImage(image) : image]);
  return [...byName]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([flag, texts]) => texts.map((text) => `--${name}.${flag}=${text}`));
}

/**
 * Flags that a variable of the pod would change: their defaults are given, because the roles were generated for them (a pod may have
 * POD_NAMESPACE, which is the namespace of Crossplane's packages to it).
 */
export function pinnedFlags(flags: Flags): readonly (readonly [flag: string, text: string])[] {
  return Object.entries(flags).flatMap(([name, { env, default: text }]) =>
    env === undefined || typeof text !== 'string' ? [] : [[name, text] as const],
  );
}

/** The image beside this one that has the programs of cables: `REGISTRY/capstan-gateway:TAG`. */
export function gatewayImage(image: string): string {
  const [, path = '', tag = ''] = /^(.*?)(:[^:/@]+)?$/.exec(image) ?? [];
  // The digest of one image is not the digest of another.
  if (image.includes('@')) throw CliErrors.GatewayImage(image);
  return `${path}-gateway${tag}`;
}

/**
 * The flags that a Deployment's pods have now, for an upgrade to keep. Images that followed from the one of Capstan are left out:
 * they follow from the new one.
 */
export function givenIn({ spec }: Deployment, operators: readonly Operator[]): OperatorFlags {
  const containers = spec?.template.spec?.containers ?? [];
  const given: Record<string, Record<string, string[]>> = {};
  for (const { image = '', args = [] } of containers)
    for (const operator of operators) {
      const { name } = operator;
      const derived = new Set(argsOf(operator, {}, withoutDigest(image)));
      for (const text of args) {
        const [, flag, value] = new RegExp(`^--${name}\\.([^=]+)=(.*)$`, 's').exec(text) ?? [];
        if (flag !== undefined && value !== undefined && !derived.has(text))
          ((given[name] ??= {})[flag] ??= []).push(value);
      }
    }
  return given;
}

const withoutDigest = (image: string) => image.replace(/@.*$/, '');

/** Those of the second in place of those of the first, flag by flag. */
export function mergedFlags(operators: readonly Operator[], before: OperatorFlags, now: OperatorFlags): OperatorFlags {
  return Object.fromEntries(
    operators.map(({ name, flags = {} }) => {
      const named = Object.entries(now[name] ?? {}).map(([typed, texts]) => [findFlag(flags, typed) ?? typed, texts]);
      return [name, { ...before[name], ...(Object.fromEntries(named) as GivenFlags) }];
    }),
  );
}
