// The operator's own flags: `kroxylicious operator --image=…`, and `--kroxylicious.image=…` of Capstan's commands.
import { parseDuration, validateDns1123Subdomain } from '@capstan/kube';
import { DEFAULT_SETTINGS, type Settings } from '../settings.ts';

export interface FlagHelp {
  readonly value: string;
  readonly help: string;
}

export const FLAGS: Readonly<Record<string, FlagHelp>> = {
  image: { value: 'IMAGE', help: `The proxy’s image; default ${DEFAULT_SETTINGS.image}.` },
  'quiet-period': {
    value: 'DURATION',
    help: 'A rollout waits until its inputs have not changed for so long; default 2s.',
  },
  'cluster-domain': { value: 'DOMAIN', help: 'What host names of Services end in; default cluster.local.' },
};

/** A flag that is not one, or whose value cannot be used. */
export interface FlagFault {
  readonly flag: string;
  /** Undefined when there is no such flag. */
  readonly remedy: string | undefined;
}

/** The settings that flags ask for. */
export function settingsFromFlags(flags: Readonly<Record<string, string>>): Partial<Settings> | { fault: FlagFault } {
  const settings: { -readonly [Name in keyof Settings]?: Settings[Name] } = {};
  for (const [flag, value] of Object.entries(flags)) {
    const remedy = take(settings, flag, value);
    if (remedy !== undefined) return { fault: { flag, remedy: remedy === UNKNOWN ? undefined : remedy } };
  }
  return settings;
}

const UNKNOWN = '';

/** Takes one flag; what to do when it cannot be taken. */
function take(
  settings: { -readonly [Name in keyof Settings]?: Settings[Name] },
  flag: string,
  value: string,
): string | undefined {
  switch (flag) {
    case 'image':
      if (value === '') return 'give the name of an image';
      settings.image = value;
      return undefined;
    case 'quiet-period': {
      const quietMs = durationOf(value);
      if (quietMs === undefined) return 'use a duration of zero or more, such as 2s or 500ms';
      settings.quietMs = quietMs;
      return undefined;
    }
    case 'cluster-domain':
      if (validateDns1123Subdomain(value).length > 0) return 'use a DNS name, such as cluster.local';
      settings.clusterDomain = value;
      return undefined;
    default:
      return UNKNOWN;
  }
}

function durationOf(text: string): number | undefined {
  try {
    const ms = parseDuration(text);
    return ms >= 0 ? ms : undefined;
  } catch {
    return undefined;
  }
}
