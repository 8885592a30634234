// A ConfigMap is in one cluster, a policy in all: the content of a policy's ConfigMap is written into the copy that leaves.
import { isJsonObject } from '@capstan/kube';
import { optionsOfConfigMap, readOptions } from './rule-options.ts';

/** The spec with the options of ConfigMaps written out; the same reference when it names none. */
export function withInlineOptions(
  spec: unknown,
  dataOf: (name: string, namespace: string | undefined) => Readonly<Record<string, string>> | undefined,
): { readonly spec: unknown; readonly missing: readonly string[]; readonly used: readonly string[] } {
  const missing: string[] = [];
  const used: string[] = [];
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
    used.push(configMapRef.name);
    const driver = isJsonObject(cableDriver) ? cableDriver : { name: cableDriver ?? rule['name'] };
    const { name: _, ...others } = rest;
    const { data: options, problem } = optionsOfConfigMap(found);
    // A text that cannot be read stays in the spec, so that the policy is reported as invalid like any other.
    const given = problem === undefined ? options : found;
    return { ...others, cableDriver: { ...driver, options: { data: { ...given, ...data } } } };
  });
  return { spec: changed ? rules : spec, missing, used };
}
