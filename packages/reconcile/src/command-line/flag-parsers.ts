// Parsers for frequent types of flags; for `parse` of a flag.
import { parseDuration, validateDns1123Subdomain } from '@capstan/kube/values';
import { type Refusal, refuse } from './flag.ts';

/** Milliseconds, from a duration such as 2s or 1m30s. */
export function duration({ minMs = 0, remedy }: { minMs?: number; remedy: string }) {
  return (text: string): number | Refusal => {
    try {
      const ms = parseDuration(text);
      return ms >= minMs ? ms : refuse(remedy);
    } catch {
      return refuse(remedy);
    }
  };
}

/** Milliseconds above 0. */
export const positiveDuration = duration({ minMs: 1, remedy: 'write a duration above 0, as in 500ms, 15s or 1m30s' });

/** Anything but nothing. */
export function notEmpty(remedy: string) {
  return (text: string): string | Refusal => (text === '' ? refuse(remedy) : text);
}

export function dnsName(remedy = 'use a DNS name') {
  return (text: string): string | Refusal => (validateDns1123Subdomain(text).length > 0 ? refuse(remedy) : text);
}

export function wholeNumber(min: number, max: number) {
  return (text: string): number | Refusal =>
    /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max
      ? Number(text)
      : refuse(`use a number from ${min} to ${max}`);
}

/** Names between commas. */
export function list(text: string): readonly string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
