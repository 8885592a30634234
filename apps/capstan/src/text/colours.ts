import type { Io } from '../cli/io.ts';

export type Paint = (text: string) => string;

export interface Colours {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly red: Paint;
  readonly green: Paint;
  readonly yellow: Paint;
}

/** Colours for a terminal; plain text elsewhere, and where NO_COLOR is set (https://no-color.org). */
export function coloursFor({ isTerminal = false, env }: Pick<Io, 'isTerminal' | 'env'>): Colours {
  const isColoured = isTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
  const paint = (code: number): Paint =>
    isColoured ? (text) => (text === '' ? '' : `\u001B[${code}m${text}\u001B[0m`) : (text) => text;
  return { bold: paint(1), dim: paint(2), red: paint(31), green: paint(32), yellow: paint(33) };
}
