// From an access log of the model to Envoy's: text or JSON, to a file.
import { type Envoy, typed } from '../../envoy/index.ts';
import type { AccessLog, JsonFormat, TextFormat } from '../../model/listener.ts';

const FILE = 'envoy.extensions.access_loggers.file.v3.FileAccessLog';

/** `access_log` of a connection manager or a TCP proxy. */
export function accessLogMessage(log: AccessLog): readonly Envoy.AccessLog[] {
  let found = messages.get(log);
  if (!found) {
    const { path, format, leastStatus } = log;
    found = [
      {
        name: 'envoy.access_loggers.file',
        filter: leastStatus === undefined ? undefined : statusFilter(leastStatus),
        typed_config: typed(FILE, { path, ...(format.kind === 'json' ? jsonFormat(format) : textFormat(format)) }),
      },
    ];
    messages.set(log, found);
  }
  return found;
}

// Thousands of hosts have the same log.
const messages = new WeakMap<AccessLog, readonly Envoy.AccessLog[]>();

function statusFilter(least: number): Envoy.AccessLogFilter {
  return {
    status_code_filter: {
      comparison: { op: 'GE', value: { default_value: least, runtime_key: 'access_log.min_status' } },
    },
  };
}

type LogFormat = Pick<Envoy.FileAccessLog, 'log_format'>;

function textFormat({ text }: TextFormat): LogFormat {
  if (text === '') return {};
  return { log_format: { text_format_source: { inline_string: text }, ...formatters(text) } };
}

function jsonFormat({ fields }: JsonFormat): LogFormat {
  return {
    log_format: { json_format: fields, omit_empty_values: true, ...formatters(Object.values(fields).join('')) },
  };
}

/** Operators that Envoy has in extensions. */
function formatters(text: string): Pick<Envoy.SubstitutionFormatString, 'formatters'> {
  const found = [
    ...(text.includes('%REQ_WITHOUT_QUERY(')
      ? [
          {
            name: 'envoy.formatter.req_without_query',
            typed_config: typed('envoy.extensions.formatter.req_without_query.v3.ReqWithoutQuery'),
          },
        ]
      : []),
    ...(text.includes('%METADATA(')
      ? [{ name: 'envoy.formatter.metadata', typed_config: typed('envoy.extensions.formatter.metadata.v3.Metadata') }]
      : []),
  ];
  return found.length > 0 ? { formatters: found } : {};
}
