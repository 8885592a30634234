import { createRandom, createVirtualClock, type VirtualClock } from '@capstan/testing';
import type { InformerOptions } from '../informer.ts';
import { type ScriptedServer, type Thing } from '../scripted-server.test-support.ts';
import { type Stage, stage } from '../stage.test-support.ts';

export const start = (
  prepare?: (server: ScriptedServer) => void,
  options?: Partial<InformerOptions<Thing>>,
): Promise<Stage<VirtualClock>> => stage(createVirtualClock(), createRandom(11), prepare, options);

export const one = (server: ScriptedServer) => void server.put('a');

export const countOf = (server: ScriptedServer, verb: 'list' | 'watch') =>
  server.requests.filter((request) => request.verb === verb && !request.options.sendInitialEvents).length;
