import { parseListenAddress } from '@capstan/reconcile';
import { type Refusal, refuse } from '@capstan/reconcile/command-line';

/** `host:port`, or `:port` for every interface; `0` is off. */
export function listenAddress(text: string): string | Refusal {
  if (text === OFF) return text;
  try {
    parseListenAddress(text);
    return text;
  } catch {
    return refuse('write HOST:PORT, :PORT for every interface, or 0 to switch it off');
  }
}

/** Where to listen; undefined: nowhere. */
export function addressOf(given: string | undefined, byDefault: string | undefined): string | undefined {
  const address = given ?? byDefault;
  return address === OFF ? undefined : address;
}

const OFF = '0';
