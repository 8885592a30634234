/** Structured logging in five methods. Values must never hold secrets; errors are printed with their stack. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Returns a logger that adds these fields to every line. */
  with(fields: LogFields): Logger;
}

export type LogFields = Record<string, unknown>;

export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  with: () => silentLogger,
};
