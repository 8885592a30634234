// The disturbances of an edit of a SesameConfiguration, field by field: shown by `capstan plan` before the edit, and in the operator's log
// after it. Edits of a SesameDeployment reach it through the SesameConfiguration that they change.
import { derivation, type Sink, sink } from '@capstan/reconcile';
import {
  type Change,
  changesBetween,
  disturbanceOf,
  type EffectiveConfiguration,
  effectiveConfiguration,
  problemText,
} from '../configuration/index.ts';
import { SesameConfiguration } from '../kinds/index.ts';

interface Meaning {
  readonly configuration: EffectiveConfiguration;
  /** The errors of an invalid one. */
  readonly errors: readonly string[];
}

const specOf = ({ spec }: SesameConfiguration) => spec;

const meaning = derivation<Meaning>({
  name: 'configuration-meaning',
  compute({ key, read }) {
    const at = key.indexOf('/');
    const spec = read.get(SesameConfiguration, { namespace: key.slice(0, at), name: key.slice(at + 1) }, specOf);
    const { value, errors } = effectiveConfiguration({ given: spec });
    return { configuration: value, errors: errors.map((problem) => problemText(problem)) };
  },
});

export const configurationChanges: Sink<Meaning> = sink<Meaning>({
  name: 'configuration-changes',
  of: meaning,
  keys: SesameConfiguration,
  reads: [SesameConfiguration],
  lease: 'operator',
  disturbs: ({ before, after }) => disturbanceText(before, after),
  open: ({ logger }) => ({
    take({ changes, snapshot }) {
      for (const { key, before, after } of changes) {
        const text = snapshot ? undefined : disturbanceText(before, after);
        if (text !== undefined) logger.info(`SesameConfiguration ${key}: ${text}`);
      }
    },
  }),
});

/** `envoy.timeouts.requestTimeout [Listeners] updates listeners; …`, a field each. */
export function disturbanceText(before: Meaning | undefined, after: Meaning | undefined): string | undefined {
  if (before === undefined || after === undefined) return undefined;
  if (after.errors.length > 0)
    return `stops the controllers of Sesame, because it is not valid: ${after.errors.join('; ')}`;
  const lines = changesBetween(before.configuration, after.configuration).map(changeText);
  return lines.length === 0 ? undefined : lines.join('; ');
}

function changeText({ path, classes }: Change): string {
  return `${path} [${classes.join(', ')}] ${classes.map(disturbanceOf).join(', and ')}`;
}
