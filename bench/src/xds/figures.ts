import { loadavg } from 'node:os';
import { type Figure, type Result, result } from '../measure/result.ts';

/** Figures of one run, each with Contour's beside it where it was measured, and with the load of the machine. */
export class Figures {
  readonly results: Result[] = [];
  readonly #label: string;
  readonly #hasPeer: boolean;
  readonly #isJudged: boolean;

  readonly #size: number | undefined;

  /** `size`: the figures are measured at several sizes, of which this is one. */
  constructor(label: string, hasPeer: boolean, isJudged: boolean, size?: number) {
    this.#label = label;
    this.#hasPeer = hasPeer;
    this.#isJudged = isJudged;
    this.#size = size;
  }

  /** A figure that may be zero: Contour's is in the note, not in a ratio. */
  note(name: string, unit: string, [own = Number.NaN, other]: readonly number[]): void {
    const note = other === undefined ? `load ${load()}` : `Contour: ${other}; load ${load()}`;
    this.results.push(result({ name: `${this.#label}: ${name}`, unit, rounds: [own], note }));
  }

  /** Values in the order of the control planes. */
  add(
    name: string,
    unit: string,
    [own = Number.NaN, other]: readonly number[],
    below?: number,
    ratioAtMost?: number,
  ): void {
    const peer = this.#hasPeer && other !== undefined ? { peer: { name: 'Contour', rounds: [other] } } : {};
    const figure: Figure = { name: `${this.#label}: ${name}`, unit, rounds: [own], ...peer };
    if (this.#isJudged && below !== undefined) figure.below = below;
    if (this.#hasPeer && ratioAtMost !== undefined) figure.ratioAtMost = ratioAtMost;
    if (this.#size !== undefined) figure.growth = { of: name, size: this.#size };
    figure.note = `load ${load()}`;
    this.results.push(result(figure));
  }
}

const load = () => (loadavg()[0] ?? 0).toFixed(1);
