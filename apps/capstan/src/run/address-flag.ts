import { parseListenAddress } from '@capstan/reconcile';
import { UsageErrors } from '../cli/errors.ts';

/** `host:port`, or `:port` for every interface; undefined for `0`, which is off. */
export function addressFlag(flag: string, text: string): string | undefined {
  if (text === '0') return undefined;
  try {
    parseListenAddress(text);
    return text;
  } catch {
    throw UsageErrors.BadValue(flag, text, 'write HOST:PORT, :PORT for every interface, or 0 to switch it off');
  }
}
