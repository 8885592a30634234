// A ConfigMap is in one cluster, a policy in all: what a policy's ConfigMap holds is written into the copy that leaves.
import { isJsonObject } from '@capstan/kube';
import { optionsOfConfigMap, readOptions } from './rule-options.ts';

/** The spec with the options of ConfigMaps written out; the same reference when it names none. */
export function withInlineOptions(
  spec: unknown,
  dataOf: (name: string, namespace: string | undefined) => Readonly<Record<string, string>> | undefined,
): { readonly spec: unknown; readonly missing: readonly string[] } {
  const missing: string[] = [];
  let changed = false;
  const list: readonly unknown[] = Array.isArray(spec) ? spec : [spec];
  const rules = list.map((rule) => {
    if (!isJsonObject(rule)) return rule;
    const { options: beside, cableDriver, ...rest } = rule;
    const nested = isJsonObject(cableDriver) ? cableDriver['options'] : undefined;
    const { configMapRef, data } = readOptions({ given: nested ?? beside, path: '' }, []);
    if (configMapRef === undefined) return rule;
    const found = dataOf(configMapRef.name, configMapRef.namespace);
    if (found === undefined) {
      missing.push(configMapRef.name);
      return rule;
    }
    changed = true;
    const driver = isJsonObject(cableDriver) ? cableDriver : { name: cableDriver ?? rule['name'] };
    const { name: _, ...others } = rest;
    return { ...others, cableDriver: { ...driver, options: { data: { ...optionsOfConfigMap(found).data, ...data } } } };
  });
  return { spec: changed ? rules : spec, missing };
}
