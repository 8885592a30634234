// The leaf of a KafkaProtocolFilter: its definition with file paths instead of placeholders, and a hash of it and of every key that a
// placeholder names.
import { derivation } from '@capstan/reconcile';
import type { FilterDefinition } from '../configuration/schema.ts';
import { interpolate, type Placeholder } from '../interpolation/placeholder.ts';
import { GROUP, KafkaProtocolFilter } from '../kinds/index.ts';
import { distinctMounts, MOUNT_PATHS, type Mount } from '../resolution/mounts.ts';
import { named, type Problem, problem } from '../resolution/problem.ts';
import { keysOf } from '../tls/resolve-tls.ts';
import { refOfKey, specOf } from './keys.ts';

export interface FilterNode {
  readonly problems: readonly Problem[];
  /** Absent while there are problems. */
  readonly valid?: {
    readonly definition: FilterDefinition;
    readonly mounts: readonly Mount[];
    readonly hash: string;
  };
}

/** Undefined if the filter does not exist. */
export const filterNode = derivation<FilterNode | undefined>({
  name: 'KafkaProtocolFilter',
  compute({ key, read, digest }) {
    const { namespace, name } = refOfKey(key);
    const spec = specOf(read, KafkaProtocolFilter, { namespace, name });
    if (spec === undefined) return undefined;
    const { config, references, faults } = interpolate(spec.configTemplate, fileOf);
    const problems = faults.map(({ path, problem: wrong }) => problem('Invalid', `${TEMPLATE}${path}`, wrong));
    const mounts: Mount[] = [];
    const content: unknown[] = [];
    for (const { provider, name: source, key: wanted, path } of references) {
      const kind = provider === 'secret' ? 'Secret' : 'ConfigMap';
      const data = keysOf(read, kind, { namespace, name: source });
      const found = data?.(wanted);
      const where = named(kind, { namespace, name: source });
      if (data === undefined)
        problems.push(
          problem(
            'InterpolatedReferencedResourcesNotFound',
            `${TEMPLATE}${path}`,
            `${where} does not exist; create it or correct the name`,
          ),
        );
      else if (found === undefined)
        problems.push(
          problem(
            'InvalidReferencedResource',
            `${TEMPLATE}${path}`,
            `${where} has no key ${wanted}; add it or correct the key`,
          ),
        );
      else {
        mounts.push({ source: kind, name: source, path: MOUNT_PATHS[provider](source), keys: [wanted] });
        content.push([provider, source, wanted, found.text]);
      }
    }
    if (problems.length > 0) return { problems };
    const definition = { name: definitionName(name), type: spec.type, config };
    return {
      problems,
      valid: { definition, mounts: distinctMounts(mounts), hash: digest(definition, content) },
    };
  },
});

const TEMPLATE = 'spec.configTemplate';

export function definitionName(filter: string): string {
  return `${filter}.KafkaProtocolFilter.${GROUP}`;
}

function fileOf({ provider, name, key }: Placeholder): string {
  return `${MOUNT_PATHS[provider](name)}/${key}`;
}
