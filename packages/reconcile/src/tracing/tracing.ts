import { type Clock, type Logger, type Random, untilAborted } from '@capstan/kube/cluster';
import { type Environment, otlpConfig } from './otlp-config.ts';
import { createOtlpExporter } from './otlp-exporter.ts';
import { createRecordingTracer } from './recording-tracer.ts';
import { noopTracer, type Tracer } from './tracer.ts';

export interface TracingOptions {
  /** OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT switches tracing on. */
  environment: Environment;
  /** Unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES say otherwise. */
  serviceName: string;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Removes the parts of texts that must not leave the process; default nothing. */
  clean?(text: string): string;
  /** Default: Node's own. */
  fetch?: typeof fetch;
}

export interface Tracing {
  readonly tracer: Tracer;
  readonly isEnabled: boolean;
  /** Exports until the signal is aborted; settles when the last spans are sent. */
  run(signal: AbortSignal): Promise<void>;
}

/** Tracing as the environment configures it: off by default, else by OTLP over HTTP. */
export function createTracing(options: TracingOptions): Tracing {
  const { clock, random, logger } = options;
  const config = otlpConfig(options.environment, options.serviceName, logger);
  if (config === undefined) return { tracer: noopTracer, isEnabled: false, run: untilAborted };
  const exporter = createOtlpExporter({
    config,
    clock,
    random,
    logger,
    fetch: options.fetch ?? fetch,
    clean: options.clean ?? ((text) => text),
  });
  const tracer = createRecordingTracer({ clock, random, sampler: config.sampler, finish: exporter.add });
  return { tracer, isEnabled: true, run: exporter.run };
}
