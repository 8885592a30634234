import { withoutTrailing } from './trailing.ts';

/** An error with a stable code (`package/Name`) and a remedy; the message holds both the problem and the remedy. */
export class CodedError extends Error {
  readonly code: string;
  readonly remedy: string;

  constructor(code: string, text: ErrorText, options?: ErrorOptions) {
    super(sentence(text.message, text.remedy), options);
    this.name = 'CodedError';
    this.code = code;
    this.remedy = text.remedy;
  }
}

export interface ErrorText {
  /** The problem and its object, without a full stop. */
  message: string;
  /** The remedy as an instruction, without a full stop. */
  remedy: string;
  cause?: unknown;
}

/** Creates the functions of a package's error table. Each entry becomes a function that returns (not throws) the error. */
export function catalogue<T extends Record<string, (...args: never[]) => ErrorText>>(
  name: string,
  entries: T,
): { [K in keyof T]: (...args: Parameters<T[K]>) => CodedError } {
  return errorMakers(entries, (key, text, options) => new CodedError(`${name}/${key}`, text, options));
}

/** Creates a catalogue for errors of another class. `make` gets the result of an entry. */
export function errorMakers<T extends Record<string, (...args: never[]) => ErrorText>, E>(
  entries: T,
  make: (key: string, text: ReturnType<T[keyof T]>, options: ErrorOptions | undefined) => E,
): { [K in keyof T]: (...args: Parameters<T[K]>) => E } {
  const wrapped = Object.entries(entries).map(([key, entry]) => [
    key,
    (...args: never[]) => {
      const text = entry(...args) as ReturnType<T[keyof T]>;
      return make(key, text, text.cause === undefined ? undefined : { cause: text.cause });
    },
  ]);
  // The keys are those of `entries`, which fromEntries cannot know.
  return Object.fromEntries(wrapped) as { [K in keyof T]: (...args: Parameters<T[K]>) => E };
}

/** Returns the message of any thrown value in one line. It never throws. */
export function reasonOf(error: unknown): string {
  try {
    const text = error instanceof Error ? error.message || error.name : String(error);
    return text.replace(/\s+/g, ' ').trim();
  } catch {
    return 'a value that cannot be shown was thrown';
  }
}

/** Problem and remedy as one sentence. */
export function sentence(problem: string, remedy: string): string {
  return `${withoutTrailing(problem, '.; \t\r\n')}; ${remedy}`;
}
