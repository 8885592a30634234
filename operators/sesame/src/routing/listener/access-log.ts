// Access logs of listeners: text or JSON, to a file.
import { jsonField } from '../../configuration/index.ts';
import { type Envoy, typed } from '../../envoy/index.ts';
import type { RoutingSettings } from '../settings.ts';

const FILE = 'envoy.extensions.access_loggers.file.v3.FileAccessLog';

/** `access_log` of a connection manager or a TCP proxy; nothing when it is switched off. */
export function accessLog(path: string, { envoy }: RoutingSettings): { access_log?: readonly Envoy.AccessLog[] } {
  const { accessLogFormat, accessLogFormatString, jsonFields, accessLogLevel } = envoy.logging;
  if (accessLogLevel === 'disabled') return {};
  const format = accessLogFormat === 'json' ? jsonFormat(jsonFields) : textFormat(accessLogFormatString);
  const least = { error: 300, critical: 500 }[accessLogLevel];
  const filter: Envoy.AccessLogFilter | undefined = least
    ? {
        status_code_filter: {
          comparison: { op: 'GE', value: { default_value: least, runtime_key: 'access_log.min_status' } },
        },
      }
    : undefined;
  return {
    access_log: [{ name: 'envoy.access_loggers.file', filter, typed_config: typed(FILE, { path, ...format }) }],
  };
}

type LogFormat = Pick<Envoy.FileAccessLog, 'log_format'>;

function textFormat(text: string): LogFormat {
  if (text === '') return {};
  return { log_format: { text_format_source: { inline_string: text }, ...formatters(text) } };
}

function jsonFormat(fields: readonly string[]): LogFormat {
  const entries = fields.flatMap((entry): [string, string][] => {
    const field = jsonField(entry);
    return field.isOk ? [[field.value.name, field.value.format]] : [];
  });
  const text = entries.map(([, format]) => format).join('');
  return { log_format: { json_format: Object.fromEntries(entries), omit_empty_values: true, ...formatters(text) } };
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
