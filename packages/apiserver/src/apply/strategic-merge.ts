import { applyMergePatch } from '@capstan/kube';
import type { JsonObject } from '../json/copy.ts';
import type { TypeSchema } from './type-schema.ts';

export function applyStrategicPatch(value: unknown, patch: JsonObject, _type: TypeSchema | undefined): unknown {
  return applyMergePatch(value, patch);
}
