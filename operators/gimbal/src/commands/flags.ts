// The operator's own flags: `gimbal operator --image=…`, and `--gimbal.image=…` of Capstan's commands.
import { DEFAULT_IMAGE, type Settings } from '../settings.ts';

export interface FlagHelp {
  /** Undefined for what is true or false. */
  readonly value?: string;
  readonly help: string;
}

export const FLAGS: Readonly<Record<string, FlagHelp>> = {
  image: { value: 'IMAGE', help: `The image of discoverers; default ${DEFAULT_IMAGE}.` },
  'write-endpoints': { help: 'Discoverers write Endpoints too, for whoever does not read slices; default false.' },
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
    if (flag === 'image') {
      if (value === '') return { fault: { flag, remedy: 'give the name of an image' } };
      settings.image = value;
    } else if (flag === 'write-endpoints') {
      if (value !== 'true' && value !== 'false') return { fault: { flag, remedy: 'use true or false' } };
      settings.writeEndpoints = value === 'true';
    } else {
      return { fault: { flag, remedy: undefined } };
    }
  }
  return settings;
}
