import type { Clock, LogFields, Logger } from '@capstan/kube/cluster';
import { formatJson, formatText, type Line, type LogLevel } from './format.ts';
import { printableFields, printText } from './printable.ts';
import { createRedactor, type Redactor } from './redaction.ts';

export interface LoggerOptions {
  /** `json`: one object a line, for machines; `text`: for people. Default json. */
  format?: 'json' | 'text';
  /** The least level that prints; default info. */
  level?: LogLevel;
  clock: Clock;
  /** Takes a line, its end included. */
  write(line: string): void;
  /** The texts that must never print; share one between all loggers. Default: one of its own. */
  redactor?: Redactor;
}

/** A logger that prints lines. Logging never throws: a value that cannot be printed or written is not worth a failure. */
export function createLogger(options: LoggerOptions): Logger {
  const { format = 'json', level = 'info', clock, write, redactor = createRedactor() } = options;
  const formatLine = format === 'json' ? formatJson : formatText;
  const least = LEVELS.indexOf(level);

  function log(level: LogLevel, message: string, fields: LogFields): void {
    try {
      const line: Line = {
        time: clock.now(),
        level,
        message: printText(message, redactor),
        fields: printableFields(fields, redactor),
      };
      write(`${formatLine(line)}\n`);
    } catch {
      // There is nowhere to report it.
    }
  }

  function create(context: LogFields): Logger {
    const at = (level: LogLevel) =>
      LEVELS.indexOf(level) < least
        ? () => {}
        : (message: string, fields?: LogFields) => log(level, message, { ...context, ...fields });
    return {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      with: (fields) => create({ ...context, ...fields }),
    };
  }

  return create({});
}

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];
