// A moment of a recording as people name it: a wave by its number, or a time.
import type { OpenedRecording } from '@capstan/reconcile';
import { type Refusal, refuse } from '@capstan/reconcile/command-line';

export type Moment = { readonly wave: number } | { readonly time: string };

const REMEDY = 'use the number of a wave, a time such as 10:32:05 (UTC), or 2026-01-31T10:32:05Z';

export function parseMoment(text: string): Moment | Refusal {
  if (/^\d+$/.test(text)) return { wave: Number(text) };
  const isTime = /^\d{2}:\d{2}(:\d{2}(\.\d+)?)?$/.test(text) || !Number.isNaN(Date.parse(text));
  return isTime ? { time: text } : refuse(REMEDY);
}

/** The time of the first wave of a recording, or of its start. */
export function beginOf({ header, lines }: Pick<OpenedRecording, 'header' | 'lines'>): number {
  const first = lines.find((line) => 'wave' in line);
  return first !== undefined && 'at' in first ? first.at : Date.parse(header.started);
}

/** Up to where to replay. A time of day is the first one in the recording, in UTC. */
export function untilOf(moment: Moment, from: number): { wave?: number; at?: number } {
  if ('wave' in moment) return { wave: moment.wave };
  const { time } = moment;
  if (!/^\d{2}:\d{2}/.test(time)) return { at: Date.parse(time) + (/:\d{2}Z?$/.test(time) ? 999 : 0) };
  const whole = time.length === 5 ? `${time}:00` : time;
  const at = Date.parse(`${new Date(from).toISOString().slice(0, 10)}T${whole}Z`) + (whole.includes('.') ? 0 : 999);
  return { at: at < from ? at + DAY_MS : at };
}

const DAY_MS = 86_400_000;
