// Addresses of the loopback network, one for each pod. Those that were in use when the process last ended come back by
// `claim`, from the pods' status; new ones go on from a random place in the range, so that two embedded clusters on one
// machine rarely meet, and one that was given back is not given out again soon.
import type { Random } from '@capstan/kube';
import { NodeErrors } from '../errors.ts';

export const POD_RANGE = '127.64.0.0/11';

export interface AddressPool {
  /** A free address; throws when there is none. */
  allocate(): string;
  /** Takes this very address; false when a user has it, or when it lies outside the range. */
  claim(address: string): boolean;
  release(address: string): void;
}

/** The range is 127.64.0.0/11 unless given; it is cut by its first and last address, as networks are. */
export function createAddressPool(random: Random, range: string = POD_RANGE): AddressPool {
  const { first, last } = parseRange(range);
  const taken = new Set<number>();
  const size = last - first + 1;
  let next = first + Math.floor(random() * size);
  return {
    allocate() {
      for (let tries = 0; tries < size; tries++) {
        const address = next;
        next = next === last ? first : next + 1;
        if (taken.has(address)) continue;
        taken.add(address);
        return format(address);
      }
      throw NodeErrors.NoAddressLeft(range);
    },
    claim(text) {
      const address = parseAddress(text);
      if (address === undefined || address < first || address > last || taken.has(address)) return false;
      taken.add(address);
      return true;
    },
    release(text) {
      taken.delete(parseAddress(text) ?? -1);
    },
  };
}

/** Whether an IPv4 address lies in a range written as `127.64.0.0/11`. */
export function isInRange(address: string, range: string): boolean {
  const { first, last } = parseRange(range);
  const value = parseAddress(address);
  return value !== undefined && value >= first - 1 && value <= last + 1;
}

function parseRange(range: string): { first: number; last: number } {
  const [base = '', bits = ''] = range.split('/');
  const address = parseAddress(base);
  const length = Number(bits);
  if (address === undefined || !/^[0-9]{1,2}$/.test(bits) || length > 30) throw NodeErrors.BadRange(range);
  const size = 2 ** (32 - length);
  const start = Math.floor(address / size) * size;
  return { first: start + 1, last: start + size - 2 };
}

function parseAddress(text: string): number | undefined {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1).map(Number);
  if (parts === undefined || parts.some((part) => part > 255)) return undefined;
  return parts.reduce((sum, part) => sum * 256 + part, 0);
}

function format(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.');
}
