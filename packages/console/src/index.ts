export type { EventAnswer, PlanRequest, SchemaAnswer, WhatIfRequest } from './api-types.ts';
export {
  type ConsoleServer,
  type ConsoleServerOptions,
  type ServedAnywhere,
  startConsole,
} from './server/console-server.ts';
export type {
  ConsoleHealth,
  ConsoleOutcome,
  ConsolePlan,
  ConsoleReport,
  ConsoleSource,
} from './server/source.ts';
