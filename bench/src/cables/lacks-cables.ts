import { skip } from '@capstan/submariner/real-cables';

/** The reason why no packets can be sent through real cables here. */
export function lacksCables(): string | undefined {
  return skip === false ? undefined : skip;
}
